/**
 * Transactions of the user's, given as `{ transaction }` (T8). What is understood, by what it can do:
 *
 * | given | how a statement runs on it |
 * |---|---|
 * | a client of pg, or anything with `query(text, values)` | `query` |
 * | a transaction of postgres.js | `unsafe(text, values)` |
 * | a `Transaction` of kysely | `executeQuery`, with what `CompiledQuery.raw` makes |
 * | a transaction of drizzle over pg or postgres.js | its session's client, as above |
 * | a transaction of knex | `raw`, with `?` for parameters |
 *
 * Each statement gives one row with one column, so that plugins which rename columns do no harm.
 */
import { RheoError } from "@rheo/core";

export type RunWithin = (text: string, values: readonly (string | null)[]) => Promise<unknown>;

type Method = (...args: readonly unknown[]) => unknown;

/** @throws invalid_option - not a transaction of any kind that is understood */
export const adapt = (transaction: unknown): RunWithin => {
  const run = plain(transaction) ?? kysely(transaction) ?? drizzle(transaction) ?? knex(transaction);
  if (run !== null) return run;
  throw new RheoError(
    "invalid_option",
    "transaction is something with query(text, values), such as a client of pg on which BEGIN was sent, or a transaction of kysely, drizzle, knex or postgres.js.",
    { path: "transaction" },
  );
};

/** The text in the only cell of what a statement gave. @throws TypeError */
export const cellOf = (result: unknown): string => {
  const rows: unknown = Array.isArray(result) ? result : property(result, "rows");
  const row: unknown = Array.isArray(rows) ? rows[0] : undefined;
  const [cell]: unknown[] = typeof row === "object" && row !== null ? Object.values(row) : [];
  if (typeof cell === "string") return cell;
  throw new TypeError("The transaction ran the statement, but gave no row back. It has to give { rows }, as pg does.");
};

const property = (value: unknown, name: string): unknown =>
  (typeof value === "object" && value !== null) || typeof value === "function" ? Reflect.get(value, name) : undefined;

const method = (value: unknown, name: string): Method | null => {
  const found = property(value, name);
  return typeof found === "function" ? (...args) => Reflect.apply(found, value, args) as unknown : null; // functions are called as methods
};

const plain = (value: unknown): RunWithin | null => {
  // kysely's and drizzle's have other members of these names
  if (method(value, "executeQuery") !== null || property(value, "dialect") !== undefined) return null;
  if (isPool(value)) throw outside("a pool");
  const run = method(value, "query") ?? method(value, "unsafe");
  return run === null || method(value, "raw") !== null ? null : async (text, values) => run(text, [...values]);
};

/** Whether each statement may run on another connection: pg's pools, and what postgres.js gives outside `begin`. */
const isPool = (value: unknown): boolean =>
  typeof property(value, "totalCount") === "number" || (method(value, "unsafe") !== null && method(value, "begin") !== null);

const kysely = (value: unknown): RunWithin | null => {
  const run = method(value, "executeQuery");
  if (run === null) return null;
  if (property(value, "isTransaction") === false) throw outside("an instance of kysely");
  return async (sql, parameters) => {
    const query = { kind: "RawNode", sqlFragments: [sql], parameters: [] };
    return run({ sql, parameters: [...parameters], query, queryId: { queryId: `rheo-${sql.length}` } });
  };
};

const drizzle = (value: unknown): RunWithin | null => {
  const session = property(value, "session");
  return session === undefined ? null : plain(property(session, "client"));
};

const knex = (value: unknown): RunWithin | null => {
  const run = method(value, "raw");
  if (run === null) return null;
  if (property(value, "isTransaction") !== true) throw outside("an instance of knex");
  return async (text, values) => run(text.replaceAll(/\$\d+/g, "?"), [...values]);
};

const outside = (what: string): RheoError =>
  new RheoError(
    "invalid_option",
    `transaction is ${what}, and not inside a transaction. Pass what a transaction of it gives you, or a client on which BEGIN was sent.`,
    { path: "transaction" },
  );
