import { Double, Long } from "bson";
import { CommandError } from "../errors.ts";
import { isNumeric, type Numeric, toNumber } from "../values/document.ts";
import { type Arithmetic, bigOf, calculate, integerOf, isWhole, whole } from "../values/numbers.ts";
import { eager, isNothing, mismatch, strict, type Table } from "./operator.ts";

const number = (operator: string, value: unknown): Numeric => {
  if (!isNumeric(value)) throw mismatch(operator, "numeric types", value);
  return value;
};

const compute = (kind: Arithmetic, a: Numeric, b: Numeric): Numeric =>
  calculate(kind, a, b) ?? calculate(kind, new Double(toNumber(a)), b) ?? new Double(Number.NaN);

/** Numbers, and one date among them. */
const add = (...values: unknown[]): unknown => {
  if (values.some(isNothing)) return null;
  const date = values.find((value) => value instanceof Date);
  const numbers = values.filter((value) => value !== date).map((value) => number("$add", value));
  const sum = numbers.reduce<Numeric | null>((total, value) => (total === null ? value : compute("add", total, value)), null);
  if (date instanceof Date) return new Date(date.getTime() + (sum === null ? 0 : Math.round(toNumber(sum))));
  return sum ?? whole(0n);
};

const subtract = (a: unknown, b: unknown): unknown => {
  if (a instanceof Date && b instanceof Date) return Long.fromNumber(a.getTime() - b.getTime());
  if (a instanceof Date) return new Date(a.getTime() - Math.round(toNumber(number("$subtract", b))));
  return compute("subtract", number("$subtract", a), number("$subtract", b));
};

const divide = (a: unknown, b: unknown): unknown => {
  const by = toNumber(number("$divide", b));
  if (by === 0) throw new CommandError(2, "can't $divide by zero");
  return new Double(toNumber(number("$divide", a)) / by);
};

const modulo = (a: unknown, b: unknown): unknown => {
  const by = number("$mod", b);
  if (toNumber(by) === 0) throw new CommandError(2, "can't $mod by zero");
  if (isWhole(a) && isWhole(by)) return whole(bigOf(a) % bigOf(by), a instanceof Long || by instanceof Long);
  return new Double(toNumber(number("$mod", a)) % toNumber(by));
};

/** Whole numbers stay what they are. */
const rounding = (operator: string, round: (value: number) => number): ((value: unknown) => unknown) => {
  return (value) => (isWhole(value) ? value : new Double(round(toNumber(number(operator, value)))));
};

const toPlaces = (operator: string, round: (value: number) => number) => {
  return (value: unknown, places: unknown): unknown => {
    const by = 10 ** (integerOf(places) ?? 0);
    if (isWhole(value) && by >= 1) return value;
    return new Double(round(toNumber(number(operator, value)) * by) / by);
  };
};

/** Half to even. */
const roundEven = (value: number): number => {
  const low = Math.floor(value);
  if (value - low !== 0.5) return Math.round(value);
  return low % 2 === 0 ? low : low + 1;
};

const withPlaces = (operator: string, round: (value: number) => number) =>
  eager((value, places) => (isNothing(value) ? null : toPlaces(operator, round)(value, places)));

const absolute = (value: unknown): unknown => {
  if (!isWhole(value)) return new Double(Math.abs(toNumber(number("$abs", value))));
  const big = bigOf(value);
  return whole(big < 0n ? -big : big, value instanceof Long);
};

const onDouble = (operator: string, apply: (value: number) => number) =>
  strict((value) => new Double(apply(toNumber(number(operator, value)))));

const power = (a: unknown, b: unknown): unknown => {
  const [base, exponent] = [number("$pow", a), number("$pow", b)];
  const whole_ =
    isWhole(base) && isWhole(exponent) && bigOf(exponent) >= 0n
      ? whole(bigOf(base) ** bigOf(exponent), base instanceof Long)
      : null;
  return whole_ ?? new Double(toNumber(base) ** toNumber(exponent));
};

export const arithmetic: Table = {
  $add: eager(add),
  $subtract: strict(subtract),
  $multiply: strict((...values) => values.map((value) => number("$multiply", value)).reduce((a, b) => compute("multiply", a, b))),
  $divide: strict(divide),
  $mod: strict(modulo),
  $abs: strict(absolute),
  $ceil: strict(rounding("$ceil", Math.ceil)),
  $floor: strict(rounding("$floor", Math.floor)),
  $round: withPlaces("$round", roundEven),
  $trunc: withPlaces("$trunc", Math.trunc),
  $sqrt: onDouble("$sqrt", Math.sqrt),
  $exp: onDouble("$exp", Math.exp),
  $ln: onDouble("$ln", Math.log),
  $log10: onDouble("$log10", Math.log10),
  $pow: strict(power),
};
