/**
 * Blocks of events. The key is the last sequence of a block, so that the one with a given sequence is the first at or after it. A value
 * too large for one entry goes on in further ones.
 */
import type { EventRecord } from "@rheo/core";
import { Block, blocksOf, encodeBlock, type StoredEvent } from "../block.ts";
import { CONTENT_AT, endOf, ID_SIZE, Key, NUMBER_SIZE, newValue, numberAt, TABLE } from "../bytes.ts";
import type { Environment } from "../environment.ts";
import { lost } from "../errors.ts";

/** Content of one entry, in bytes: above 16 MiB lmdb-js hands out the map itself instead of a copy. */
const PART_BYTES = 4_194_304;
const PART_AT = 1 + 2 * ID_SIZE + NUMBER_SIZE;
const SEQUENCE_AT = 1 + 2 * ID_SIZE;

/** Where events are: a partition of a stream. */
export interface Log {
  readonly streamId: number;
  readonly partition: number;
  readonly firstSequence: number;
  readonly highWatermark: number;
}

type Place = Pick<Log, "streamId" | "partition">;

const keyOf = ({ streamId, partition }: Place, last: number, part: number): Buffer =>
  new Key(TABLE.events, 2 * ID_SIZE + NUMBER_SIZE + 1).id(streamId).id(partition).number(last).byte(part).bytes;

const prefixOf = ({ streamId, partition }: Place): Buffer => new Key(TABLE.events, 2 * ID_SIZE).id(streamId).id(partition).bytes;

/** Writes events of one partition, in order and all new. The last block of them. */
export const putEvents = (environment: Environment, place: Place, events: readonly StoredEvent[]): readonly StoredEvent[] => {
  let written: readonly StoredEvent[] = [];
  for (const block of blocksOf(events)) {
    const last = block[block.length - 1]?.record.sequence ?? 0;
    const value = encodeBlock(block);
    if (value.length <= PART_BYTES) environment.put(keyOf(place, last, 0), value);
    else putParts(environment, place, last, value);
    written = block;
  }
  return written;
};

const putParts = (environment: Environment, place: Place, last: number, value: Buffer): void => {
  for (let start = CONTENT_AT, part = 0; start < value.length; start += PART_BYTES, part++) {
    const content = value.subarray(start, start + PART_BYTES);
    const entry = newValue(content.length);
    content.copy(entry, CONTENT_AT);
    environment.put(keyOf(place, last, part), entry);
  }
};

/** Removes the block that ends with `last`. */
export const removeBlock = (environment: Environment, place: Place, last: number): void => {
  const keys = [...environment.keys({ start: keyOf(place, last, 0), end: keyOf(place, last + 1, 0) })];
  for (const key of keys) environment.remove(key);
};

/** What all events of a stream begin with. */
export const eventsKey = (streamId: number): Buffer => new Key(TABLE.events, ID_SIZE).id(streamId).bytes;

/** The blocks from the one with `from` on. Each is valid until the next is asked for, or anything else of the environment. */
function* blocksFrom(environment: Environment, place: Place, from: number): Generator<Block> {
  let parts: Buffer[] = [];
  let current = 0;
  for (const { key, value } of environment.entries({ start: keyOf(place, from, 0), end: endOf(prefixOf(place)) })) {
    const last = numberAt(key, SEQUENCE_AT);
    if (parts.length > 0 && last !== current) {
      yield joined(parts, place);
      parts = [];
    }
    // nearly all are in one entry, and are read as they lie
    if (key[PART_AT] === 0 && value.length <= PART_BYTES) yield new Block(value, place.partition);
    else {
      parts.push(Buffer.from(value.subarray(0, value.length)));
      current = last;
    }
  }
  if (parts.length > 0) yield joined(parts, place);
}

const joined = (parts: readonly Buffer[], { partition }: Place): Block => {
  const [first, ...rest] = parts;
  const whole = Buffer.concat([first ?? newValue(0), ...rest.map((part) => part.subarray(CONTENT_AT))]);
  return new Block(whole, partition);
};

/** The block with a sequence that is retained. @throws unavailable - it is not there: the file is damaged */
const blockAt = (environment: Environment, log: Log, sequence: number): Block => {
  for (const block of blocksFrom(environment, log, sequence)) {
    if (block.first <= sequence && block.last >= sequence) return block;
    break;
  }
  throw lostEvent(environment, log, sequence);
};

const lostEvent = ({ path }: Environment, { streamId, partition }: Log, sequence: number): Error =>
  lost(path, `event ${sequence} of partition ${partition} of the stream with number ${streamId}`);

