/**
 * Values are what `bson` makes of bytes without promoting any: numbers are Int32, Long, Double or Decimal128. A field that is missing is
 * `undefined`. Documents are never changed once stored. Fields are read and set through here, since a name may be `__proto__`.
 */
import { calculateObjectSize, Decimal128, Double, deserialize, Int32, Long, ObjectId, serialize, Timestamp } from "bson";

export type Doc = { [field: string]: unknown };

export const isDoc = (value: unknown): value is Doc => {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

export const fieldOf = (doc: Doc, name: string): unknown => (Object.hasOwn(doc, name) ? doc[name] : undefined);

export const setField = (doc: Doc, name: string, value: unknown): void => {
  if (name === "__proto__") Object.defineProperty(doc, name, { value, enumerable: true, configurable: true, writable: true });
  else doc[name] = value;
};

/** A copy down to its leaves, which are not changed by anybody. */
export const copy = <T>(value: T): T => {
  if (Array.isArray(value)) return value.map(copy) as T & unknown[];
  if (!isDoc(value)) return value;
  const made: Doc = {};
  for (const [name, part] of Object.entries(value)) setField(made, name, copy(part));
  return made as T & Doc;
};

export type Numeric = Int32 | Long | Double | Decimal128;

export const isNumeric = (value: unknown): value is Numeric =>
  value instanceof Int32 ||
  // which a Timestamp is, too
  (value instanceof Long && !(value instanceof Timestamp)) ||
  value instanceof Double ||
  value instanceof Decimal128;

/** Longs beyond 2^53 are rounded; so are Decimal128, which the double treats as doubles. */
export const toNumber = (value: Numeric): number => {
  if (value instanceof Long) return value.toNumber();
  return value instanceof Decimal128 ? Number(value.toString()) : value.value;
};

const NUMBERS = { promoteValues: false, promoteLongs: false, bsonRegExp: true } as const;

export const decode = (bytes: Uint8Array): Doc => deserialize(bytes, NUMBERS);
export const encode = (doc: Doc): Uint8Array => serialize(doc, { ignoreUndefined: true });

export const sizeOf = (doc: Doc): number => calculateObjectSize(doc, { ignoreUndefined: true });

export const sameBytes = (a: Doc, b: Doc): boolean => Buffer.compare(encode(a), encode(b)) === 0;

export const newObjectId = (): ObjectId => new ObjectId();
