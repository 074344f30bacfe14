/** Reading rows of rheo_events. */
import { type EventRecord, RheoError } from "@rheo/core";
import type { progress } from "@rheo/core/internal";
import { integer, text, textOrNull } from "../columns.ts";
import type { Row, Value } from "../driver/driver.ts";
import type { Sql } from "../sql.ts";

/** Each value that crosses from the driver costs, so the partition, which is mostly known, is not among them. */
const EVENT_COLUMNS = "id, sequence, time_ms, type, key, metadata, payload, bytes";

const toRecord = (row: Row, partition: number): EventRecord => {
  try {
    return {
      id: text(row[0]),
      partition,
      sequence: integer(row[1]),
      timestampMs: integer(row[2]),
      type: textOrNull(row[3]),
      key: textOrNull(row[4]),
      metadata: text(row[5]),
      payload: text(row[6]),
      bytes: integer(row[7]),
    };
  } catch (cause) {
    if (!RheoError.is(cause)) throw cause;
    return damagedRecord(row, partition);
  }
};

/** A row that no append wrote: its payload is no JSON and shows the row, so that its delivery fails, and that of no other event. */
const damagedRecord = (row: Row, partition: number): EventRecord => ({
  id: typeof row[0] === "string" ? row[0] : "",
  partition,
  sequence: integer(row[1]),
  timestampMs: Number.isSafeInteger(row[2]) ? Number(row[2]) : 0,
  type: null,
  key: typeof row[4] === "string" ? row[4] : null,
  metadata: "{}",
  payload: `damaged row of rheo_events (${EVENT_COLUMNS}): ${row.map((cell) => (cell instanceof Uint8Array ? `x'${Buffer.from(cell).toString("hex")}'` : String(cell))).join(", ")}`,
});

const toRecords = (rows: readonly Row[], partition: number): EventRecord[] => rows.map((row) => toRecord(row, partition));

/** A slice of one partition. */
export interface Slice {
  readonly streamId: number;
  readonly partition: number;
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly maxBytes: number;
  /** No event of the partition is larger. */
  readonly largestBytes: number;
}

// cost of each: one seek in the primary key, then the rows returned
const ASCENDING = `SELECT ${EVENT_COLUMNS} FROM rheo_events WHERE stream_id = ? AND partition = ? AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`;
const DESCENDING = `SELECT ${EVENT_COLUMNS} FROM rheo_events WHERE stream_id = ? AND partition = ? AND sequence > ? AND sequence <= ? ORDER BY sequence DESC LIMIT ?`;
/** Payloads beside the rest, so that their quotes need not be escaped: JSON text, as appends write it, holds no such character. */
const SEPARATOR = "\u001e";
const packed = (query: string): string =>
  `SELECT json_group_array(json_array(id, sequence, time_ms, type, key, metadata, NULL, bytes)), group_concat(payload, char(${SEPARATOR.charCodeAt(0)})), total(typeof(payload) <> 'text') FROM (${query})`;
const PACKED_ASCENDING = packed(ASCENDING);
const PACKED_DESCENDING = packed(DESCENDING);
// sizes alone: the overflow pages of the payloads are not touched
const SIZES_ASCENDING =
  "SELECT bytes FROM rheo_events WHERE stream_id = ? AND partition = ? AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?";
const SIZES_DESCENDING =
  "SELECT bytes FROM rheo_events WHERE stream_id = ? AND partition = ? AND sequence > ? AND sequence <= ? ORDER BY sequence DESC LIMIT ?";

/** Rows whose sizes are read at a time while looking for the cut. */
const SIZES_PAGE = 256;

/** A slice is packed into one text only if it is no longer than this, in bytes. */
const PACKED_BYTES = 8_388_608;

/** Cut before it exceeds `maxBytes`, but at least one. The cut is looked for only where it could matter. */
export const readSlice = (sql: Sql, slice: Slice): EventRecord[] => {
  const limit = slice.limit * slice.largestBytes <= slice.maxBytes ? slice.limit : countWithin(sql, slice);
  const isPacked = sql.connection.prefersPacked && limit > 1 && limit * slice.largestBytes <= PACKED_BYTES;
  return toRecords((isPacked ? readPacked(sql, slice, limit) : null) ?? readRows(sql, slice, limit), slice.partition);
};

const readRows = (sql: Sql, slice: Slice, limit: number): readonly Row[] =>
  sql.all(slice.order === "asc" ? ASCENDING : DESCENDING, slice.streamId, slice.partition, slice.after, slice.until, limit);

