/**
 * What Rheo needs of a SQLite driver: small and synchronous, so that a transaction is never left open across an `await`.
 * Rows are arrays, because that is the fastest form in every driver and the only one in which they agree.
 */

/** A value as SQLite stores it. Integers are numbers on both ways; a driver refuses or rounds what a number cannot hold. */
export type Value = null | number | string | Uint8Array;
export type Row = readonly unknown[];

export interface Statement {
  /** Runs it; returns how many rows were changed. */
  run(parameters: readonly Value[]): number;
  get(parameters: readonly Value[]): Row | undefined;
  all(parameters: readonly Value[]): readonly Row[];
}

export interface Connection {
  /** One or more statements without parameters; rows are dropped. */
  exec(sql: string): void;
  prepare(sql: string): Statement;
  /** Whether a transaction is open on it. */
  readonly inTransaction: boolean;
  /** Values cross from this driver so slowly that a thousand of them come faster as one JSON text. */
  readonly prefersPacked: boolean;
  /** Tells one copy of SQLite in this process from another: the constructor of its handles. */
  readonly library: unknown;
  /** Idempotent. Resolves when the file is let go. */
  close(): Promise<void>;
}

/** Opens a file, or ":memory:". Throws what the driver throws. */
export type Driver = (path: string) => Connection;

/**
 * Drivers bind a number as a float, which SQLite turns into an integer only below 2^51. Above, it has to be bound as a BigInt.
 */
const EXACT_FLOAT = 2 ** 51;

const isLarge = (value: Value): boolean => typeof value === "number" && (value >= EXACT_FLOAT || value <= -EXACT_FLOAT);

/** Parameters as every driver stores them exactly. */
export const bindable = (parameters: readonly Value[]): readonly (Value | bigint)[] =>
  parameters.some(isLarge)
    ? parameters.map((value) => (typeof value === "number" && isLarge(value) ? BigInt(value) : value))
    : parameters;
