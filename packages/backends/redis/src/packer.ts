/** Writes arrays of texts and whole numbers as MessagePack (msgpack.org), which Lua's `cmsgpack` reads in one step. */

const ARRAY_32 = 0xdd;
const TEXT_32 = 0xdb;
const FLOAT_64 = 0xcb;
const LARGEST_SMALL = 0x7f;
const HEADER = 5;
/** UTF-8 bytes of one UTF-16 unit at most. */
const BYTES_PER_UNIT = 3;

export class Packer {
  #buffer: Buffer;
  #at = 0;

  /** `bytes`: how many there will be, about. */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes);
  }

  /** Begins an array; its items follow. */
  array(count: number): void {
    this.#header(ARRAY_32, count, HEADER);
  }

  numbers(values: readonly number[]): void {
    this.array(values.length);
    for (const value of values) this.number(value);
  }

  text(text: string): void {
    this.#need(HEADER + text.length * BYTES_PER_UNIT);
    const at = this.#at;
    const bytes = this.#buffer.write(text, at + HEADER, "utf8");
    this.#buffer[at] = TEXT_32;
    this.#buffer.writeUInt32BE(bytes, at + 1);
    this.#at = at + HEADER + bytes;
  }

  /** A whole number from 0 up. */
  number(value: number): void {
    this.#need(9);
    if (value <= LARGEST_SMALL) {
      this.#buffer[this.#at++] = value;
      return;
    }
    this.#buffer[this.#at] = FLOAT_64;
    this.#buffer.writeDoubleBE(value, this.#at + 1);
    this.#at += 9;
  }

  /** What was written. Nothing is to be added after that. */
  done(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  #header(kind: number, count: number, bytes: number): void {
    this.#need(bytes);
    this.#buffer[this.#at] = kind;
    this.#buffer.writeUInt32BE(count, this.#at + 1);
    this.#at += bytes;
  }

  #need(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}
