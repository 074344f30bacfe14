/** Queries that filter where the events are, and the indexes that make them fast. */
import { createHash } from "node:crypto";
import { type EventRecord, RheoError, type SearchAnswer, type SearchRequest } from "@rheo/core";
import { text } from "./columns.ts";
import { filterSql, indexExpression } from "./filter-sql.ts";
import type { Sql } from "./sql.ts";
import { readMatching, sequenceAtTime, type Wanted } from "./tables/events.ts";
import { partitionAt, requireStream } from "./tables/streams.ts";
import type { Unit } from "./transaction.ts";

/**
 * At most `examine` sequences are looked at, so that one call stays short however rare the matches are.
 * @throws stream_not_found
 */
export const search = ({ sql }: Unit, request: SearchRequest): SearchAnswer => {
  const { streamId } = requireStream(sql, request.stream);
  const { partition, order, limit, maxBytes, fromMs, examine } = request;
  const row = partitionAt(sql, streamId, partition);
  const first = fromMs === null ? row.firstSequence : sequenceAtTime(sql, streamId, partition, row, fromMs);
  const lowest = Math.max(row.firstSequence - 1, first - 1, request.after);
  const highest = Math.min(row.highWatermark, request.until ?? row.highWatermark);
  const after = order === "asc" ? lowest : Math.max(lowest, highest - examine);
  const until = order === "asc" ? Math.min(highest, lowest + examine) : highest;
  if (after >= until) return { events: [], passed: null, ended: true };
  const condition = filterSql(request.filter);
  const found = matching(sql, { streamId, partition, after, until, order, limit, fromMs, toMs: request.toMs, condition });
  let bytes = 0;
  const cut = found.findIndex((event, index) => {
    bytes += event.bytes ?? 0;
    return index > 0 && bytes > maxBytes;
  });
  const events = cut === -1 ? found : found.slice(0, cut);
  if (cut !== -1 || found.length === limit) return { events, passed: events[events.length - 1]?.sequence ?? null, ended: false };
  const passed = order === "asc" ? until : after + 1;
  return { events, passed, ended: order === "asc" ? until === highest : after === lowest };
};

/** Where SQLite comes upon what is no JSON, all is let through: core looks again, and tells which event it is. */
const matching = (sql: Sql, wanted: Wanted): EventRecord[] => {
  try {
    return readMatching(sql, wanted);
  } catch (cause) {
    if (!(cause instanceof Error && /malformed JSON/.test(cause.message))) throw cause;
    return readMatching(sql, { ...wanted, condition: { text: "TRUE", values: [] } });
  }
};

/** Of the index by a path. */
export const indexName = (streamId: number, path: string): string =>
  `rheo_events_s${streamId}_${createHash("sha256").update(path).digest("hex").slice(0, 16)}`;

/**
 * One index per stream and path: partial, so that other streams do not pay for it; then by partition and sequence, so that a page comes in
 * order.
 * @throws stream_not_found
 * @throws invalid_query - a path that no index of SQLite can serve
 */
export const createIndex = ({ sql }: Unit, stream: string, path: string): void => {
  const { streamId } = requireStream(sql, stream);
  const expression = indexExpression(path);
  if (expression === null)
    throw new RheoError(
      "invalid_query",
      `An index of SQLite cannot serve the path ${JSON.stringify(path)}: a part of it is empty, begins with a digit or has a quote or backslash.`,
      { path },
    );
  const name = indexName(streamId, path);
  sql.exec(
    `CREATE INDEX IF NOT EXISTS ${name} ON rheo_events (${expression}, partition, sequence) WHERE stream_id = ${streamId}`,
  );
  sql.run("INSERT OR IGNORE INTO rheo_indexes (stream_id, path) VALUES (?, ?)", streamId, path);
};

/** @throws stream_not_found */
export const dropIndex = ({ sql }: Unit, stream: string, path: string): boolean =>
  drop(sql, requireStream(sql, stream).streamId, path);

const drop = (sql: Sql, streamId: number, path: string): boolean => {
  sql.exec(`DROP INDEX IF EXISTS ${indexName(streamId, path)}`);
  return sql.run("DELETE FROM rheo_indexes WHERE stream_id = ? AND path = ?", streamId, path) > 0;
};

/** Of a stream that is deleted. */
export const dropIndexes = (sql: Sql, streamId: number): void => {
  for (const path of pathsOf(sql, streamId)) drop(sql, streamId, path);
};

/** @throws stream_not_found */
export const listIndexes = ({ sql }: Unit, stream: string): string[] => pathsOf(sql, requireStream(sql, stream).streamId);

const pathsOf = (sql: Sql, streamId: number): string[] =>
  sql.all("SELECT path FROM rheo_indexes WHERE stream_id = ? ORDER BY path", streamId).map((row) => text(row[0]));
