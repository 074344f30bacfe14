/**
 * Events are kept in blocks: neighbours of one partition in one value, so that a hundred are read by one look and one piece of text.
 * A block is a header, an entry of fixed width for each event, and the text of all of them.
 */
import type { EventRecord } from "@rheo/core";
import { CONTENT_AT, newValue } from "./bytes.ts";

/** An event with what its block needs. */
export interface StoredEvent {
  readonly record: EventRecord;
  /** UTF-8 bytes of the event. */
  readonly bytes: number;
  /** Greatest timestamp of the partition up to here. */
  readonly latestMs: number;
}

/** Events of one block, at most: a fetch of 100 touches two or three. */
export const BLOCK_EVENTS = 50;
/** No event is added to a block beyond this much text, in UTF-16 units. One larger event is a block by itself. */
const BLOCK_TEXT = 65_536;

const HEADER = { ascii: 0, count: 2, first: 4, text: 12 } as const;
const HEADER_BYTES = 16;
const ENTRY = { timeMs: 0, latestMs: 8, bytes: 16, textBytes: 20, metadata: 24, payload: 28, id: 32, type: 34, key: 36 } as const;
const ENTRY_BYTES = 40;
/** Length of a text that is not there. */
const NULL_LENGTH = 0xffff;

/** Cuts events of one partition, in order, into blocks. */
export function* blocksOf(events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  let start = 0;
  let text = 0;
  for (const [index, { record }] of events.entries()) {
    const length = textLength(record);
    if (index > start && (index - start >= BLOCK_EVENTS || text + length > BLOCK_TEXT)) {
      yield events.slice(start, index);
      start = index;
      text = 0;
    }
    text += length;
  }
  if (start < events.length) yield events.slice(start);
}

const textLength = ({ id, type, key, metadata, payload }: EventRecord): number =>
  id.length + (type?.length ?? 0) + (key?.length ?? 0) + metadata.length + payload.length;

const textOf = ({ id, type, key, metadata, payload }: EventRecord): string =>
  id + (type ?? "") + (key ?? "") + metadata + payload;

/** A value with at least one event. */
export const encodeBlock = (events: readonly StoredEvent[]): Buffer => {
  const texts = events.map(({ record }) => textOf(record));
  const text = texts.join("");
  const textBytes = Buffer.byteLength(text);
  const isAscii = textBytes === text.length;
  const textAt = CONTENT_AT + HEADER_BYTES + events.length * ENTRY_BYTES;
  const value = newValue(textAt - CONTENT_AT + textBytes);
  const view = viewOf(value);
  view.setUint8(CONTENT_AT + HEADER.ascii, isAscii ? 1 : 0);
  view.setUint8(CONTENT_AT + HEADER.ascii + 1, 0);
  view.setUint16(CONTENT_AT + HEADER.count, events.length, true);
  view.setFloat64(CONTENT_AT + HEADER.first, events[0]?.record.sequence ?? 0, true);
  view.setUint32(CONTENT_AT + HEADER.text, textBytes, true);
  for (const [index, event] of events.entries()) {
    const own = texts[index] ?? "";
    writeEntry(view, CONTENT_AT + HEADER_BYTES + index * ENTRY_BYTES, event, isAscii ? own.length : Buffer.byteLength(own));
  }
  value.write(text, textAt, isAscii ? "latin1" : "utf8");
  return value;
};

const writeEntry = (view: DataView, at: number, { record, bytes, latestMs }: StoredEvent, textBytes: number): void => {
  view.setFloat64(at + ENTRY.timeMs, record.timestampMs, true);
  view.setFloat64(at + ENTRY.latestMs, latestMs, true);
  view.setUint32(at + ENTRY.bytes, bytes, true);
  view.setUint32(at + ENTRY.textBytes, textBytes, true);
  view.setUint32(at + ENTRY.metadata, record.metadata.length, true);
  view.setUint32(at + ENTRY.payload, record.payload.length, true);
  view.setUint16(at + ENTRY.id, record.id.length, true);
  view.setUint16(at + ENTRY.type, record.type?.length ?? NULL_LENGTH, true);
  view.setUint16(at + ENTRY.key, record.key?.length ?? NULL_LENGTH, true);
  view.setUint16(at + ENTRY.key + 2, 0, true);
};

