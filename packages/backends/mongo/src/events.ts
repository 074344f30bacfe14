/** Reading and writing documents of events. */
import type { EventRecord } from "@rheo/core";
import type { EventHeader, PlannedEvent } from "@rheo/core/internal";
import type { Document } from "mongodb";
import { copyOf } from "./copy.ts";
import type { EventDocument } from "./documents.ts";
import { eventId } from "./ids.ts";
import type { Unit } from "./store.ts";

/** The copies for queries stay where they are: the texts are the truth. */
const WITHOUT_COPIES = { payload: 0, metadata: 0 } as const;
const HEADER = { _id: 0, sequence: 1, id: 1, key: 1, timestampMs: 1 } as const;
/** Documents that the server sends at a time, at most. */
const BATCH = 1_000;

const toRecord = (found: EventDocument): EventRecord => ({
  id: found.id,
  partition: found.partition,
  sequence: found.sequence,
  timestampMs: found.timestampMs,
  type: found.type,
  key: found.key,
  metadata: found.metadataText,
  payload: found.payloadText,
  bytes: found.bytes,
});

export const toDocument = ({ streamId, record, bytes, latestMs }: PlannedEvent): EventDocument => ({
  _id: eventId(streamId, record.id),
  stream: streamId,
  partition: record.partition,
  sequence: record.sequence,
  id: record.id,
  timestampMs: record.timestampMs,
  latestMs,
  bytes,
  type: record.type,
  key: record.key,
  metadataText: record.metadata,
  payloadText: record.payload,
  ...copyOf(record),
});

/** A slice of one partition. */
export interface Slice {
  readonly stream: number;
  readonly partition: number;
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly maxBytes: number;
}

/** Cost: one range of the index `in_order`. What exceeds `maxBytes` comes last, so that the caller sees where the cut is. */
export const readSlice = async ({ collections, within }: Unit, slice: Slice): Promise<EventRecord[]> => {
  const { stream, partition, after, until, order, limit, maxBytes } = slice;
  if (after >= until) return [];
  const cursor = collections.events.find(
    { stream, partition, sequence: { $gt: after, $lte: until } },
    {
      ...within,
      projection: WITHOUT_COPIES,
      sort: { sequence: order === "asc" ? 1 : -1 },
      limit,
      batchSize: Math.min(limit, BATCH),
    },
  );
  return takeWithin(cursor, maxBytes);
};

/** The events of these rising sequences that are retained, as {@link readSlice}. */
export const readSequences = async (
  unit: Unit,
  stream: number,
  partition: number,
  sequences: readonly number[],
  maxBytes: number,
): Promise<EventRecord[]> => {
  const first = sequences[0];
  const last = sequences[sequences.length - 1];
  if (first === undefined || last === undefined) return [];
  if (last - first + 1 === sequences.length)
    return readSlice(unit, { stream, partition, after: first - 1, until: last, order: "asc", limit: sequences.length, maxBytes });
  const cursor = unit.collections.events.find(
    { stream, partition, sequence: { $in: [...sequences] } },
    { ...unit.within, projection: WITHOUT_COPIES, sort: { sequence: 1 }, batchSize: BATCH },
  );
  return takeWithin(cursor, maxBytes);
};

/** What events of a slice must also be. */
export interface Wanted {
  /** Inclusive. */
  readonly fromMs: number | null;
  /** Exclusive. */
  readonly toMs: number | null;
  /** Null: anything. */
  readonly query: Document | null;
}

/** Those of a slice that match. Cost: the slice, looked through where it is. */
export const readMatching = async (
  { collections, within }: Unit,
  { stream, partition, after, until, order, limit, maxBytes }: Slice,
  { fromMs, toMs, query }: Wanted,
): Promise<EventRecord[]> => {
  const conditions = [
    { stream, partition, sequence: { $gt: after, $lte: until } },
    ...(fromMs === null ? [] : [{ timestampMs: { $gte: fromMs } }]),
    ...(toMs === null ? [] : [{ timestampMs: { $lt: toMs } }]),
    ...(query === null ? [] : [query]),
  ];
  const sort = { sequence: order === "asc" ? 1 : -1 } as const;
  const cursor = collections.events.find(
    { $and: conditions },
    { ...within, projection: WITHOUT_COPIES, sort, limit, batchSize: Math.min(limit, BATCH) },
  );
  return takeWithin(cursor, maxBytes);
};

const takeWithin = async (
  cursor: AsyncIterable<EventDocument> & { close(): Promise<void> },
  maxBytes: number,
): Promise<EventRecord[]> => {
  const records: EventRecord[] = [];
  let bytes = 0;
  for await (const found of cursor) {
    records.push(toRecord(found));
    bytes += found.bytes;
    if (bytes > maxBytes) break;
  }
  await cursor.close();
  return records;
};

/** The longest prefix within `maxBytes`, at least one. */
export const cutToBytes = (records: readonly EventRecord[], maxBytes: number): EventRecord[] => {
  let bytes = 0;
  const cut = records.findIndex((record, index) => {
    bytes += record.bytes ?? 0;
    return bytes > maxBytes && index > 0;
  });
  return cut === -1 ? [...records] : records.slice(0, cut);
};

/** What identifies and orders the events of these rising sequences that are retained. */
export const readHeaders = async (
  { collections, within }: Unit,
  stream: number,
  partition: number,
  sequences: readonly number[],
): Promise<EventHeader[]> =>
  collections.events
    .find({ stream, partition, sequence: { $in: [...sequences] } }, { ...within, projection: HEADER, sort: { sequence: 1 } })
    .map(({ sequence, id, key, timestampMs }) => ({ sequence, id, key, timestampMs }))
    .toArray();

/** The events of the stream that have one of these ids, by id. */
export const readIds = async (
  { collections, within }: Unit,
  stream: number,
  ids: readonly string[],
): Promise<ReadonlyMap<string, EventRecord>> => {
  const wanted = { _id: { $in: ids.map((id) => eventId(stream, id)) } };
  const found = await collections.events.find(wanted, { ...within, projection: WITHOUT_COPIES }).toArray();
  return new Map(found.map((document) => [document.id, toRecord(document)]));
};

/**
 * The first retained sequence with a timestamp at or after `timeMs`; `highWatermark` + 1 if there is none. By bisection on the
 * greatest timestamp so far, which rises although timestamps need not. It finds the event itself, except where only events that
 * were trimmed since were late enough; the walk from there is then to the next one that is.
 */
export const sequenceAtTime = async (
  { collections, within }: Unit,
  stream: number,
  { partition, firstSequence, highWatermark }: { partition: number; firstSequence: number; highWatermark: number },
  timeMs: number,
): Promise<number> => {
  const { events } = collections;
  let low = firstSequence;
  let high = highWatermark + 1;
  while (low < high) {
    const sequence = low + Math.floor((high - low) / 2);
    const found = await events.findOne({ stream, partition, sequence }, { ...within, projection: { latestMs: 1 } });
    if ((found?.latestMs ?? 0) >= timeMs) high = sequence;
    else low = sequence + 1;
  }
  if (low > highWatermark) return low;
  const late = { stream, partition, sequence: { $gte: low, $lte: highWatermark }, timestampMs: { $gte: timeMs } };
  const found = await events.findOne(late, { ...within, projection: { sequence: 1 }, sort: { sequence: 1 } });
  return found?.sequence ?? highWatermark + 1;
};
