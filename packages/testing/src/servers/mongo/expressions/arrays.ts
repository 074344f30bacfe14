import { Int32 } from "bson";
import { CommandError } from "../errors.ts";
import { parseSort, sortDocs } from "../query/sort.ts";
import { compare, same } from "../values/compare.ts";
import { isDoc } from "../values/document.ts";
import { integer } from "../values/expect.ts";
import { keyOf } from "../values/key.ts";
import { integerOf } from "../values/numbers.ts";
import { avg, best, sum } from "./accumulate.ts";
import { eager, isNothing, mismatch, named, type Operator, partsOf, strict, type Table } from "./operator.ts";
import { toTruth } from "./scope.ts";

const list = (operator: string, value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw mismatch(operator, "an array", value);
  return value;
};

const filter: Operator = (operand, scope, evaluate) => {
  const { input, as = "this", cond, limit } = partsOf("$filter", ["input", "as", "cond", "limit"], operand);
  const values = evaluate(input, scope);
  if (isNothing(values)) return null;
  const kept = list("$filter", values).filter((value) => toTruth(evaluate(cond, scope.with({ [String(as)]: value }))));
  const most = integerOf(evaluate(limit, scope));
  return most === null ? kept : kept.slice(0, most);
};

const map: Operator = (operand, scope, evaluate) => {
  const { input, as = "this", in: inner } = partsOf("$map", ["input", "as", "in"], operand);
  const values = evaluate(input, scope);
  if (isNothing(values)) return null;
  return list("$map", values).map((value) => evaluate(inner, scope.with({ [String(as)]: value })) ?? null);
};

const reduce: Operator = (operand, scope, evaluate) => {
  const { input, initialValue, in: inner } = partsOf("$reduce", ["input", "initialValue", "in"], operand);
  const values = evaluate(input, scope);
  if (isNothing(values)) return null;
  return list("$reduce", values).reduce(
    (value, item) => evaluate(inner, scope.with({ value, this: item })),
    evaluate(initialValue, scope),
  );
};

const elementAt = (values: unknown, index: unknown): unknown => list("$arrayElemAt", values).at(integer(index, "$arrayElemAt"));

const slice = (values: unknown, a: unknown, b: unknown): unknown => {
  const all = list("$slice", values);
  const first = integer(a, "$slice");
  if (b === undefined) return first >= 0 ? all.slice(0, first) : all.slice(first);
  const start = first >= 0 ? first : Math.max(0, all.length + first);
  return all.slice(start, start + integer(b, "$slice"));
};

const range = (start: unknown, end: unknown, step: unknown): unknown => {
  const by = step === undefined ? 1 : integer(step, "$range");
  if (by === 0) throw new CommandError(2, "$range requires a non-zero step value");
  const values: Int32[] = [];
  const last = integer(end, "$range");
  for (let n = integer(start, "$range"); by > 0 ? n < last : n > last; n += by) values.push(new Int32(n));
  return values;
};

const indexOf = (values: unknown, wanted: unknown): unknown =>
  isNothing(values) ? null : new Int32(list("$indexOfArray", values).findIndex((value) => same(value, wanted)));

const sortArray = named("$sortArray", ["input", "sortBy"], ({ input, sortBy }) => {
  if (isNothing(input)) return null;
  const values = list("$sortArray", input);
  if (isDoc(sortBy)) return sortDocs(values.filter(isDoc), parseSort(sortBy));
  const direction = integer(sortBy, "$sortArray");
  return values.toSorted((a, b) => direction * compare(a, b));
});

const keys = (values: unknown, operator: string): ReadonlyMap<string, unknown> =>
  new Map(list(operator, values).map((value) => [keyOf(value), value]));

const union = (...sets: unknown[]): unknown => [...new Map(sets.flatMap((set) => [...keys(set, "$setUnion")])).values()];
const difference = (a: unknown, b: unknown): unknown => {
  const without = keys(b, "$setDifference");
  return [...keys(a, "$setDifference")].filter(([key]) => !without.has(key)).map(([, value]) => value);
};
const intersection = (...sets: unknown[]): unknown => {
  const [first, ...others] = sets.map((set) => keys(set, "$setIntersection"));
  return [...(first ?? [])].filter(([key]) => others.every((other) => other.has(key))).map(([, value]) => value);
};
const isSubset = (a: unknown, b: unknown): boolean => {
  const all = keys(b, "$setIsSubset");
  return [...keys(a, "$setIsSubset").keys()].every((key) => all.has(key));
};

/** Of one argument that is an array its elements count, else the arguments. */
const over =
  (apply: (values: readonly unknown[]) => unknown): Operator =>
  (operand, scope, evaluate) => {
    if (Array.isArray(operand)) {
      const values = operand.map((part) => evaluate(part, scope));
      return apply(values.length === 1 && Array.isArray(values[0]) ? values[0] : values);
    }
    const value = evaluate(operand, scope);
    return apply(Array.isArray(value) ? value : [value]);
  };

export const arrays: Table = {
  $filter: filter,
  $map: map,
  $reduce: reduce,
  $sortArray: sortArray,
  $size: eager((values) => new Int32(list("$size", values).length)),
  $isArray: eager((value) => Array.isArray(value)),
  $arrayElemAt: strict(elementAt),
  $first: strict((values) => list("$first", values).at(0)),
  $last: strict((values) => list("$last", values).at(-1)),
  $slice: eager((values, a, b) => (isNothing(values) || isNothing(a) ? null : slice(values, a, b))),
  $concatArrays: strict((...all) => all.flatMap((values) => list("$concatArrays", values))),
  $reverseArray: strict((values) => list("$reverseArray", values).toReversed()),
  $in: eager((value, values) => list("$in", values).some((one) => same(one, value))),
  $indexOfArray: eager(indexOf),
  $range: eager(range),
  $setUnion: strict(union),
  $setDifference: strict(difference),
  $setIntersection: strict(intersection),
  $setIsSubset: eager(isSubset),
  $setEquals: eager((a, b) => isSubset(a, b) && isSubset(b, a)),
  $anyElementTrue: eager((values) => list("$anyElementTrue", values).some(toTruth)),
  $allElementsTrue: eager((values) => list("$allElementsTrue", values).every(toTruth)),
  $sum: over(sum),
  $avg: over(avg),
  $min: over((values) => best(values, -1)),
  $max: over((values) => best(values, 1)),
};
