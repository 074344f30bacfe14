import { RheoError } from "./errors.ts";
import { cleanText } from "./text.ts";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Metadata: a flat JSON object. */
export type Metadata = { readonly [name: string]: null | boolean | number | string };

/** An immutable record of a stream (L2). Deep-frozen: several readers may be handed the same object. */
export interface Event<Payload = Json> {
  /** Unique within the stream; UUIDv7 unless given. */
  readonly id: string;
  readonly stream: string;
  /** From 0. */
  readonly partition: number;
  /** Position in the partition: 1, 2, 3 … without gaps (L1). */
  readonly sequence: number;
  readonly timestamp: Date;
  readonly type: string | null;
  readonly key: string | null;
  readonly metadata: Metadata;
  readonly payload: Payload;
}

/** What `append` takes. */
export interface EventInput<Payload = unknown> {
  /** Any JSON value (L7). */
  readonly payload: Payload;
  readonly type?: string | null | undefined;
  /** Events of one key share a partition and so an order (L3). */
  readonly key?: string | null | undefined;
  readonly metadata?: Metadata | undefined;
  /** At most 255 bytes. Appending an id again writes nothing and returns the stored event (L4). */
  readonly id?: string | undefined;
  /** Default: the store's time. */
  readonly timestamp?: Date | undefined;
  /** Overrides routing by key. */
  readonly partition?: number | undefined;
  /** Append only if this is the partition's high watermark at that moment (L6). */
  readonly expectedSequence?: number | undefined;
}

/**
 * An event as a store hands it out: content as text, so that it can travel to a worker thread unparsed. A store in the same
 * heap sets `event` to the one frozen value that all readers share.
 */
export interface EventRecord {
  readonly id: string;
  readonly partition: number;
  readonly sequence: number;
  readonly timestampMs: number;
  readonly type: string | null;
  readonly key: string | null;
  /** JSON text of a flat object. */
  readonly metadata: string;
  /** JSON text. */
  readonly payload: string;
  /** UTF-8 bytes of the event, where the store knows them. */
  readonly bytes?: number;
  /** Cache of `toEvent`; nobody but it and a store in the same heap writes it. */
  event?: Event;
}

/** The event of a record, parsed once and frozen. */
export const toEvent = (stream: string, record: EventRecord): Event => (record.event ??= parseRecord(stream, record));

const NO_METADATA: Metadata = Object.freeze({});

const parseRecord = (stream: string, record: EventRecord): Event =>
  Object.freeze({
    id: record.id,
    stream,
    partition: record.partition,
    sequence: record.sequence,
    timestamp: parseTime(stream, record),
    type: record.type,
    key: record.key,
    metadata: parseMetadata(stream, record),
    payload: deepFreeze(parseText(stream, record, "payload")),
  });

const parseTime = (stream: string, record: EventRecord): Date => {
  const timestamp = new Date(record.timestampMs);
  if (Number.isNaN(timestamp.getTime())) throw damagedEvent(stream, record, "timestampMs");
  return timestamp;
};

const parseMetadata = (stream: string, record: EventRecord): Metadata => {
  if (record.metadata === "{}") return NO_METADATA;
  const value = parseText(stream, record, "metadata");
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw damagedEvent(stream, record, "metadata");
  return deepFreeze(value as Metadata); // flat, as append checked
};

const parseText = (stream: string, record: EventRecord, part: "payload" | "metadata"): Json => {
  try {
    return JSON.parse(record[part]) as Json; // JSON.parse gives JSON
  } catch (cause) {
    throw damagedEvent(stream, record, part, cause);
  }
};

/** How much of a text that is no JSON is shown, in characters. */
const SHOWN = 500;

const damagedEvent = (
  stream: string,
  record: EventRecord,
  part: "payload" | "metadata" | "timestampMs",
  cause?: unknown,
): RheoError => {
  const { id, partition, sequence } = record;
  return new RheoError(
    "invalid_payload",
    `The stored ${part} of ${stream}/${partition}@${sequence} (event ${JSON.stringify(id)}) is not what append writes: the store was written to by something else, or is damaged. ` +
      `Mend it there, or read on after it. It holds: ${cleanText(String(record[part]), SHOWN)}`,
    { stream, id, partition, sequence, path: part },
    { cause },
  );
};

/** Freezes a tree of plain JSON in place. */
export const deepFreeze = <Value>(value: Value): Value => {
  if (typeof value !== "object" || value === null) return value;
  // scalars, which are most of it, cost no call; an array is walked by place, as names of its places would have to be made
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      if (typeof item === "object" && item !== null) deepFreeze(item);
    }
  } else {
    for (const name in value) {
      const item = value[name];
      if (typeof item === "object" && item !== null) deepFreeze(item);
    }
  }
  return Object.freeze(value);
};
