/** Operators of an update on an array: each gives the array as it will be, or undefined to leave what is there. */

import { BSONRegExp } from "bson";
import { CommandError } from "../errors.ts";
import type { Scope } from "../expressions/scope.ts";
import { fieldTest, isOperators } from "../query/field-test.ts";
import { compileFilter } from "../query/match.ts";
import { parseSort, sortKey } from "../query/sort.ts";
import { compare, same } from "../values/compare.ts";
import { copy, isDoc } from "../values/document.ts";
import { arrayOf, integer } from "../values/expect.ts";

type Make = (old: unknown, operand: unknown, context: { readonly scope: Scope }) => unknown[] | undefined;

const arrayIn = (operator: string, old: unknown): unknown[] => {
  if (old === undefined) return [];
  if (!Array.isArray(old)) throw new CommandError(2, `Cannot apply ${operator} to a non-array value`);
  return [...old];
};

export const push: Make = (old, operand) => {
  const array = arrayIn("$push", old);
  if (!isDoc(operand) || !Object.hasOwn(operand, "$each")) return [...array, copy(operand)];
  const { $each, $position, $slice, $sort, ...others } = operand;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new CommandError(2, `Unrecognized clause in $push: ${other}`);
  const at = $position === undefined ? array.length : integer($position, "$position");
  array.splice(at, 0, ...copy([...arrayOf($each, "$each")]));
  const sorted = $sort === undefined ? array : sortArray(array, $sort);
  if ($slice === undefined) return sorted;
  const size = integer($slice, "$slice");
  return size >= 0 ? sorted.slice(0, size) : sorted.slice(size);
};

const sortArray = (array: unknown[], by: unknown): unknown[] => {
  if (!isDoc(by)) return array.toSorted((a, b) => integer(by, "$sort") * compare(a, b));
  const fields = parseSort(by);
  const key = (value: unknown): string => sortKey(isDoc(value) ? value : {}, fields);
  return array.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
};

export const addToSet: Make = (old, operand) => {
  const array = arrayIn("$addToSet", old);
  const values = isDoc(operand) && Object.hasOwn(operand, "$each") ? arrayOf(operand.$each, "$each") : [operand];
  for (const value of values) if (!array.some((one) => same(one, value))) array.push(copy(value));
  return array;
};

export const pop: Make = (old, operand) => {
  if (old === undefined) return undefined;
  const array = arrayIn("$pop", old);
  return integer(operand, "$pop") < 0 ? array.slice(1) : array.slice(0, -1);
};

export const pullAll: Make = (old, operand) => {
  if (old === undefined) return undefined;
  const values = arrayOf(operand, "$pullAll");
  return arrayIn("$pullAll", old).filter((one) => !values.some((value) => same(one, value)));
};

/** A document is a filter for elements that are documents; operators and expressions test the element. */
export const pull: Make = (old, operand, { scope }) => {
  if (old === undefined) return undefined;
  const matches = pullTest(operand, scope);
  return arrayIn("$pull", old).filter((one) => !matches(one));
};

const pullTest = (operand: unknown, scope: Scope): ((element: unknown) => boolean) => {
  if (isOperators(operand)) {
    const tests = Object.entries(operand).map(([name, value]) => fieldTest([], name, value, operand, compileFilter, scope));
    return (element) => tests.every((test) => test(element));
  }
  if (operand instanceof BSONRegExp) return fieldTest([], "$regex", operand, {}, compileFilter, scope);
  if (!isDoc(operand)) return (element) => same(element, operand);
  const match = compileFilter(operand, scope);
  return (element) => isDoc(element) && match(element);
};
