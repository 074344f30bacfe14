/** `$bitsAllSet` and its like, on whole numbers. */
import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "../values/document.ts";
import { bigOf, isWhole } from "../values/numbers.ts";

type Bits = "$bitsAllSet" | "$bitsAllClear" | "$bitsAnySet" | "$bitsAnyClear";

export const isBits = (operator: string): operator is Bits => /^\$bits(All|Any)(Set|Clear)$/.test(operator);

export const bitsTest = (operator: Bits, operand: unknown): ((value: unknown) => boolean) => {
  const mask = maskOf(operand);
  return (value) => {
    const bits = wholeOf(value);
    if (bits === null) return false;
    const set = bits & mask;
    switch (operator) {
      case "$bitsAllSet":
        return set === mask;
      case "$bitsAllClear":
        return set === 0n;
      case "$bitsAnySet":
        return set !== 0n;
      case "$bitsAnyClear":
        return set !== mask;
      default:
        return operator satisfies never;
    }
  };
};

const wholeOf = (value: unknown): bigint | null => {
  if (isWhole(value)) return bigOf(value);
  return isNumeric(value) && Number.isInteger(toNumber(value)) ? BigInt(toNumber(value)) : null;
};

const maskOf = (operand: unknown): bigint => {
  const positions = Array.isArray(operand) ? operand.map(wholeOf) : null;
  const mask = positions === null ? wholeOf(operand) : positions.reduce<bigint>((sum, bit) => sum | (1n << (bit ?? 0n)), 0n);
  if (mask === null || mask < 0n) throw new CommandError(2, "bit positions must be whole numbers");
  return mask;
};
