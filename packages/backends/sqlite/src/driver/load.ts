/** Which driver opens a file, and which wraps a handle of the caller's. */
import { RheoError } from "@rheo/core";
import { type BetterSqlite3Constructor, betterSqlite3Connection, isBetterSqlite3 } from "./better-sqlite3.ts";
import type { Connection, Driver } from "./driver.ts";
import { libsqlConnection, loadLibsql } from "./libsql.ts";
import { isNodeSqlite, loadNodeSqlite, nodeSqliteConnection } from "./node-sqlite.ts";

/** A driver by name, or the constructor of better-sqlite3 or a library like it. */
export type DriverOption = "node:sqlite" | "libsql" | BetterSqlite3Constructor;

/** @throws unavailable - the driver is not installed, or not part of this Node */
export const loadDriver = (option: DriverOption | null): Driver => {
  if (typeof option === "function") return (path) => betterSqlite3Connection(new option(path));
  const builtIn = option === "libsql" ? null : loadNodeSqlite();
  if (builtIn !== null) return (path) => nodeSqliteConnection(new builtIn.DatabaseSync(path));
  if (option === "node:sqlite") {
    throw new RheoError(
      "unavailable",
      `This Node (${process.version}) has no node:sqlite. Use Node 22.13 or later, or the driver "libsql".`,
    );
  }
  return libsqlDriver();
};

const libsqlDriver = (): Driver => {
  try {
    const Database = loadLibsql();
    return (path) => libsqlConnection(Database, path);
  } catch (cause) {
    throw new RheoError(
      "unavailable",
      "The package libsql cannot be loaded. Install it, use Node 22.13 or later, or pass a driver of your own.",
      {},
      { cause },
    );
  }
};

/** The caller's own handle; null when it is none that is known. Closing is the caller's business. */
export const wrapHandle = (handle: unknown): Connection | null => {
  if (isBetterSqlite3(handle)) return betterSqlite3Connection(handle);
  return isNodeSqlite(handle) ? nodeSqliteConnection(handle) : null;
};