/** Null when there is something that cannot be packed: what no append wrote. */
const readPacked = (sql: Sql, slice: Slice, limit: number): readonly Row[] | null => {
  const query = slice.order === "asc" ? PACKED_ASCENDING : PACKED_DESCENDING;
  const found = unlessBlob(() => sql.get(query, slice.streamId, slice.partition, slice.after, slice.until, limit));
  if (found === undefined || found[2] !== 0) return null;
  const rows = JSON.parse(text(found[0])) as Value[][]; // an array of arrays, by the query
  if (rows.length === 0) return rows;
  const payloads = text(found[1]).split(SEPARATOR);
  if (payloads.length !== rows.length) return null;
  for (const [index, row] of rows.entries()) row[PAYLOAD] = payloads[index] ?? null;
  // SQLite aggregates in the order of the subquery, but does not promise to; sorting what is sorted is a single pass
  const sign = slice.order === "asc" ? 1 : -1;
  return rows.sort((a, b) => sign * (integer(a[1]) - integer(b[1])));
};

/** Its place among the columns. */
const PAYLOAD = 6;

/** Undefined when there is a blob, where damage has put one. */
const unlessBlob = (get: () => Row | undefined): Row | undefined => {
  try {
    return get();
  } catch (cause) {
    if (cause instanceof Error && cause.message.includes("JSON cannot hold BLOB values")) return undefined;
    throw cause;
  }
};

const countWithin = (sql: Sql, slice: Slice): number => {
  const query = slice.order === "asc" ? SIZES_ASCENDING : SIZES_DESCENDING;
  let { after, until } = slice;
  let bytes = 0;
  for (let count = 0; count < slice.limit; ) {
    const wanted = Math.min(SIZES_PAGE, slice.limit - count);
    const sizes = sql.all(query, slice.streamId, slice.partition, after, until, wanted);
    for (const [size] of sizes) {
      bytes += sizeOf(size);
      if (bytes > slice.maxBytes) return Math.max(1, count);
      count += 1;
    }
    if (sizes.length < wanted) return slice.limit;
    // sequences have no gaps among the retained
    if (slice.order === "asc") after = Math.max(after, firstRetained(sql, slice) - 1) + sizes.length;
    else until = Math.min(until, highWatermark(sql, slice)) - sizes.length;
  }
  return slice.limit;
};

/** What is damaged is told when the event is read. */
const sizeOf = (size: unknown): number => (typeof size === "number" ? size : 0);

const firstRetained = (sql: Sql, { streamId, partition }: Slice): number =>
  integer(sql.get("SELECT first_sequence FROM rheo_partitions WHERE stream_id = ? AND partition = ?", streamId, partition)?.[0]);

const highWatermark = (sql: Sql, { streamId, partition }: Slice): number =>
  integer(sql.get("SELECT high_watermark FROM rheo_partitions WHERE stream_id = ? AND partition = ?", streamId, partition)?.[0]);

/** Where to look for matches, and what they match. */
export interface Wanted extends Pick<Slice, "streamId" | "partition" | "after" | "until" | "order" | "limit"> {
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** Over the columns of rheo_events. */
  readonly condition: { readonly text: string; readonly values: readonly Value[] };
}

/** Cost: one range of the primary key, or of an index of the stream by content. The stream is written out, so that its indexes apply. */
export const readMatching = (sql: Sql, wanted: Wanted): EventRecord[] => {
  const { streamId, partition, after, until, order, limit, fromMs, toMs, condition } = wanted;
  const rows = sql.allOnce(
    `SELECT ${EVENT_COLUMNS} FROM rheo_events WHERE stream_id = ${integer(streamId)} AND partition = ? AND sequence > ? AND sequence <= ?
      AND (?4 IS NULL OR time_ms >= ?4) AND (?5 IS NULL OR time_ms < ?5) AND ${condition.text} ORDER BY sequence ${order === "asc" ? "ASC" : "DESC"} LIMIT ?`,
    [partition, after, until, fromMs, toMs, ...condition.values, limit],
  );
  return toRecords(rows, partition);
};

const BY_SEQUENCES = `SELECT ${EVENT_COLUMNS} FROM rheo_events WHERE stream_id = ?1 AND partition = ?2 AND sequence IN (SELECT value FROM json_each(?3)) ORDER BY sequence`;

