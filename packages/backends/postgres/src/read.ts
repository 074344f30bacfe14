/** Reading the log. */
import type { EventRecord, NamePage, ReadRequest, StreamRecord, Watermark } from "@rheo/core";
import { streamNotFound } from "@rheo/core/internal";
import { type Database, type Row, reading, type Statement } from "./database.ts";
import { toRecord } from "./fetch.ts";

const EVENT = "e.sequence, e.id, @.ms(e.timestamp), e.type, e.key, e.metadata::text, e.payload::text";
// cost: one index range scan. A stream without events there gives one row without a sequence, a missing one gives none
const slice = (order: "ASC" | "DESC"): Statement =>
  reading(`SELECT ${EVENT} FROM @.streams s LEFT JOIN LATERAL (
    SELECT * FROM (
      SELECT a.*, sum(a.bytes) OVER (ORDER BY a.sequence ${order}) AS upto, row_number() OVER (ORDER BY a.sequence ${order}) AS n
      FROM (SELECT * FROM @.events t WHERE t.stream_id = s.stream_id AND t.partition = $2::integer AND t.sequence > $3::bigint AND t.sequence <= $4::bigint
        ORDER BY t.sequence ${order} LIMIT $5::integer) a
    ) b WHERE b.upto <= $6::bigint OR b.n = 1 ORDER BY b.sequence ${order}
  ) e ON true WHERE s.name = $1 ORDER BY e.sequence ${order}`);
const ASCENDING = slice("ASC");
const DESCENDING = slice("DESC");

/** @throws stream_not_found */
export const read = async (database: Database, request: ReadRequest): Promise<EventRecord[]> => {
  const { stream, partition, after, until, order, limit, maxBytes } = request;
  const values = [stream, partition, after, until ?? Number.MAX_SAFE_INTEGER, limit, maxBytes];
  const rows = await database.run(order === "asc" ? ASCENDING : DESCENDING, values);
  if (rows.length === 0) throw streamNotFound(stream);
  return rows.filter((row) => row[0] !== null).map((row) => toRecord(row, partition));
};

// cost: one index look-up per id
const BY_IDS = reading(`SELECT ${EVENT}, e.partition FROM @.streams s
  LEFT JOIN @.events e ON e.stream_id = s.stream_id AND e.id IN (SELECT jsonb_array_elements_text($2::jsonb)) WHERE s.name = $1`);

/** @throws stream_not_found */
export const readIds = async (database: Database, stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> => {
  const rows = await database.run(BY_IDS, [stream, JSON.stringify(ids.filter((id) => !id.includes("\u0000")))]);
  if (rows.length === 0) throw streamNotFound(stream);
  const found = new Map(rows.filter((row) => row[0] !== null).map((row) => [row[1], toRecord(row, Number(row[7]))]));
  return ids.map((id) => found.get(id) ?? null);
};

const STREAM = "s.name, s.partitions, @.ms(s.created_at)";
const BY_NAME = reading(`SELECT ${STREAM} FROM @.streams s WHERE s.name = $1`);
const AFTER_NAME = reading(
  `SELECT ${STREAM} FROM @.streams s WHERE $1::text IS NULL OR s.name > $1::text ORDER BY s.name LIMIT $2::integer`,
);

const toStream = (row: Row): StreamRecord => ({ name: row[0] ?? "", partitions: Number(row[1]), createdAtMs: Number(row[2]) });

export const getStream = async (database: Database, name: string): Promise<StreamRecord | null> => {
  const [row] = await database.run(BY_NAME, [name]);
  return row === undefined ? null : toStream(row);
};

export const listStreams = async (database: Database, { after, limit }: NamePage): Promise<StreamRecord[]> =>
  (await database.run(AFTER_NAME, [after, limit])).map(toStream);

// cost: two index look-ups per partition
const WATERMARKS = reading(`SELECT p.partition, p.first_sequence, @.high_watermark(p.stream_id, p.partition)
  FROM @.streams s JOIN @.partitions p USING (stream_id) WHERE s.name = $1 ORDER BY p.partition`);

/** @throws stream_not_found */
export const watermarks = async (database: Database, stream: string): Promise<Watermark[]> => {
  const rows = await database.run(WATERMARKS, [stream]);
  if (rows.length === 0) throw streamNotFound(stream);
  return rows.map((row) => ({ partition: Number(row[0]), firstSequence: Number(row[1]), highWatermark: Number(row[2]) }));
};
