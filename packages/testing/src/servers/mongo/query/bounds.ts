/** What a filter demands of single paths, where an index can help: everything else of it is looked at afterwards. */
import { BSONRegExp, MaxKey, MinKey } from "bson";
import { type Doc, isDoc } from "../values/document.ts";
import { isOperators } from "./field-test.ts";

export interface Bounds {
  /** Values of which one must be there; null when there is no such demand. */
  readonly points: readonly unknown[] | null;
  readonly above: { readonly value: unknown; readonly orEqual: boolean } | null;
  readonly below: { readonly value: unknown; readonly orEqual: boolean } | null;
}

const NONE: Bounds = { points: null, above: null, below: null };

export const boundsOf = (filter: Doc): ReadonlyMap<string, Bounds> => {
  const bounds = new Map<string, Bounds>();
  collect(filter, bounds);
  return bounds;
};

const collect = (filter: Doc, bounds: Map<string, Bounds>): void => {
  for (const [name, operand] of Object.entries(filter)) {
    if (name === "$and" && Array.isArray(operand)) for (const part of operand.filter(isDoc)) collect(part, bounds);
    if (name.startsWith("$")) continue;
    const before = bounds.get(name) ?? NONE;
    bounds.set(name, isOperators(operand) ? withOperators(before, operand) : withPoints(before, [operand]));
  }
};

const withOperators = (bounds: Bounds, operators: Doc): Bounds => {
  let made = bounds;
  for (const [operator, value] of Object.entries(operators)) made = withOperator(made, operator, value);
  return made;
};

const withOperator = (bounds: Bounds, operator: string, value: unknown): Bounds => {
  const orEqual = operator === "$gte" || operator === "$lte";
  if (operator === "$eq") return withPoints(bounds, [value]);
  if (operator === "$in" && Array.isArray(value)) return withPoints(bounds, value);
  if (!isRangeable(value)) return bounds;
  if ((operator === "$gt" || operator === "$gte") && bounds.above === null) return { ...bounds, above: { value, orEqual } };
  if ((operator === "$lt" || operator === "$lte") && bounds.below === null) return { ...bounds, below: { value, orEqual } };
  return bounds;
};

const withPoints = (bounds: Bounds, points: readonly unknown[]): Bounds =>
  bounds.points === null && points.every(isPoint) ? { ...bounds, points } : bounds;

/** Arrays are indexed by their elements, and expressions are no values. */
const isPoint = (value: unknown): boolean => !Array.isArray(value) && !(value instanceof BSONRegExp) && value !== undefined;

const isRangeable = (value: unknown): boolean =>
  isPoint(value) && value !== null && !(value instanceof MinKey) && !(value instanceof MaxKey);
