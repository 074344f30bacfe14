/**
 * Operators of mingo, for dates and other things that hold no BSON number beyond a double: arguments are evaluated by the double and handed
 * over as values, so that types, missing fields and variables are never mingo's.
 */
import { Double, Int32 } from "bson";
import { Aggregator } from "mingo";
import { CommandError } from "../errors.ts";
import { type Doc, isDoc, isNumeric, toNumber } from "../values/document.ts";
import type { Operator, Table } from "./operator.ts";

const NAMES = [
  ..."dateAdd dateDiff dateFromParts dateFromString dateSubtract dateToParts dateToString dateTrunc".split(" "),
  ..."dayOfMonth dayOfWeek dayOfYear hour isoDayOfWeek isoWeek isoWeekYear millisecond minute month second week year".split(" "),
  ..."regexFind regexFindAll replaceAll replaceOne strcasecmp zip sin cos tan atan atan2 log".split(" "),
];

const borrow =
  (name: string): Operator =>
  (operand, scope, evaluate) => {
    const value = literally(plain(evaluate(operand, scope)));
    try {
      const [made] = new Aggregator([{ $project: { made: { [name]: value } } }]).run<Doc>([{}]);
      return asBson(made?.made);
    } catch (error) {
      throw new CommandError(2, `${name} failed: ${String(error)}`);
    }
  };

const literally = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(literally);
  if (isDoc(value)) return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, literally(part)]));
  return { $literal: value ?? null };
};

const plain = (value: unknown): unknown => {
  if (isNumeric(value)) return toNumber(value);
  if (Array.isArray(value)) return value.map(plain);
  return isDoc(value) ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)])) : value;
};

const asBson = (value: unknown): unknown => {
  if (typeof value === "number")
    return Number.isInteger(value) && Math.abs(value) < 2 ** 31 ? new Int32(value) : new Double(value);
  if (Array.isArray(value)) return value.map(asBson);
  return isDoc(value) ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, asBson(part)])) : value;
};

export const borrowed: Table = Object.fromEntries(NAMES.map((name) => [`$${name}`, borrow(`$${name}`)]));