/** The events of these rising sequences that are retained, cut before they exceed `maxBytes` but at least one. */
export const readSequences = (
  sql: Sql,
  streamId: number,
  partition: number,
  sequences: readonly number[],
  bounds: { readonly maxBytes: number; readonly largestBytes: number },
): EventRecord[] => {
  const fits = sequences.length * bounds.largestBytes <= bounds.maxBytes || sequences.length < 2;
  const wanted = fits ? sequences : sequencesWithin(sql, streamId, partition, sequences, bounds.maxBytes);
  const first = wanted[0];
  const last = wanted[wanted.length - 1];
  if (first === undefined || last === undefined) return [];
  if (last - first + 1 === wanted.length) {
    return toRecords(sql.all(ASCENDING, streamId, partition, first - 1, last, wanted.length), partition);
  }
  return toRecords(sql.all(BY_SEQUENCES, streamId, partition, JSON.stringify(wanted)), partition);
};

// cost of both: a seek for each; the overflow pages of the payloads are not touched
const SIZES_BY_SEQUENCES =
  "SELECT sequence, bytes FROM rheo_events WHERE stream_id = ?1 AND partition = ?2 AND sequence IN (SELECT value FROM json_each(?3)) ORDER BY sequence";
const HEADERS_BY_SEQUENCES =
  "SELECT sequence, id, key, time_ms FROM rheo_events WHERE stream_id = ?1 AND partition = ?2 AND sequence IN (SELECT value FROM json_each(?3)) ORDER BY sequence";

const sequencesWithin = (
  sql: Sql,
  streamId: number,
  partition: number,
  sequences: readonly number[],
  maxBytes: number,
): number[] => {
  const within: number[] = [];
  let bytes = 0;
  for (const [sequence, size] of sql.all(SIZES_BY_SEQUENCES, streamId, partition, JSON.stringify(sequences))) {
    bytes += sizeOf(size);
    if (bytes > maxBytes && within.length > 0) break;
    within.push(integer(sequence));
  }
  return within;
};

/** What identifies and orders the events of these rising sequences that are retained. */
export const readHeaders = (
  sql: Sql,
  streamId: number,
  partition: number,
  sequences: readonly number[],
): progress.EventHeader[] =>
  sql.all(HEADERS_BY_SEQUENCES, streamId, partition, JSON.stringify(sequences)).map((row) => ({
    sequence: integer(row[0]),
    id: typeof row[1] === "string" ? row[1] : "",
    key: typeof row[2] === "string" ? row[2] : null,
    timestampMs: Number.isSafeInteger(row[3]) ? Number(row[3]) : 0,
  }));

const BY_IDS = `SELECT ${EVENT_COLUMNS}, partition FROM rheo_events WHERE stream_id = ?1 AND id IN (SELECT value FROM json_each(?2))`;

/** The events of the stream that have one of these ids, by id. One seek for each. */
export const readIds = (sql: Sql, streamId: number, ids: readonly string[]): Map<string, EventRecord> =>
  new Map(
    sql.all(BY_IDS, streamId, JSON.stringify(ids)).map((row) => {
      const record = toRecord(row, integer(row[8]));
      return [record.id, record];
    }),
  );

const LATEST_AT = "SELECT latest_ms FROM rheo_events WHERE stream_id = ? AND partition = ? AND sequence = ?";
const FIRST_FROM =
  "SELECT sequence FROM rheo_events WHERE stream_id = ? AND partition = ? AND sequence >= ? AND time_ms >= ? ORDER BY sequence LIMIT 1";

/**
 * The first retained sequence with a timestamp at or after `timeMs`; `highWatermark` + 1 if there is none. By bisection on the
 * greatest timestamp so far, which rises although timestamps need not. It finds the event itself, except where only events that
 * were trimmed since were late enough; the walk from there is then to the next one that is.
 */
export const sequenceAtTime = (
  sql: Sql,
  streamId: number,
  partition: number,
  bounds: { firstSequence: number; highWatermark: number },
  timeMs: number,
): number => {
  let low = bounds.firstSequence;
  let high = bounds.highWatermark + 1;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (integer(sql.get(LATEST_AT, streamId, partition, middle)?.[0]) >= timeMs) high = middle;
    else low = middle + 1;
  }
  if (low > bounds.highWatermark) return low;
  const found = sql.get(FIRST_FROM, streamId, partition, low, timeMs);
  return found === undefined ? bounds.highWatermark + 1 : integer(found[0]);
};
