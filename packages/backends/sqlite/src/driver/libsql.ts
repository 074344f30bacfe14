/** libsql: prebuilt for Node 20 and later, used where Node has no SQLite of its own. */
import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type BetterSqlite3Constructor, betterSqlite3Connection } from "./better-sqlite3.ts";
import type { Connection } from "./driver.ts";

/** The constructor of libsql. Throws when the package, or its binary for this machine, is absent. */
export const loadLibsql = (): BetterSqlite3Constructor => {
  const require = createRequire(import.meta.url);
  const found: unknown = require("libsql");
  if (isConstructor(found)) return found;
  throw new TypeError("The package libsql does not export a constructor.");
};

const isConstructor = (value: unknown): value is BetterSqlite3Constructor => typeof value === "function";

export const libsqlConnection = (Database: BetterSqlite3Constructor, path: string): Connection => {
  const connection = betterSqlite3Connection(new Database(path));
  let open = true;
  return {
    exec: (sql) => connection.exec(sql),
    prepare: (sql) => connection.prepare(sql),
    prefersPacked: connection.prefersPacked,
    library: connection.library,
    get inTransaction() {
      return connection.inTransaction;
    },
    close: async () => {
      if (!open) return;
      open = false;
      await connection.close();
      await collectStatements();
    },
  };
};

/** Finalizers run in tasks of their own after a collection. */
const FINALIZER_TURNS = 3;

/**
 * libsql keeps the file open until its prepared statements are collected, and has no call to finalize one. A process that opens
 * and closes many stores would run out of file descriptors before V8 saw a reason to collect anything.
 */
const collectStatements = async (): Promise<void> => {
  collect()?.();
  for (let turn = 0; turn < FINALIZER_TURNS; turn++) await setImmediate();
};

const collect = (): (() => void) | null => {
  setFlagsFromString("--expose-gc");
  const found: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  return typeof found === "function" ? () => void Reflect.apply(found, undefined, []) : null;
};
