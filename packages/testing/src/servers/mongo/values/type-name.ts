/** Names and numbers of types, as `$type` knows them. */
import { Binary, BSONRegExp, BSONSymbol, Code, Decimal128, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from "bson";
import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "./document.ts";

const NUMBERS: Readonly<Record<string, number>> = {
  double: 1,
  string: 2,
  object: 3,
  array: 4,
  binData: 5,
  undefined: 6,
  objectId: 7,
  bool: 8,
  date: 9,
  null: 10,
  regex: 11,
  javascript: 13,
  symbol: 14,
  int: 16,
  timestamp: 17,
  long: 18,
  decimal: 19,
  minKey: -1,
  maxKey: 127,
};

const CLASSES = [
  [Int32, "int"],
  [Double, "double"],
  [Timestamp, "timestamp"],
  [Long, "long"],
  [Decimal128, "decimal"],
  [Date, "date"],
  [ObjectId, "objectId"],
  [Binary, "binData"],
  [BSONRegExp, "regex"],
  [MinKey, "minKey"],
  [MaxKey, "maxKey"],
  [Code, "javascript"],
  [BSONSymbol, "symbol"],
] as const;

/** `missing` of a field that is not there. */
export const typeName = (value: unknown): string => {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (Array.isArray(value)) return "array";
  return CLASSES.find(([kind]) => value instanceof kind)?.[1] ?? "object";
};

const NUMERIC = ["int", "long", "double", "decimal"];

/** The names that an operand of `$type` stands for. @throws `BadValue` when there is no such type */
export const typesOf = (operand: unknown): readonly string[] => {
  if (Array.isArray(operand)) return operand.flatMap(typesOf);
  if (operand === "number") return NUMERIC;
  if (typeof operand === "string" && Object.hasOwn(NUMBERS, operand)) return [operand];
  const name = isNumeric(operand) ? Object.keys(NUMBERS).find((key) => NUMBERS[key] === toNumber(operand)) : undefined;
  if (name === undefined) throw new CommandError(2, `Unknown type name alias: ${String(operand)}`);
  return [name];
};
