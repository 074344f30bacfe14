import { Binary, Decimal128, Double, Int32, Long, ObjectId, UUID } from "bson";
import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "../values/document.ts";
import { bigOf, isWhole, whole } from "../values/numbers.ts";
import { typeName } from "../values/type-name.ts";
import { eager, isNothing, type Operator, partsOf, strict, type Table } from "./operator.ts";
import { toTruth } from "./scope.ts";

const unsupported = (value: unknown, to: string): CommandError =>
  new CommandError(2, `Unsupported conversion from ${typeName(value)} to ${to} in $convert`);

export const stringOf = (value: unknown): string => {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (isNumeric(value)) return value instanceof Double ? String(value.value) : value.toString();
  if (value instanceof Date) return value.toISOString();
  if (value instanceof ObjectId) return value.toHexString();
  if (value instanceof Binary && value.sub_type === Binary.SUBTYPE_UUID) return new UUID(value.value()).toString();
  throw unsupported(value, "string");
};

const bigFrom = (value: unknown, to: string): bigint => {
  if (isWhole(value)) return bigOf(value);
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (value instanceof Date && to === "long") return BigInt(value.getTime());
  if (isNumeric(value) && Number.isFinite(toNumber(value))) return BigInt(Math.trunc(toNumber(value)));
  if (typeof value === "string" && /^[+-]?\d+$/.test(value)) return BigInt(value);
  throw unsupported(value, to);
};

const toInt = (value: unknown): Int32 => {
  const number = whole(bigFrom(value, "int"));
  if (!(number instanceof Int32)) throw new CommandError(2, "Conversion would overflow target type in $convert");
  return number;
};

const toLong = (value: unknown): Long => {
  const number = whole(bigFrom(value, "long"), true);
  if (!(number instanceof Long)) throw new CommandError(2, "Conversion would overflow target type in $convert");
  return number;
};

const toDouble = (value: unknown): Double => {
  if (isNumeric(value)) return new Double(toNumber(value));
  if (typeof value === "boolean") return new Double(value ? 1 : 0);
  if (value instanceof Date) return new Double(value.getTime());
  if (typeof value === "string" && value.trim() !== "" && !Number.isNaN(Number(value))) return new Double(Number(value));
  throw unsupported(value, "double");
};

const toDate = (value: unknown): Date => {
  if (value instanceof Date) return value;
  if (isNumeric(value) && !(value instanceof Int32)) return new Date(toNumber(value));
  if (value instanceof ObjectId) return value.getTimestamp();
  const date = typeof value === "string" ? new Date(value) : null;
  if (date === null || Number.isNaN(date.getTime())) throw unsupported(value, "date");
  return date;
};

const toObjectId = (value: unknown): ObjectId => {
  if (value instanceof ObjectId) return value;
  if (typeof value === "string" && /^[0-9a-f]{24}$/i.test(value)) return new ObjectId(value);
  throw unsupported(value, "objectId");
};

const CONVERSIONS: Readonly<Record<string, (value: unknown) => unknown>> = {
  string: stringOf,
  int: toInt,
  long: toLong,
  double: toDouble,
  decimal: (value) => Decimal128.fromString(isNumeric(value) ? String(toNumber(value)) : stringOf(value)),
  bool: toTruth,
  date: toDate,
  objectId: toObjectId,
};

const convert: Operator = (operand, scope, evaluate) => {
  const parts = partsOf("$convert", ["input", "to", "onError", "onNull"], operand);
  const [input, to] = [evaluate(parts.input, scope), evaluate(parts.to, scope)];
  if (isNothing(input)) return evaluate(parts.onNull ?? null, scope);
  const apply = typeof to === "string" && Object.hasOwn(CONVERSIONS, to) ? CONVERSIONS[to] : undefined;
  if (apply === undefined) throw unsupported(input, String(to));
  try {
    return apply(input);
  } catch (error) {
    if (error instanceof CommandError && Object.hasOwn(parts, "onError")) return evaluate(parts.onError, scope);
    throw error;
  }
};

export const conversions: Table = {
  $convert: convert,
  $type: eager((value) => typeName(value)),
  $isNumber: eager((value) => isNumeric(value)),
  $toString: strict(stringOf),
  $toInt: strict(toInt),
  $toLong: strict(toLong),
  $toDouble: strict(toDouble),
  $toBool: strict(toTruth),
  $toDate: strict(toDate),
  $toObjectId: strict(toObjectId),
};