const viewOf = (value: Buffer): DataView => new DataView(value.buffer, value.byteOffset, value.length);

/** A block as it lies in a value, which must not change meanwhile. */
export class Block {
  readonly first: number;
  readonly count: number;
  readonly #value: Buffer;
  readonly #view: DataView;
  readonly #encoding: "latin1" | "utf8";
  readonly #partition: number;

  constructor(value: Buffer, partition: number) {
    this.#value = value;
    this.#view = viewOf(value);
    this.#partition = partition;
    this.#encoding = this.#view.getUint8(CONTENT_AT + HEADER.ascii) === 1 ? "latin1" : "utf8";
    this.count = this.#view.getUint16(CONTENT_AT + HEADER.count, true);
    this.first = this.#view.getFloat64(CONTENT_AT + HEADER.first, true);
  }

  get last(): number {
    return this.first + this.count - 1;
  }

  bytesOf(sequence: number): number {
    return this.#view.getUint32(this.#entry(sequence) + ENTRY.bytes, true);
  }

  timestampOf(sequence: number): number {
    return this.#view.getFloat64(this.#entry(sequence) + ENTRY.timeMs, true);
  }

  /** Greatest timestamp of the partition up to an event. */
  latestOf(sequence: number): number {
    return this.#view.getFloat64(this.#entry(sequence) + ENTRY.latestMs, true);
  }

  /** The events from one sequence to another, both in the block. */
  events(from: number, to: number): EventRecord[] {
    const view = this.#view;
    let at = this.#entry(from);
    const end = this.#entry(to);
    const start = this.#textAt(from);
    let bytes = 0;
    for (let entry = at; entry <= end; entry += ENTRY_BYTES) bytes += view.getUint32(entry + ENTRY.textBytes, true);
    const text = this.#value.toString(this.#encoding, start, start + bytes);
    const events: EventRecord[] = [];
    let position = 0;
    for (let sequence = from; sequence <= to; sequence++, at += ENTRY_BYTES) {
      const typeLength = view.getUint16(at + ENTRY.type, true);
      const keyLength = view.getUint16(at + ENTRY.key, true);
      const idEnd = position + view.getUint16(at + ENTRY.id, true);
      const typeEnd = typeLength === NULL_LENGTH ? idEnd : idEnd + typeLength;
      const keyEnd = keyLength === NULL_LENGTH ? typeEnd : typeEnd + keyLength;
      const metadataEnd = keyEnd + view.getUint32(at + ENTRY.metadata, true);
      const payloadEnd = metadataEnd + view.getUint32(at + ENTRY.payload, true);
      events.push({
        id: text.slice(position, idEnd),
        partition: this.#partition,
        sequence,
        timestampMs: view.getFloat64(at + ENTRY.timeMs, true),
        type: typeLength === NULL_LENGTH ? null : text.slice(idEnd, typeEnd),
        key: keyLength === NULL_LENGTH ? null : text.slice(typeEnd, keyEnd),
        metadata: text.slice(keyEnd, metadataEnd),
        payload: text.slice(metadataEnd, payloadEnd),
        bytes: view.getUint32(at + ENTRY.bytes, true),
      });
      position = payloadEnd;
    }
    return events;
  }

  /** Where the text of an event begins: those before it are counted off. */
  #textAt(sequence: number): number {
    let at = CONTENT_AT + HEADER_BYTES + this.count * ENTRY_BYTES;
    for (let entry = this.#entry(this.first); entry < this.#entry(sequence); entry += ENTRY_BYTES)
      at += this.#view.getUint32(entry + ENTRY.textBytes, true);
    return at;
  }

  #entry(sequence: number): number {
    return CONTENT_AT + HEADER_BYTES + (sequence - this.first) * ENTRY_BYTES;
  }
}
