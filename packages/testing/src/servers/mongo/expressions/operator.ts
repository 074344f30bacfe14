import { CommandError } from "../errors.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { typeName } from "../values/type-name.ts";
import type { Scope } from "./scope.ts";

export type Evaluate = (expression: unknown, scope: Scope) => unknown;
/** Its operand is not evaluated yet. */
export type Operator = (operand: unknown, scope: Scope, evaluate: Evaluate) => unknown;
export type Table = Readonly<Record<string, Operator>>;

/** An operator of evaluated arguments; one that is not in an array stands for an array of one. */
export const eager =
  (apply: (...values: unknown[]) => unknown): Operator =>
  (operand, scope, evaluate) =>
    apply(...(Array.isArray(operand) ? operand : [operand]).map((part) => evaluate(part, scope)));

/** As `eager`, but null as soon as one argument is null or missing. */
export const strict = (apply: (...values: unknown[]) => unknown): Operator =>
  eager((...values) => (values.some(isNothing) ? null : apply(...values)));

/** An operator of named arguments, each evaluated. Others than those named are refused. */
export const named =
  (name: string, known: readonly string[], apply: (values: Doc) => unknown): Operator =>
  (operand, scope, evaluate) => {
    const given = partsOf(name, known, operand);
    return apply(Object.fromEntries(Object.entries(given).map(([key, part]) => [key, evaluate(part, scope)])));
  };

/** Named arguments, not evaluated. */
export const partsOf = (name: string, known: readonly string[], operand: unknown): Doc => {
  if (!isDoc(operand)) throw new CommandError(9, `${name} only supports an object as its argument`);
  const unknown = Object.keys(operand).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new CommandError(9, `Unrecognized parameter to ${name}: ${unknown}`);
  return operand;
};

export const isNothing = (value: unknown): value is null | undefined => value === null || value === undefined;

export const mismatch = (operator: string, wanted: string, value: unknown): CommandError =>
  new CommandError(16_555, `${operator} only supports ${wanted}, not ${typeName(value)}`);
