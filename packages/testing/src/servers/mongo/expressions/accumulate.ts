/** What `$sum` and its like make of many values: used by expressions and by `$group`. */
import { Double, Int32 } from "bson";
import { compare } from "../values/compare.ts";
import { isNumeric, type Numeric, toNumber } from "../values/document.ts";
import { calculate } from "../values/numbers.ts";
import { isNothing } from "./operator.ts";

/** Others than numbers do not count. */
export const sum = (values: readonly unknown[]): Numeric => {
  let total: Numeric = new Int32(0);
  for (const value of values)
    if (isNumeric(value)) total = calculate("add", total, value) ?? new Double(toNumber(total) + toNumber(value));
  return total;
};

export const avg = (values: readonly unknown[]): Double | null => {
  const numbers = values.filter(isNumeric).map(toNumber);
  return numbers.length === 0 ? null : new Double(numbers.reduce((a, b) => a + b) / numbers.length);
};

/** The greatest (1) or least (-1) that is not null; null when there is none. */
export const best = (values: readonly unknown[], wanted: 1 | -1): unknown => {
  let found: unknown = null;
  for (const value of values) if (!isNothing(value) && (found === null || compare(value, found) === wanted)) found = value;
  return found;
};
