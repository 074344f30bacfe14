/**
 * Rheo on SQLite: one file, shared by any number of processes.
 *
 * ```ts
 * const rheo = await Rheo.open({ backend: sqlite({ file: "./events.db" }) });
 * ```
 */
import type { Backend } from "@rheo/core";
import { SqliteBackend } from "./backend.ts";
import { optionsFromUrl, resolveOptions, type SqliteOptions } from "./options.ts";

export type { BetterSqlite3Constructor, BetterSqlite3Handle } from "./driver/better-sqlite3.ts";
export type { NodeSqliteHandle } from "./driver/node-sqlite.ts";
export type { DatabaseHandle, SqliteDatabaseOptions, SqliteFileOptions, SqliteOptions } from "./options.ts";

/**
 * A store in a SQLite file, or in a database that you have opened yourself. Nothing is opened until `Rheo.open`.
 * @throws invalid_option
 */
export const sqlite = (options: SqliteOptions): Backend => new SqliteBackend(resolveOptions(options));

/** For `Rheo.open("sqlite:./events.db")`. @throws invalid_option */
export const fromUrl = (url: string): Backend => sqlite(optionsFromUrl(url));
