/** One operator of a filter on one path. Comparisons hold only between values of types that compare; null also matches a missing field. */
import { BSONRegExp, MaxKey, MinKey } from "bson";
import { CommandError, refuse } from "../errors.ts";
import type { Scope } from "../expressions/scope.ts";
import { compare, same } from "../values/compare.ts";
import { type Doc, isDoc, isNumeric, toNumber } from "../values/document.ts";
import { arrayOf, docOf, integer } from "../values/expect.ts";
import { orderOf } from "../values/key.ts";
import { typeName, typesOf } from "../values/type-name.ts";
import { bitsTest, isBits } from "./bits.ts";
import { endsOf, leavesOf } from "./path.ts";
import { toRegExp } from "./regex.ts";

type Test = (doc: unknown) => boolean;
type Compile = (filter: Doc, scope: Scope) => (doc: Doc) => boolean;

/** Whether a document is one of operators, not a value to be equal to. */
export const isOperators = (operand: unknown): operand is Doc =>
  isDoc(operand) && (Object.keys(operand)[0]?.startsWith("$") ?? false) && !Object.hasOwn(operand, "$ref");

/** `beside`: all operators on this path, for those that go together. */
export const fieldTest = (
  path: readonly string[],
  operator: string,
  operand: unknown,
  beside: Doc,
  compile: Compile,
  scope: Scope,
): Test => {
  const not = (name: string): Test => {
    const test = fieldTest(path, name, operand, beside, compile, scope);
    return (doc) => !test(doc);
  };
  const some =
    (test: Test): Test =>
    (doc) =>
      leavesOf(doc, path).some(test);
  switch (operator) {
    case "$eq":
      return some(equals(operand));
    case "$ne":
      return not("$eq");
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      return some(compares(operator, operand));
    case "$in":
      return some(oneOf(arrayOf(operand, "$in")));
    case "$nin":
      return not("$in");
    case "$exists": {
      const wanted = isWanted(operand);
      return (doc) => endsOf(doc, path).some((end) => end !== undefined) === wanted;
    }
    case "$type": {
      const types = typesOf(operand);
      return some((value) => types.includes(typeName(value)));
    }
    case "$not":
      return negated(path, operand, compile, scope);
    case "$regex":
      return some(regexTest(operand, beside.$options));
    case "$options":
      if (!Object.hasOwn(beside, "$regex")) throw new CommandError(2, "$options needs a $regex");
      return () => true;
    case "$size": {
      const size = integer(operand, "$size");
      return (doc) => endsOf(doc, path).some((end) => Array.isArray(end) && end.length === size);
    }
    case "$mod":
      return some(modTest(operand));
    case "$all":
      return allTest(path, arrayOf(operand, "$all"), compile, scope);
    case "$elemMatch": {
      const test = elementTest(docOf(operand, "$elemMatch"), compile, scope);
      return (doc) => endsOf(doc, path).some((end) => Array.isArray(end) && end.some(test));
    }
    default:
      if (isBits(operator)) return some(bitsTest(operator, operand));
      if (/^\$(near|nearSphere|geoWithin|geoIntersects|within)$/.test(operator)) throw refuse(`${operator} in a filter`);
      throw new CommandError(2, `unknown operator: ${operator}`);
  }
};

const isWanted = (operand: unknown): boolean =>
  isNumeric(operand) ? toNumber(operand) !== 0 : operand !== false && operand !== null;

const equals = (operand: unknown): Test => {
  if (operand === null) return (value) => value === null || value === undefined;
  if (operand instanceof BSONRegExp) return regexTest(operand, undefined);
  return (value) => value !== undefined && same(value, operand);
};

const oneOf = (operands: readonly unknown[]): Test => {
  const tests = operands.map(equals);
  return (value) => tests.some((test) => test(value));
};

/** As NaN is less than all numbers in the order, but not in a filter, it is looked at apart. */
const compares = (operator: "$gt" | "$gte" | "$lt" | "$lte", operand: unknown): Test => {
  const orEqual = operator === "$gte" || operator === "$lte";
  if (operand === null) return orEqual ? (value) => value === null || value === undefined : () => false;
  const wanted = operator === "$gt" || operator === "$gte" ? 1 : -1;
  const all = operand instanceof MinKey || operand instanceof MaxKey;
  const order = orderOf(operand);
  return (value) => {
    if (value === undefined || (!all && orderOf(value) !== order)) return false;
    if (isNaNumber(value) || isNaNumber(operand)) return orEqual && isNaNumber(value) && isNaNumber(operand);
    const found = compare(value, operand);
    return found === wanted || (orEqual && found === 0);
  };
};

const isNaNumber = (value: unknown): boolean => isNumeric(value) && Number.isNaN(toNumber(value));

const negated = (path: readonly string[], operand: unknown, compile: Compile, scope: Scope): Test => {
  const isRegex = operand instanceof BSONRegExp;
  if (!isRegex && !isOperators(operand)) throw new CommandError(2, "$not needs a regex or a document");
  const tests = isRegex
    ? [fieldTest(path, "$regex", operand, {}, compile, scope)]
    : Object.entries(operand).map(([name, value]) => fieldTest(path, name, value, operand, compile, scope));
  return (doc) => !tests.every((test) => test(doc));
};

const regexTest = (operand: unknown, options: unknown): Test => {
  const regex = toRegExp(operand, options);
  return (value) =>
    typeof value === "string"
      ? regex.test(value)
      : value instanceof BSONRegExp && operand instanceof BSONRegExp && same(value, operand);
};

const modTest = (operand: unknown): Test => {
  const [divisor, rest] = arrayOf(operand, "$mod").map((part) => (isNumeric(part) ? Math.trunc(toNumber(part)) : Number.NaN));
  if (divisor === undefined || rest === undefined || !divisor) throw new CommandError(2, "malformed mod, divisor or remainder");
  return (value) => isNumeric(value) && Number.isFinite(toNumber(value)) && Math.trunc(toNumber(value)) % divisor === rest;
};

const allTest = (path: readonly string[], operands: readonly unknown[], compile: Compile, scope: Scope): Test => {
  const tests = operands.map((operand) =>
    isOperators(operand) && Object.hasOwn(operand, "$elemMatch")
      ? fieldTest(path, "$elemMatch", operand.$elemMatch, operand, compile, scope)
      : fieldTest(path, "$eq", operand, {}, compile, scope),
  );
  return (doc) => tests.length > 0 && tests.every((test) => test(doc));
};

const LOGICAL = ["$and", "$or", "$nor", "$expr"];

/** Of operators, the element itself is tested; of a filter, it must be a document. */
const elementTest = (operand: Doc, compile: Compile, scope: Scope): Test => {
  if (isOperators(operand) && !LOGICAL.includes(Object.keys(operand)[0] ?? "")) {
    const tests = Object.entries(operand).map(([name, value]) => fieldTest([], name, value, operand, compile, scope));
    return (element) => tests.every((test) => test(element));
  }
  const match = compile(operand, scope);
  return (element) => isDoc(element) && match(element);
};