/** A slice of one partition. */
export interface Slice {
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
  readonly limit: number;
  readonly maxBytes: number;
}

/** Rising. Cut before it exceeds `maxBytes`, but at least one. */
export const readForward = (environment: Environment, log: Log, { after, until, limit, maxBytes }: Slice): EventRecord[] => {
  const from = Math.max(after + 1, log.firstSequence);
  const to = Math.min(until, log.highWatermark, from + limit - 1);
  if (from > to) return [];
  const events: EventRecord[][] = [];
  let bytesLeft = maxBytes;
  let next = from;
  for (const block of blocksFrom(environment, log, from)) {
    if (block.first > next || block.last < next) throw lostEvent(environment, log, next);
    let last = next - 1;
    while (last < Math.min(to, block.last)) {
      const bytes = block.bytesOf(last + 1);
      if (bytes > bytesLeft && last + 1 > from) break;
      bytesLeft -= bytes;
      last += 1;
    }
    if (last >= next) events.push(block.events(next, last));
    next = last + 1;
    if (next > to || next <= block.last) break;
  }
  if (events.length === 0) throw lostEvent(environment, log, from);
  return events.length === 1 && events[0] !== undefined ? events[0] : events.flat();
};

/** Falling. */
export const readBackward = (environment: Environment, log: Log, { after, until, limit, maxBytes }: Slice): EventRecord[] => {
  const to = Math.min(until, log.highWatermark);
  const from = Math.max(after + 1, log.firstSequence, to - limit + 1);
  const events: EventRecord[] = [];
  let bytesLeft = maxBytes;
  for (let last = to; last >= from; ) {
    const block = blockAt(environment, log, last);
    const lowest = Math.max(from, block.first);
    let next = last;
    while (next >= lowest) {
      const bytes = block.bytesOf(next);
      if (bytes > bytesLeft && next < to) break;
      bytesLeft -= bytes;
      next -= 1;
    }
    if (next < last) events.push(...block.events(next + 1, last).reverse());
    if (next >= lowest) break;
    last = next;
  }
  return events;
};

/** The events of these rising sequences that are retained, cut before they exceed `maxBytes` but at least one. */
export const readSequences = (
  environment: Environment,
  log: Log,
  sequences: readonly number[],
  maxBytes: number,
): EventRecord[] => {
  const wanted = sequences.filter((sequence) => sequence >= log.firstSequence && sequence <= log.highWatermark);
  const first = wanted[0];
  const last = wanted[wanted.length - 1];
  if (first === undefined || last === undefined) return [];
  if (last - first + 1 === wanted.length)
    return readForward(environment, log, { after: first - 1, until: last, limit: wanted.length, maxBytes });
  const events: EventRecord[] = [];
  let bytesLeft = maxBytes;
  for (let index = 0; index < wanted.length; ) {
    const block = blockAt(environment, log, wanted[index] ?? 0);
    for (; index < wanted.length && (wanted[index] ?? 0) <= block.last; index++) {
      const sequence = wanted[index] ?? 0;
      bytesLeft -= block.bytesOf(sequence);
      if (bytesLeft < 0 && events.length > 0) return events;
      events.push(...block.events(sequence, sequence));
    }
  }
  return events;
};

/**
 * The first retained sequence with a timestamp at or after `timeMs`; the high watermark + 1 if there is none. By bisection on the
 * greatest timestamp so far, which rises although timestamps need not; where only events that were trimmed since were late enough, the
 * walk from there is to the next one that is.
 */
export const sequenceAtTime = (environment: Environment, log: Log, timeMs: number): number => {
  let low = log.firstSequence;
  let high = log.highWatermark + 1;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const block = blockAt(environment, log, middle);
    if (block.latestOf(middle) >= timeMs) high = middle;
    else low = middle + 1;
  }
  if (low > log.highWatermark) return low;
  for (const block of blocksFrom(environment, log, low)) {
    for (let sequence = Math.max(low, block.first); sequence <= block.last; sequence++)
      if (block.timestampOf(sequence) >= timeMs) return sequence;
  }
  return log.highWatermark + 1;
};

/** The blocks that end at or before `last`, by their last sequences. */
export const blocksUpTo = (environment: Environment, place: Place, last: number): number[] => {
  const found = new Set<number>();
  for (const key of environment.keys({ start: prefixOf(place), end: keyOf(place, last + 1, 0) }))
    found.add(numberAt(key, SEQUENCE_AT));
  return [...found];
};
