/** Operators that evaluate only part of their operand, or name variables. */
import { Double } from "bson";
import { CommandError } from "../errors.ts";
import { docOf, docsOf } from "../values/expect.ts";
import { isNothing, type Operator, partsOf, type Table } from "./operator.ts";
import { toTruth } from "./scope.ts";

const listOf = (operand: unknown): readonly unknown[] => (Array.isArray(operand) ? operand : [operand]);

const cond: Operator = (operand, scope, evaluate) => {
  const [test, then, other] = Array.isArray(operand) ? operand : inOrder(partsOf("$cond", ["if", "then", "else"], operand));
  return evaluate(toTruth(evaluate(test, scope)) ? then : other, scope);
};

const inOrder = (parts: Readonly<Record<string, unknown>>): readonly unknown[] => [parts.if, parts.then, parts.else];

const ifNull: Operator = (operand, scope, evaluate) => {
  let value: unknown;
  for (const part of listOf(operand)) {
    value = evaluate(part, scope);
    if (!isNothing(value)) return value;
  }
  return value;
};

const choose: Operator = (operand, scope, evaluate) => {
  const { branches, ...rest } = partsOf("$switch", ["branches", "default"], operand);
  for (const branch of docsOf(branches, "branches"))
    if (toTruth(evaluate(branch.case, scope))) return evaluate(branch.then, scope);
  if (!Object.hasOwn(rest, "default"))
    throw new CommandError(2, "$switch could not find a matching branch for an input, and no default was specified.");
  return evaluate(rest.default, scope);
};

const bind: Operator = (operand, scope, evaluate) => {
  const { vars, in: inner } = partsOf("$let", ["vars", "in"], operand);
  const values = Object.entries(docOf(vars, "vars")).map(([name, part]) => [name, evaluate(part, scope)]);
  return evaluate(inner, scope.with(Object.fromEntries(values)));
};

/** Source: the server promises no sequence, so the double needs no seed. */
let draw = 0;
const random: Operator = () => {
  draw = (draw * 1_103_515_245 + 12_345) % 2_147_483_648;
  return new Double(draw / 2_147_483_648);
};

export const control: Table = {
  $literal: (operand) => operand,
  $cond: cond,
  $ifNull: ifNull,
  $switch: choose,
  $let: bind,
  $rand: random,
  $and: (operand, scope, evaluate) => listOf(operand).every((part) => toTruth(evaluate(part, scope))),
  $or: (operand, scope, evaluate) => listOf(operand).some((part) => toTruth(evaluate(part, scope))),
};
