/** Which part of which index holds all documents that a filter can match. */
import type { Index } from "../storage/index.ts";
import type { IndexField } from "../storage/index-spec.ts";
import { same } from "../values/compare.ts";
import { type Doc, fieldOf, isDoc } from "../values/document.ts";
import { invert, keyOf, orderOf, PAST } from "../values/key.ts";
import { type Bounds, boundsOf } from "./bounds.ts";
import type { SortField } from "./sort.ts";

interface KeyRange {
  readonly lower: string;
  readonly upper: string;
}

export interface Plan {
  readonly index: Index;
  readonly ranges: readonly KeyRange[];
  /** Whether it gives documents in the order asked for; then one range, perhaps backwards. */
  readonly inOrder: boolean;
  readonly backwards: boolean;
}

/** More points are looked up one by one, else the filter looks at all. */
const MAX_RANGES = 2_000;

export const choosePlan = (indexes: Iterable<Index>, filter: Doc, sort: readonly SortField[]): Plan | null => {
  const bounds = boundsOf(filter);
  let best: Plan | null = null;
  let bestScore = 0;
  for (const index of indexes) {
    const { plan, score } = planFor(index, filter, bounds, sort);
    if (score > bestScore) [best, bestScore] = [plan, score];
  }
  return best;
};

/** Fields that are bound count most; then the order, then a range. */
const planFor = (
  index: Index,
  filter: Doc,
  bounds: ReadonlyMap<string, Bounds>,
  sort: readonly SortField[],
): { plan: Plan; score: number } => {
  const { fields, sparse, partialFilter } = index.spec;
  let ranges: readonly KeyRange[] = [{ lower: "", upper: PAST }];
  let prefixes = [""];
  let bound = 0;
  for (const field of fields) {
    const points = bounds.get(field.name)?.points ?? null;
    if (points === null || prefixes.length * points.length > MAX_RANGES) break;
    const keys = [...new Set(points.map((point) => directed(field, keyOf(point))))].sort();
    prefixes = prefixes.flatMap((prefix) => keys.map((key) => prefix + key));
    bound++;
  }
  const next = fields[bound];
  const range = next === undefined ? null : (bounds.get(next.name) ?? null);
  const ranged = next !== undefined && range !== null && (range.above !== null || range.below !== null);
  ranges = prefixes.map((prefix) =>
    ranged ? rangeIn(prefix, next, range, index.multikey) : { lower: prefix, upper: prefix + PAST },
  );
  const order = prefixes.length === 1 ? orderIn(index, bound, bounds, sort) : null;
  const plan: Plan = { index, ranges, inOrder: order !== null, backwards: order === -1 };
  const usable =
    (!sparse || (bound > 0 && !isNull(bounds, fields[0]))) && (partialFilter === null || implies(filter, partialFilter));
  const score = usable ? 4 * bound + (ranged ? 2 : 0) + (order !== null && sort.length > 0 ? 1 : 0) : 0;
  return { plan, score };
};

const isNull = (bounds: ReadonlyMap<string, Bounds>, field: IndexField | undefined): boolean =>
  bounds.get(field?.name ?? "")?.points?.includes(null) ?? false;

const directed = ({ direction }: IndexField, key: string): string => (direction === 1 ? key : invert(key));

/** Only values of the bound's own type; of an index with several keys to a document one of two bounds. */
const rangeIn = (prefix: string, field: IndexField, { above, below }: Bounds, multikey: boolean): KeyRange => {
  const type = orderOf((above ?? below)?.value);
  const upperBound = multikey && above !== null ? null : below;
  const from = above === null ? type : keyOf(above.value) + (above.orEqual ? "" : PAST);
  const to = upperBound === null ? type + PAST : keyOf(upperBound.value) + (upperBound.orEqual ? PAST : "");
  if (field.direction === 1) return { lower: prefix + from, upper: prefix + to };
  return { lower: prefix + turned(to), upper: prefix + turned(from) };
};

/** Bounds of an order turned round: what was past a key is now before it. */
const turned = (bound: string): string => (bound.endsWith(PAST) ? invert(bound.slice(0, -1)) : `${invert(bound)}${PAST}`);

const orderIn = (index: Index, bound: number, bounds: ReadonlyMap<string, Bounds>, sort: readonly SortField[]): 1 | -1 | null => {
  if (index.multikey || sort.length === 0) return null;
  const rest = sort.filter(({ name }) => bounds.get(name)?.points?.length !== 1);
  const [first] = rest;
  if (first === undefined) return 1;
  const backwards = index.spec.fields[bound]?.direction !== first.direction;
  const fits = rest.every(({ name, direction }, n) => {
    const field = index.spec.fields[bound + n];
    return field?.name === name && (field.direction !== direction) === backwards;
  });
  return fits ? (backwards ? -1 : 1) : null;
};

/** Whether the filter says each thing that the index demands, in the same words. */
const implies = (filter: Doc, partial: Doc): boolean =>
  Object.entries(partial).every(([name, operand]) => {
    if (name === "$and") return Array.isArray(operand) && operand.filter(isDoc).every((part) => implies(filter, part));
    return says(filter, name, operand);
  });

const says = (filter: Doc, name: string, operand: unknown): boolean => {
  const given = fieldOf(filter, name);
  if (given !== undefined && same(given, operand)) return true;
  if (given !== undefined && given !== null && isDoc(operand) && operand.$exists === true)
    return !isDoc(given) || Object.hasOwn(given, "$eq");
  return Array.isArray(filter.$and) && filter.$and.filter(isDoc).some((part) => says(part, name, operand));
};
