/** Arithmetic that keeps the kinds of numbers as the server does: int unless it overflows, long unless it overflows, else double. */
import { Decimal128, Double, Int32, Long } from "bson";
import { isNumeric, type Numeric, toNumber } from "./document.ts";

export type Arithmetic = "add" | "subtract" | "multiply";

const MAX_INT = 2_147_483_647n;
const MAX_LONG = 9_223_372_036_854_775_807n;

/** Null when a whole number overflows a long. */
export const calculate = (kind: Arithmetic, a: Numeric, b: Numeric): Numeric | null => {
  if (isWhole(a) && isWhole(b)) return whole(onIntegers(kind, bigOf(a), bigOf(b)), a instanceof Long || b instanceof Long);
  const result = onDoubles(kind, toNumber(a), toNumber(b));
  return a instanceof Decimal128 || b instanceof Decimal128 ? Decimal128.fromString(String(result)) : new Double(result);
};

export const isWhole = (value: unknown): value is Int32 | Long =>
  isNumeric(value) && (value instanceof Int32 || value instanceof Long);

export const bigOf = (value: Int32 | Long): bigint => (value instanceof Long ? value.toBigInt() : BigInt(value.value));

/** An int, or a long where it does not fit or `long` says so; null beyond. */
export const whole = (value: bigint, long = false): Int32 | Long | null => {
  const size = value < 0n ? -value - 1n : value;
  if (!long && size <= MAX_INT) return new Int32(Number(value));
  return size <= MAX_LONG ? Long.fromBigInt(value) : null;
};

/** An int where it fits, else a double: of numbers that the double of the server counted itself. */
export const count = (value: number): Int32 | Double =>
  Math.abs(value) <= Number(MAX_INT) ? new Int32(value) : new Double(value);

/** The whole number that a number is, or null. */
export const integerOf = (value: unknown): number | null => {
  if (!isNumeric(value)) return null;
  const number = toNumber(value);
  return Number.isSafeInteger(number) ? number : null;
};

const onIntegers = (kind: Arithmetic, a: bigint, b: bigint): bigint => {
  switch (kind) {
    case "add":
      return a + b;
    case "subtract":
      return a - b;
    case "multiply":
      return a * b;
    default:
      return kind satisfies never;
  }
};

const onDoubles = (kind: Arithmetic, a: number, b: number): number => {
  switch (kind) {
    case "add":
      return a + b;
    case "subtract":
      return a - b;
    case "multiply":
      return a * b;
    default:
      return kind satisfies never;
  }
};
