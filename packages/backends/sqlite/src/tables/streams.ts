/** Rows of rheo_streams and rheo_partitions. */
import { RheoError, type StreamRecord, type Watermark } from "@rheo/core";
import { type PartitionState, type StoredStream, streamNotFound } from "@rheo/core/internal";
import { integer, integerOrNull, partitionCount, rowOf, text } from "../columns.ts";
import type { Row } from "../driver/driver.ts";
import type { Sql } from "../sql.ts";

const COLUMNS = "stream_id, name, partitions, created_at_ms";

const toStream = (row: Row): StoredStream => ({
  streamId: integer(row[0]),
  record: { name: text(row[1]), partitions: partitionCount(row[2]), createdAtMs: integer(row[3]) },
});

const BY_NAME = `SELECT ${COLUMNS} FROM rheo_streams WHERE name = ?`;
const PAGE = `SELECT ${COLUMNS} FROM rheo_streams WHERE name > ? ORDER BY name LIMIT ?`;

export const findStream = (sql: Sql, name: string): StoredStream | null => {
  const row = sql.get(BY_NAME, name);
  return row === undefined ? null : toStream(row);
};

/** @throws stream_not_found */
export const requireStream = (sql: Sql, name: string): StoredStream => {
  const found = findStream(sql, name);
  if (found === null) throw streamNotFound(name);
  return found;
};

/** Text compares by UTF-8 bytes, which is code point order; no name is empty. */
export const streamsAfter = (sql: Sql, after: string | null, limit: number): StreamRecord[] =>
  sql.all(PAGE, after ?? "", limit).map((row) => toStream(row).record);

const PARTITION_COLUMNS = "partition, first_sequence, high_watermark, latest_ms, largest_bytes";

const toPartition = rowOf(
  "rheo_partitions",
  (row: Row): PartitionState => ({
    partition: integer(row[0]),
    firstSequence: integer(row[1]),
    highWatermark: integer(row[2]),
    latestMs: integerOrNull(row[3]),
    largestBytes: integer(row[4]),
  }),
);

const PARTITION = `SELECT ${PARTITION_COLUMNS} FROM rheo_partitions WHERE stream_id = ? AND partition = ?`;
const PARTITIONS = `SELECT ${PARTITION_COLUMNS} FROM rheo_partitions WHERE stream_id = ? ORDER BY partition`;

/** @throws unavailable - each has a row from the start, so one that has none has lost it: it must not look as if it were empty */
export const partitionAt = (sql: Sql, streamId: number, partition: number): PartitionState => {
  const row = sql.get(PARTITION, streamId, partition);
  if (row !== undefined) return toPartition(row);
  throw new RheoError(
    "unavailable",
    `Partition ${partition} has no row in rheo_partitions, which each has from the start: the store was written to by something else, or is damaged. Put the row back (stream_id ${streamId}), with the highest sequence of its events.`,
    { partition },
  );
};

export const watermarksOf = (sql: Sql, streamId: number): Watermark[] =>
  sql.all(PARTITIONS, streamId).map((row) => {
    const { partition, firstSequence, highWatermark } = toPartition(row);
    return { partition, firstSequence, highWatermark };
  });
