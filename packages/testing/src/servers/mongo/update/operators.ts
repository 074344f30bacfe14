/** Operators of an update on one path of a copy. */
import { Double, Int32, Long, type Timestamp } from "bson";
import { CommandError, refuse } from "../errors.ts";
import type { Scope } from "../expressions/scope.ts";
import { toTimestamp } from "../storage/time.ts";
import { compare } from "../values/compare.ts";
import { copy, type Doc, isDoc, isNumeric, type Numeric } from "../values/document.ts";
import { bigOf, calculate, isWhole, whole } from "../values/numbers.ts";
import { typeName } from "../values/type-name.ts";
import { addToSet, pop, pull, pullAll, push } from "./arrays.ts";
import { readAt, removeAt, setAt } from "./paths.ts";

interface UpdateContext {
  readonly scope: Scope;
  /** Whether the document is being inserted by an upsert. */
  readonly inserting: boolean;
}

export type Apply = (doc: Doc, path: readonly string[], operand: unknown, context: UpdateContext) => void;

const change =
  (make: (old: unknown, operand: unknown, context: UpdateContext) => unknown): Apply =>
  (doc, path, operand, context) => {
    const made = make(readAt(doc, path), operand, context);
    if (made !== undefined) setAt(doc, path, made);
  };

const numeric = (operator: string, value: unknown): Numeric => {
  if (!isNumeric(value)) throw new CommandError(14, `Cannot apply ${operator} to a value of non-numeric type ${typeName(value)}`);
  return value;
};

const calculated = (operator: "$inc" | "$mul") =>
  change((old, operand) => {
    const by = numeric(operator, operand);
    if (old === undefined) return operator === "$inc" ? by : calculate("multiply", by, new Int32(0));
    const made = calculate(operator === "$inc" ? "add" : "multiply", numeric(operator, old), by);
    if (made === null) throw new CommandError(2, `Failed to apply ${operator} operations to current value: it overflows`);
    return made;
  });

const extreme = (wanted: 1 | -1) =>
  change((old, operand) => (old === undefined || compare(operand, old) === wanted ? copy(operand) : undefined));

const currentDate = change((_, operand, { scope }) => {
  const type = isDoc(operand) ? operand.$type : operand;
  if (type === true || type === "date") return scope.now;
  if (type === "timestamp") return toTimestamp(Math.floor(scope.now.getTime() / 1_000) * 2 ** 20 + 1) satisfies Timestamp;
  throw new CommandError(2, "$currentDate needs true, or a $type of date or timestamp");
});

const bits = change((old, operand) => {
  if (!isDoc(operand)) throw new CommandError(2, "The $bit modifier needs a document");
  let value = old === undefined ? new Int32(0) : old;
  for (const [kind, by] of Object.entries(operand)) {
    if (!isWhole(by) || !isWhole(value)) throw new CommandError(2, "$bit works on whole numbers");
    const [a, b] = [bigOf(value), bigOf(by)];
    const made = kind === "and" ? a & b : kind === "or" ? a | b : kind === "xor" ? a ^ b : null;
    if (made === null) throw refuse(`$bit with ${kind}`);
    value = whole(made, value instanceof Long || by instanceof Long) ?? new Double(Number.NaN);
  }
  return value;
});

const rename: Apply = (doc, path, operand) => {
  const value = readAt(doc, path);
  if (typeof operand !== "string") throw new CommandError(2, "The 'to' field for $rename must be a string");
  if (value === undefined) return;
  removeAt(doc, path);
  setAt(doc, operand.split("."), value);
};

export const OPERATORS: Readonly<Record<string, Apply>> = {
  $set: change((_, operand) => copy(operand)),
  $setOnInsert: change((_, operand, { inserting }) => (inserting ? copy(operand) : undefined)),
  $unset: (doc, path) => removeAt(doc, path),
  $inc: calculated("$inc"),
  $mul: calculated("$mul"),
  $min: extreme(-1),
  $max: extreme(1),
  $currentDate: currentDate,
  $bit: bits,
  $rename: rename,
  $push: change(push),
  $addToSet: change(addToSet),
  $pop: change(pop),
  $pull: change(pull),
  $pullAll: change(pullAll),
};
