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
  /** Cache of {@link toEvent}; nobody but it and a store in the same heap writes it. */
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
    timestamp: new Date(record.timestampMs),
    type: record.type,
    key: record.key,
    metadata: parseMetadata(record.metadata),
    payload: deepFreeze(JSON.parse(record.payload) as Json), // JSON.parse gives JSON
  });

const parseMetadata = (text: string): Metadata => (text === "{}" ? NO_METADATA : deepFreeze(JSON.parse(text) as Metadata)); // written by append only

/** Freezes a tree of plain JSON in place. */
export const deepFreeze = <Value>(value: Value): Value => {
  if (typeof value !== "object" || value === null) return value;
  Object.freeze(value);
  // scalars, which are most of it, cost no call
  for (const name in value) {
    const item = value[name];
    if (typeof item === "object" && item !== null) deepFreeze(item);
  }
  return value;
};
