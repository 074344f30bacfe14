/** What may be wrong with a file and what is around it. Reads only. */
import { statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Diagnosis } from "@rheo/core";
import { failure, fine, warning } from "@rheo/core/internal";
import { integer, text } from "./columns.ts";
import { connect } from "./connect.ts";
import type { ResolvedOptions } from "./options.ts";
import { migrate, SCHEMA_VERSION } from "./schema.ts";
import { indexName } from "./search.ts";
import { Sql } from "./sql.ts";

/** A log this long is not being moved into the file: some reader has been open for long. In bytes. */
const LONG_LOG_BYTES = 268_435_456;
/** Less room than that is gone sooner than it is noticed. In bytes. */
const LITTLE_ROOM_BYTES = 536_870_912;
/** A larger file takes seconds to look through, in which everybody waits for this process. In bytes. */
const CHECKED_BYTES = 134_217_728;
/** Of what is free inside the file, more than this is worth giving back. In bytes, and as a share of the file. */
const WASTE_BYTES = 268_435_456;
const WASTE_SHARE = 0.5;

/** f_type of file systems whose shared memory does not reach other hosts: NFS, SMB and SMB2, CIFS. */
const REMOTE: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xfe534d42, 0xff534d42]);

export const diagnose = (sql: Sql, { source }: ResolvedOptions): Diagnosis[] => [
  version(sql),
  ...(source.kind === "file" ? [schema(sql, source)] : []),
  indexes(sql),
  integrity(sql),
  waste(sql),
  ...(source.kind === "file" && source.path !== ":memory:" ? ofFile(sql, resolve(source.path)) : []),
];

const version = (sql: Sql): Diagnosis => fine("version", `SQLite ${text(sql.get("SELECT sqlite_version()")?.[0])}`);

const OBJECTS =
  "SELECT name, type, sql FROM sqlite_schema WHERE name GLOB 'rheo_*' AND name NOT GLOB 'rheo_events_s[0-9]*_*' AND sql IS NOT NULL ORDER BY name";

/** Tables, indexes, triggers and views beside those that the migrations make. */
const schema = (sql: Sql, source: Extract<ResolvedOptions["source"], { kind: "file" }>): Diagnosis => {
  const found = new Map(sql.all(OBJECTS).map(([name, , made]) => [text(name), text(made)]));
  for (const [name, type, made] of expected(source)) {
    const there = found.get(name);
    if (there === made) continue;
    if (there === undefined)
      return failure(
        "schema",
        `the ${type} ${name} is missing`,
        type === "table" ? RESTORE : `Run in sqlite3: ${oneLine(made)};`,
      );
    return failure("schema", `the ${type} ${name} is not as Rheo made it`, RESTORE);
  }
  return fine("schema", `version ${SCHEMA_VERSION}, as Rheo made it`);
};

const RESTORE = "Undo what was changed by hand, or restore the file from a backup.";
const oneLine = (made: string): string => made.replace(/--.*$/gm, "").replace(/\s+/g, " ").trim();

/** What a new store has. */
const expected = (
  source: Extract<ResolvedOptions["source"], { kind: "file" }>,
): readonly (readonly [string, string, string])[] => {
  const empty = new Sql(connect({ ...source, path: ":memory:" }, true));
  try {
    migrate("A new store", empty, () => 0, false);
    return empty.all(OBJECTS).map(([name, type, made]) => [text(name), text(type), text(made)]);
  } finally {
    empty.forget();
    void empty.connection.close();
  }
};

const PATHS = "SELECT s.name, i.path, i.stream_id FROM rheo_indexes i JOIN rheo_streams s USING (stream_id)";

/** Those of users' own paths. */
const indexes = (sql: Sql): Diagnosis => {
  const rows = sql.all(PATHS).map(([stream, path, id]) => ({ stream: text(stream), path: text(path), id: integer(id) }));
  const there = new Set(sql.all("SELECT name FROM sqlite_schema WHERE type = 'index'").map(([name]) => name));
  const missing = rows.find(({ id, path }) => !there.has(indexName(id, path)));
  if (missing === undefined) return fine("indexes", `${rows.length} by content`);
  const { stream, path } = missing;
  return warning(
    "indexes",
    `the index of ${path} of stream ${stream} is missing`,
    `Make it again with: rheo create-index ${stream} '${path}'`,
  );
};

const sizeOf = (sql: Sql): number => integer(sql.get("PRAGMA page_count")?.[0]) * integer(sql.get("PRAGMA page_size")?.[0]);

const integrity = (sql: Sql): Diagnosis => {
  if (sizeOf(sql) > CHECKED_BYTES)
    return fine("integrity", "not looked at: the file is large. sqlite3 FILE 'PRAGMA quick_check' does, and takes its time");
  const found = text(sql.get("PRAGMA quick_check(1)")?.[0]);
  if (found === "ok") return fine("integrity", "quick_check finds nothing");
  return failure(
    "integrity",
    `quick_check: ${found}`,
    "Restore the file from a backup, or rescue what can be with sqlite3's .recover.",
  );
};

const waste = (sql: Sql): Diagnosis => {
  const free = integer(sql.get("PRAGMA freelist_count")?.[0]) * integer(sql.get("PRAGMA page_size")?.[0]);
  const share = free / Math.max(1, sizeOf(sql));
  const told = `${Math.round(share * 100)}% of the file is free inside`;
  if (free < WASTE_BYTES || share < WASTE_SHARE) return fine("space", told);
  return warning(
    "space",
    told,
    "Give it back with VACUUM while no consumer runs: it locks the file and needs as much room again.",
  );
};

const ofFile = (sql: Sql, path: string): Diagnosis[] => {
  const { type, bavail, bsize } = statfsSync(dirname(path));
  return [journal(sql), log(path), fileSystem(type), room(bavail * bsize)];
};

const journal = (sql: Sql): Diagnosis => {
  const mode = text(sql.get("PRAGMA journal_mode")?.[0]);
  if (mode === "wal") return fine("journal", "write-ahead log");
  return warning(
    "journal",
    `the journal mode is ${mode}, so readers and the writer wait for one another`,
    "Open it once with Rheo while nobody else has it open.",
  );
};

const log = (path: string): Diagnosis => {
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const told = `the log has ${mebibytes(size)}`;
  if (size < LONG_LOG_BYTES) return fine("log", told);
  return warning(
    "log",
    told,
    "A transaction has been open for long somewhere, so it cannot be moved into the file: end it (lsof FILE shows who has it open).",
  );
};

const fileSystem = (type: number): Diagnosis =>
  REMOTE.has(type >>> 0)
    ? failure(
        "file system",
        "the file is on a network file system",
        "Put it on a local disk: SQLite's shared memory and locks do not reach other hosts.",
      )
    : fine("file system", "local");

const room = (free: number): Diagnosis => {
  const told = `${mebibytes(free)} are free on the disk`;
  return free >= LITTLE_ROOM_BYTES
    ? fine("disk", told)
    : warning("disk", told, "Make room, or trim streams: when it is full, appends and settles fail.");
};

const mebibytes = (size: number): string => `${Math.round(size / 1_048_576)} MiB`;
