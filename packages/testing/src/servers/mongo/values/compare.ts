import { Double, Int32 } from "bson";
import { keyOf } from "./key.ts";

const sign = (a: number | string, b: number | string): -1 | 0 | 1 => (a < b ? -1 : a > b ? 1 : 0);

/** In the server's order across all types. */
export const compare = (a: unknown, b: unknown): -1 | 0 | 1 => {
  if ((a instanceof Int32 || a instanceof Double) && (b instanceof Int32 || b instanceof Double))
    if (!Number.isNaN(a.value) && !Number.isNaN(b.value)) return sign(a.value, b.value);
  return sign(keyOf(a), keyOf(b));
};

export const same = (a: unknown, b: unknown): boolean => a === b || compare(a, b) === 0;
