/** Whether a database is ours and in which version, and how it gets to the newest. */
import { RheoError } from "@rheo/core";
import { integer } from "./columns.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import type { Sql } from "./sql.ts";

/** "Rheo" in ASCII: the application_id of a file that Rheo made. */
export const APPLICATION_ID = 0x52_68_65_6f;

export const SCHEMA_VERSION: number = MIGRATIONS.length;

/** Names that stand in `rheo_meta`. */
export const META = {
  version: "schema_version",
  /** No token of a group that was deleted is above this (F1). */
  tokenFloor: "token_floor",
  /** A random number that tells this store from others. */
  storeId: "store_id",
} as const;

const META_TABLE = "CREATE TABLE rheo_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID";

/** The version of the schema; 0 when Rheo has no tables here. */
export const schemaVersion = (sql: Sql): number => {
  // outside the prepared cache: the answer must be of this moment, and the table may not be there yet
  const found = sql.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'rheo_meta'");
  return found === undefined ? 0 : readMeta(sql, META.version);
};

/** 0 when it was never set. */
export const readMeta = (sql: Sql, name: string): number => {
  const row = sql.get("SELECT value FROM rheo_meta WHERE name = ?", name);
  return row === undefined ? 0 : integer(row[0]);
};

export const writeMeta = (sql: Sql, name: string, value: number): void =>
  void sql.run(
    "INSERT INTO rheo_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    name,
    value,
  );

/** @throws schema_outdated - newer than this code; or older, unless `mayMigrate` */
export const checkVersion = (store: string, version: number, mayMigrate: boolean): void => {
  if (version > SCHEMA_VERSION) {
    throw new RheoError(
      "schema_outdated",
      `${store} has schema version ${version}, and this @rheo/sqlite knows versions up to ${SCHEMA_VERSION}. Update the package, or use the version that made the store.`,
    );
  }
  if (version < SCHEMA_VERSION && !mayMigrate) {
    throw new RheoError(
      "schema_outdated",
      `${store} has schema version ${version}, and this @rheo/sqlite needs ${SCHEMA_VERSION}. Open it once without { migrate: false }.`,
    );
  }
};

/** @throws unavailable - a file that another program has marked as its own */
export const checkOwner = (store: string, sql: Sql): void => {
  const owner = integer(sql.get("PRAGMA application_id")?.[0]);
  if (owner === 0 || owner === APPLICATION_ID || schemaVersion(sql) > 0) return;
  throw new RheoError(
    "unavailable",
    `${store} belongs to another program (its application_id is ${owner}). Give Rheo a file of its own, or open it yourself and pass it as "database". Nothing was written.`,
  );
};

/**
 * Brings the schema up to date. Runs inside one write transaction: of several processes one does it and the others find it
 * done; killed half way, it never happened (B104).
 */
export const migrate = (store: string, sql: Sql, random: () => number, markFile: boolean): void => {
  const version = schemaVersion(sql);
  checkVersion(store, version, true);
  if (version === SCHEMA_VERSION) return;
  if (version === 0) create(sql, random, markFile);
  for (const migration of MIGRATIONS.slice(version)) sql.exec(migration);
  writeMeta(sql, META.version, SCHEMA_VERSION);
};

const create = (sql: Sql, random: () => number, markFile: boolean): void => {
  const [tables] = sql.get("SELECT COUNT(*) FROM sqlite_schema") ?? [];
  if (markFile && tables === 0) sql.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  sql.exec(META_TABLE);
  writeMeta(sql, META.storeId, Math.floor(random() * Number.MAX_SAFE_INTEGER));
};
