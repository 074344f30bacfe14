/** Reading columns: each function checks that the value is what the schema says. */
import { RheoError } from "@rheo/core";

const unexpected = (wanted: string, value: unknown): never => {
  throw new RheoError(
    "unavailable",
    `The store holds ${describe(value)} where ${wanted} belongs: it was written to by something else, or is damaged.`,
  );
};

const describe = (value: unknown): string =>
  typeof value === "number" || typeof value === "bigint" ? `the number ${value}` : `a ${value === null ? "null" : typeof value}`;

/** A whole number that JavaScript holds exactly. */
export const integer = (value: unknown): number =>
  Number.isSafeInteger(value) ? (value as number) : unexpected("a whole number up to 2^53 - 1", value); // just checked

export const integerOrNull = (value: unknown): number | null => (value === null || value === undefined ? null : integer(value));

export const text = (value: unknown): string => (typeof value === "string" ? value : unexpected("text", value));

export const textOrNull = (value: unknown): string | null => (value === null || value === undefined ? null : text(value));

export const bytesOrNull = (value: unknown): Uint8Array | null => {
  if (value === null || value === undefined) return null;
  return value instanceof Uint8Array ? value : unexpected("a blob", value);
};

export const isTrue = (value: unknown): boolean => value === 1;
