/** Reading columns: each function checks that the value is what the schema says. */
import { RheoError } from "@rheo/core";
import { LIMITS } from "@rheo/core/internal";
import type { Row } from "./driver/driver.ts";

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

/** How many partitions a stream has. */
export const partitionCount = (value: unknown): number => {
  const count = integer(value);
  return count >= 1 && count <= LIMITS.partitions ? count : unexpected(`a count from 1 to ${LIMITS.partitions}`, value);
};

/** Reads a row; what is wrong in it is told with the row it is in. */
export const rowOf =
  <Read>(table: string, read: (row: Row) => Read) =>
  (row: Row): Read => {
    try {
      return read(row);
    } catch (cause) {
      throw RheoError.is(cause) ? inRow(table, row, cause) : cause;
    }
  };

/** Columns that a row is shown by: what it is found by stands first. */
const SHOWN_COLUMNS = 3;

const inRow = (table: string, row: Row, cause: RheoError): RheoError => {
  const shown = Array.from(row).slice(0, SHOWN_COLUMNS).map(String).join(", ");
  return new RheoError(
    cause.code,
    `${cause.message} The row of ${table} begins with: ${shown}. Mend or remove it.`,
    {},
    { cause },
  );
};

export const integerOrNull = (value: unknown): number | null => (value === null || value === undefined ? null : integer(value));

export const text = (value: unknown): string => (typeof value === "string" ? value : unexpected("text", value));

export const textOrNull = (value: unknown): string | null => (value === null || value === undefined ? null : text(value));

export const bytesOrNull = (value: unknown): Uint8Array | null => {
  if (value === null || value === undefined) return null;
  return value instanceof Uint8Array ? value : unexpected("a blob", value);
};

export const isTrue = (value: unknown): boolean => value === 1;
