/** Opening a database and setting it up as Rheo needs it. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { RheoError } from "@rheo/core";
import { BLOCKING_WAIT_MS } from "./busy.ts";
import type { Connection } from "./driver/driver.ts";
import { loadDriver } from "./driver/load.ts";
import { isBusy, unavailable } from "./errors.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Sql } from "./sql.ts";

/** The log is cut back to this after a burst, in bytes. */
const LOG_KEPT_BYTES = 67_108_864;

/** For a file that is new: measured a tenth faster than 4,096 with events of 300 bytes, and it needs fewer overflow pages for larger ones. */
const PAGE_BYTES = 8_192;

/** Cache of the connection; SQLite's default of 2 MiB is less than the inner pages of a large store. */
const CACHE_KIB = 16_384;

/** How the store is named in messages. */
export const storeName = (source: ResolvedOptions["source"]): string =>
  source.kind === "handle" ? 'The SQLite database given as "database"' : `The SQLite file ${source.path}`;

export const isInMemory = (source: ResolvedOptions["source"]): boolean => source.kind === "file" && source.path === ":memory:";

/**
 * @param mayCreate - make the file if it is not there
 * @throws unavailable, schema_outdated - there is no file
 */
export const connect = (source: ResolvedOptions["source"], mayCreate: boolean): Connection => {
  if (source.kind === "handle") return source.connection;
  const driver = loadDriver(source.driver);
  if (source.path === ":memory:") return driver(source.path);
  const path = resolve(source.path);
  checkPath(storeName(source), path);
  if (!mayCreate && !existsSync(path))
    throw new RheoError(
      "schema_outdated",
      `${storeName(source)} does not exist. Open it once without { migrate: false } to make it.`,
    );
  try {
    return driver(path);
  } catch (error) {
    throw unavailable(storeName(source), error);
  }
};

/** Says plainly, and before anything is touched, what SQLite would call "unable to open database file" or find out with the first write. */
const checkPath = (store: string, path: string): void => {
  const problem = problemOf(path);
  if (problem !== null) throw new RheoError("unavailable", `${store}: ${problem}. Nothing was written.`);
};

const problemOf = (path: string): string | null => {
  const directory = dirname(path);
  if (!existsSync(directory)) return `the directory ${directory} does not exist; make it first`;
  if (!isWritable(directory))
    return `the directory ${directory} cannot be written to, which the -wal and -shm files beside it need`;
  if (!existsSync(path)) return null;
  if (statSync(path).isDirectory()) return "it is a directory; give the path of a file in it";
  return isWritable(path) ? null : "it can only be read; check its permissions";
};

const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Settings of the connection. On a handle of the caller's, only what was asked for. */
export const configure = (sql: Sql, options: ResolvedOptions): void => {
  if (options.source.kind === "handle") {
    if (options.synchronous !== null) sql.exec(`PRAGMA synchronous = ${options.synchronous}`);
    return;
  }
  sql.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}`);
  sql.exec(`PRAGMA synchronous = ${options.synchronous ?? "full"}`);
  sql.exec("PRAGMA foreign_keys = ON");
  sql.exec(`PRAGMA journal_size_limit = ${LOG_KEPT_BYTES}`);
  sql.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
  sql.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
};

/** Readers and the writer do not wait for one another in this mode. It is a property of the file, and stays. */
export const useWriteAheadLog = (sql: Sql): void => {
  const [mode] = sql.get("PRAGMA journal_mode") ?? [];
  if (mode !== "wal" && mode !== "memory") sql.get("PRAGMA journal_mode = WAL");
};

/** Moves the log into the database, so that the file alone is whole. Somebody else may be reading; then it is left to them. */
export const checkpoint = (sql: Sql): void => {
  try {
    sql.get("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (error) {
    // the log is as good as the file: closing must not fail for it, whatever the reason
    if (!isBusy(error)) process.emitWarning(`SQLite: the log could not be moved into the file: ${String(error)}`, "RheoWarning");
  }
};
