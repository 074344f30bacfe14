/** Handles with the interface of better-sqlite3, which libsql has too. */
import { bindable, type Connection, type Statement, type Value } from "./driver.ts";

/** The part of such a handle that is used. */
export interface BetterSqlite3Handle {
  readonly open?: boolean;
  readonly inTransaction: boolean;
  /** Runs statements without parameters. */
  exec(sql: string): unknown;
  /** Compiles one statement. */
  prepare(sql: string): BetterSqlite3Statement;
  /** Closes the database. */
  close(): unknown;
}

interface BetterSqlite3Statement {
  readonly reader?: boolean;
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  get(...parameters: unknown[]): unknown;
  all(...parameters: unknown[]): unknown[];
  raw(toggle?: boolean): unknown;
  safeIntegers?(toggle?: boolean): unknown;
}

/** The default export of better-sqlite3. */
export type BetterSqlite3Constructor = new (path: string) => BetterSqlite3Handle;

export const isBetterSqlite3 = (handle: unknown): handle is BetterSqlite3Handle =>
  typeof handle === "object" &&
  handle !== null &&
  "inTransaction" in handle &&
  !isClosed(handle) &&
  typeof handle.inTransaction === "boolean" &&
  "exec" in handle &&
  typeof handle.exec === "function" &&
  "prepare" in handle &&
  typeof handle.prepare === "function";

/** Must be known before `inTransaction` is read: asking a closed handle of libsql aborts the process. */
const isClosed = (handle: object): boolean => "open" in handle && handle.open === false;

export const betterSqlite3Connection = (handle: BetterSqlite3Handle): Connection => ({
  exec: (sql) => void handle.exec(sql),
  prepare: (sql) => prepare(handle, sql),
  prefersPacked: isLibsql(handle),
  library: handle.constructor,
  get inTransaction() {
    return !isClosed(handle) && handle.inTransaction;
  },
  close: async () => void handle.close(),
});

/** The one of these handles that can sync with a server. */
const isLibsql = (handle: BetterSqlite3Handle): boolean => "syncUntil" in handle;

const prepare = (handle: BetterSqlite3Handle, sql: string): Statement => {
  const statement = handle.prepare(sql);
  // the handle's owner may have made BigInt the default for all its statements
  statement.safeIntegers?.(false);
  // better-sqlite3 knows at once whether rows will come, and allows `raw` only then; libsql takes it always
  if (statement.reader !== false) statement.raw(true);
  const bind = !isLibsql(handle) && NUMBERED.test(sql) ? byNumber : bindable;
  return {
    run: (parameters) => Number(statement.run(bind(parameters)).changes),
    get: (parameters) => asRow(statement.get(bind(parameters))),
    all: (parameters) => statement.all(bind(parameters)).map(asPresentRow),
  };
};

/** better-sqlite3 takes `?1` for a name, and names by an object; libsql takes both for places. */
const NUMBERED = /\?1/;

const byNumber = (parameters: readonly Value[]): Readonly<Record<number, unknown>> =>
  Object.fromEntries(bindable(parameters).map((value, index) => [index + 1, value]));

const asRow = (row: unknown): readonly unknown[] | undefined => (Array.isArray(row) ? row : undefined);

const asPresentRow = (row: unknown): readonly unknown[] => (Array.isArray(row) ? row : []);
