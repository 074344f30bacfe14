/** Keys and values as bytes. Keys sort by their bytes, so numbers in them are fixed-width and big-endian. */
import { crc32 } from "node:zlib";

/** Room for the checksum in front of every value. */
const CHECKSUM_BYTES = 4;

/** Everything of one kind stands together in the one tree; the first byte says which. Never renumber. */
export const TABLE = {
  meta: 1,
  streams: 2,
  partitions: 3,
  events: 4,
  ids: 5,
  groups: 6,
  /** All that a group keeps for one partition, side by side, so that a fetch and a settle touch one page. */
  progress: 7,
  deadLetterIds: 8,
  members: 9,
  /** Streams that are deleted, with events that are not removed yet. */
  leftovers: 10,
} as const;

export type Table = (typeof TABLE)[keyof typeof TABLE];

const TABLE_BYTES = 1;
const ID_BYTES = 4;
const NUMBER_BYTES = 8;
const HIGH_WORD = 0x1_0000_0000;

/** A key under construction: its parts are added from left to right. */
export class Key {
  readonly bytes: Buffer;
  #length: number;

  constructor(table: Table, bytes: number) {
    this.bytes = Buffer.allocUnsafe(TABLE_BYTES + bytes);
    this.bytes[0] = table;
    this.#length = TABLE_BYTES;
  }

  /** A stream, a group or a partition: at most 32 bits. */
  id(value: number): this {
    this.#length = this.bytes.writeUInt32BE(value, this.#length);
    return this;
  }

  byte(value: number): this {
    this.#length = this.bytes.writeUInt8(value, this.#length);
    return this;
  }

  /** A sequence or a token: a safe integer, not negative. */
  number(value: number): this {
    this.#length = this.bytes.writeUInt32BE(Math.floor(value / HIGH_WORD), this.#length);
    this.#length = this.bytes.writeUInt32BE(value % HIGH_WORD, this.#length);
    return this;
  }

  /** A time: any number, negative ones too. The bits of a double sort like it once the sign is turned. */
  time(value: number): this {
    const start = this.#length;
    this.#length = this.bytes.writeDoubleBE(value, start);
    if (value < 0) for (let at = start; at < this.#length; at++) this.bytes[at] = 255 - (this.bytes[at] ?? 0);
    else this.bytes[start] = (this.bytes[start] ?? 0) | 0x80;
    return this;
  }

  /** Text to the end of the key. */
  text(value: string): this {
    this.#length += this.bytes.write(value, this.#length, "utf8");
    return this;
  }
}

export const ID_SIZE: number = ID_BYTES;
export const NUMBER_SIZE: number = NUMBER_BYTES;

/** A sequence, a token: see {@link Key.number}. */
export const numberAt = (key: Buffer, at: number): number => key.readUInt32BE(at) * HIGH_WORD + key.readUInt32BE(at + ID_BYTES);

/** See {@link Key.time}. */
export const timeAt = (key: Buffer, at: number): number => {
  const bytes = Buffer.from(key.subarray(at, at + NUMBER_BYTES));
  const isNegative = ((bytes[0] ?? 0) & 0x80) === 0;
  for (let index = 0; index < NUMBER_BYTES; index++)
    bytes[index] = (bytes[index] ?? 0) ^ (isNegative ? 0xff : index === 0 ? 0x80 : 0);
  return bytes.readDoubleBE(0);
};

/** The first key after all that begin with `prefix`. */
export const endOf = (prefix: Buffer): Buffer => {
  const end = Buffer.from(prefix);
  for (let at = end.length - 1; at >= 0; at--) {
    const byte = end[at] ?? 0;
    if (byte < 0xff) {
      end[at] = byte + 1;
      return end.subarray(0, at + 1);
    }
  }
  throw new RangeError("there is no key after it");
};

/** A value to be filled in behind its checksum. */
export const newValue = (bytes: number): Buffer => Buffer.allocUnsafe(CHECKSUM_BYTES + bytes);

/** Where the content of a value begins. */
export const CONTENT_AT: number = CHECKSUM_BYTES;

/** Writes the checksum: of the content, and of the key that it belongs to. */
export const seal = (key: Buffer, value: Buffer): Buffer => {
  value.writeUInt32LE(checksum(key, value), 0);
  return value;
};

export const isSealed = (key: Buffer, value: Buffer): boolean =>
  value.length >= CHECKSUM_BYTES && value.readUInt32LE(0) === checksum(key, value);

const checksum = (key: Buffer, value: Buffer): number => crc32(value.subarray(CHECKSUM_BYTES, value.length), crc32(key)); // lmdb-js sets the length of its buffer by hand
