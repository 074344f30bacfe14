/**
 * A value as a text whose order is the server's order of values, and which is equal for equal values: 1, 1.0 and NumberLong(1) have one.
 * Each ends where it ends by itself, so that several make the key of a compound index. One character is one byte.
 */
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DBRef,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from "bson";
import { isDoc } from "./document.ts";

/** In the server's order of types. */
const ORDER = {
  minKey: "\x0a",
  undefined: "\x0f",
  null: "\x14",
  number: "\x1e",
  string: "\x3c",
  object: "\x46",
  array: "\x50",
  binData: "\x5a",
  objectId: "\x64",
  bool: "\x6e",
  date: "\x78",
  timestamp: "\x82",
  regex: "\x8c",
  dbPointer: "\x91",
  javascript: "\x96",
  maxKey: "\xf0",
} as const;

/** Greater than the key of anything that begins with what stands before it. */
export const PAST = "\uffff";

/** Types that compare with each other share one. */
export const orderOf = (value: unknown): string => keyOf(value).charAt(0);

/** `undefined` (a missing field) comes before null. */
export const keyOf = (value: unknown): string => {
  if (value === undefined) return ORDER.undefined;
  if (value === null) return ORDER.null;
  if (typeof value === "string") return ORDER.string + textKey(value);
  if (typeof value === "boolean") return ORDER.bool + (value ? "\x02" : "\x01");
  if (value instanceof Int32 || value instanceof Double) return ORDER.number + numberKey(value.value, 0);
  // before Long, which it extends
  if (value instanceof Timestamp)
    return ORDER.timestamp + wordKey(value.getHighBitsUnsigned()) + wordKey(value.getLowBitsUnsigned());
  if (value instanceof Long) return ORDER.number + longKey(value);
  if (value instanceof Decimal128) return ORDER.number + numberKey(Number(value.toString()), 0);
  if (value instanceof Date) return ORDER.date + numberKey(value.getTime(), 0);
  if (value instanceof ObjectId) return ORDER.objectId + latin(value.id);
  if (value instanceof Binary) return ORDER.binData + binaryKey(value);
  if (Array.isArray(value)) return `${ORDER.array}${value.map(keyOf).join("")}\x00`;
  if (isDoc(value)) return objectKey(value);
  return rareKey(value);
};

const rareKey = (value: unknown): string => {
  if (value instanceof BSONRegExp) return ORDER.regex + textKey(value.pattern) + textKey(value.options);
  if (value instanceof MinKey) return ORDER.minKey;
  if (value instanceof MaxKey) return ORDER.maxKey;
  if (value instanceof BSONSymbol) return ORDER.string + textKey(value.value);
  if (value instanceof Code) return ORDER.javascript + textKey(value.code);
  if (value instanceof DBRef) return objectKey({ ...value.toJSON() });
  throw new TypeError(`A value of an unknown kind: ${String(value)}`);
};

const objectKey = (doc: object): string => {
  let key: string = ORDER.object;
  for (const [name, part] of Object.entries(doc)) {
    const value = keyOf(part);
    key += value.charAt(0) + textKey(name) + value;
  }
  return `${key}\x00`;
};

/** For an index that descends: the order turned round. */
export const invert = (key: string): string => {
  let inverted = "";
  for (let n = 0; n < key.length; n++) inverted += String.fromCharCode(255 - key.charCodeAt(n));
  return inverted;
};

const NOT_ASCII = /[\u0080-\uffff]/;

/** The server compares UTF-8 bytes. A NUL is escaped, so that the end comes before every continuation. */
const textKey = (text: string): string => {
  const bytes = NOT_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text;
  return `${bytes.includes("\0") ? bytes.replaceAll("\0", "\0\xff") : bytes}\0\x01`;
};

const view = new DataView(new ArrayBuffer(8));

/** `rest`: what a Long has beyond the double next to it. */
const numberKey = (value: number, rest: number): string => {
  if (Number.isNaN(value)) return "\0\0\0\0\0\0\0\0\x80\0";
  view.setFloat64(0, value === 0 ? 0 : value);
  let high = view.getUint32(0);
  let low = view.getUint32(4);
  if (high >= 0x8000_0000) {
    high = ~high >>> 0;
    low = ~low >>> 0;
  } else high = (high | 0x8000_0000) >>> 0;
  return wordKey(high) + wordKey(low) + String.fromCharCode((rest + 0x8000) >>> 8, rest & 255);
};

const longKey = (value: Long): string => {
  const near = value.toNumber();
  return numberKey(near, Number.isSafeInteger(near) ? 0 : Number(value.toBigInt() - BigInt(near)));
};

const wordKey = (word: number): string => String.fromCharCode(word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255);

const latin = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");

/** By length, then subtype, then bytes. */
const binaryKey = (value: Binary): string => {
  const bytes = value.value();
  return wordKey(bytes.length) + String.fromCharCode(value.sub_type) + latin(bytes);
};
