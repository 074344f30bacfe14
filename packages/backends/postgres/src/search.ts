/** Queries that filter where the events are, and the indexes that make them fast. */
import { createHash } from "node:crypto";
import { RheoError, type SearchAnswer, type SearchRequest } from "@rheo/core";
import { pathOf, programText, streamNotFound } from "@rheo/core/internal";
import { type Database, reading, type Statement } from "./database.ts";
import { toRecord } from "./fetch.ts";

const SEARCH: Statement = {
  text: "SELECT * FROM @.search($1, $2::integer, $3::bigint, $4::bigint, $5::boolean, $6::integer, $7::bigint, $8::text::jsonb, $9::bigint, $10::bigint, $11::bigint)",
  writes: false,
};

/** The last row's payload: see `search.sql.ts`. */
interface Footer {
  readonly missing?: string;
  readonly passed: number | null;
  readonly ended: boolean;
}

/** @throws stream_not_found */
export const search = async (database: Database, request: SearchRequest): Promise<SearchAnswer> => {
  const { stream, partition, after, until, order, limit, maxBytes, filter, fromMs, toMs, examine } = request;
  const rows = await database.run(SEARCH, [
    stream,
    partition,
    after,
    until ?? Number.MAX_SAFE_INTEGER,
    order === "desc",
    limit,
    maxBytes,
    programText(filter),
    fromMs,
    toMs,
    examine,
  ]);
  const footer = JSON.parse(rows[rows.length - 1]?.[6] ?? "{}") as Footer; // our own function wrote it
  if (footer.missing !== undefined) throw streamNotFound(stream);
  return { events: rows.slice(0, -1).map((row) => toRecord(row, partition)), passed: footer.passed, ended: footer.ended };
};

const STREAM_ID = reading("SELECT s.stream_id FROM @.streams s WHERE s.name = $1");
const EXPRESSION = reading("SELECT @.index_expression($1, $2::text::jsonb)");
const IS_VALID = reading(
  "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = '@.events'::regclass AND c.relname = $1",
);
const PATHS = reading(`SELECT d.path FROM (
    SELECT obj_description(i.indexrelid, 'pg_class') AS path, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = '@.events'::regclass AND i.indisvalid
  ) d WHERE d.relname LIKE $1 AND d.path IS NOT NULL ORDER BY d.path COLLATE "C"`);
const NAME_PATH: Statement = { text: "SELECT @.name_path($1, $2)", writes: true };

/** @throws stream_not_found */
const streamId = async (database: Database, stream: string): Promise<number> => {
  const [row] = await database.run(STREAM_ID, [stream]);
  if (row === undefined) throw streamNotFound(stream);
  return Number(row[0]);
};

const nameOf = (id: number, path: string): string =>
  `events_s${id}_${createHash("sha256").update(path).digest("hex").slice(0, 16)}`;

/** Null: there is none. */
const isValid = async (database: Database, name: string): Promise<boolean | null> => {
  const [row] = await database.run(IS_VALID, [name]);
  return row === undefined ? null : row[0] === "t";
};

/**
 * One index per stream and path: partial, so that other streams do not pay for it; then by partition and sequence, so that a page comes in
 * order. It is built without holding up appends, and one that was left half built is made anew.
 * @throws stream_not_found
 * @throws invalid_query - a path that no index of PostgreSQL can serve
 */
export const createIndex = async (database: Database, stream: string, path: string): Promise<void> => {
  const id = await streamId(database, stream);
  const name = nameOf(id, path);
  const valid = await isValid(database, name);
  if (valid === true) return;
  if (valid === false) await database.runLong(`DROP INDEX CONCURRENTLY IF EXISTS @."${name}"`);
  const { root, segments } = pathOf(path);
  const [row] = segments.some((segment) => segment.includes("\u0000"))
    ? []
    : await database.run(EXPRESSION, [root, JSON.stringify(segments)]);
  const expression = row?.[0] ?? null; // our own function wrote it, as literals
  if (expression === null)
    throw new RheoError(
      "invalid_query",
      `An index of PostgreSQL cannot serve the path ${JSON.stringify(path)}: a part of it looks like a number, or has U+0000.`,
      { path },
    );
  await database.runLong(
    `CREATE INDEX CONCURRENTLY "${name}" ON @.events (${expression}, partition, sequence) WHERE stream_id = ${id}`,
  );
  await database.run(NAME_PATH, [name, path]);
};

/** @throws stream_not_found */
export const dropIndex = async (database: Database, stream: string, path: string): Promise<boolean> => {
  const name = nameOf(await streamId(database, stream), path);
  if ((await isValid(database, name)) === null) return false;
  await database.runLong(`DROP INDEX CONCURRENTLY IF EXISTS @."${name}"`);
  return true;
};

/** @throws stream_not_found */
export const listIndexes = async (database: Database, stream: string): Promise<string[]> =>
  (await database.run(PATHS, [`events\\_s${await streamId(database, stream)}\\_%`])).map((row) => row[0] ?? "");
