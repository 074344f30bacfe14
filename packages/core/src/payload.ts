import { RheoError } from "./errors.ts";
import type { Json, Metadata } from "./event.ts";
import { LIMITS } from "./limits.ts";
import { isStorable } from "./text.ts";

/** A value as stored: its JSON text, and what every reader gets, deep-frozen. */
export interface Normalised<Value> {
  readonly text: string;
  readonly value: Value;
}

/**
 * The value that will be stored and handed out by every backend (L7): `toJSON` honoured, `undefined` fields dropped, −0 → 0,
 * a frozen copy that shares nothing with the caller's.
 * @throws invalid_payload - with the path of what JSON would silently alter
 */
export const normalisePayload = (payload: unknown): Normalised<Json> => {
  const value = copy(payload, { name: "payload" }, 0, []);
  if (value === undefined) return fail({ name: "payload" }, "undefined is not a JSON value; use null");
  return { text: JSON.stringify(value), value };
};

const NO_METADATA: Normalised<Metadata> = { text: "{}", value: Object.freeze({}) };

/** As {@link normalisePayload}, for a flat object of scalars. @throws invalid_payload */
export const normaliseMetadata = (metadata: unknown): Normalised<Metadata> => {
  if (metadata === undefined || metadata === null) return NO_METADATA;
  const root = { name: "metadata" };
  const value = copy(metadata, root, 0, []);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return fail(root, "metadata is a flat object");
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "object" && item !== null)
      return fail({ name, parent: root }, "metadata is flat: a string, number, boolean or null is expected");
  }
  return { text: JSON.stringify(value), value: value as Metadata }; // flat, as just checked
};

/** A path kept as a chain, so that the happy path builds no strings. */
interface Place {
  readonly name: string | number;
  readonly parent?: Place;
}

const pathOf = ({ name, parent }: Place): string => {
  if (parent === undefined) return String(name);
  return typeof name === "number" ? `${pathOf(parent)}[${name}]` : `${pathOf(parent)}.${name}`;
};

const fail = (place: Place, problem: string, cause?: unknown): never => {
  const path = pathOf(place).slice(0, 1_000);
  throw new RheoError("invalid_payload", `${path.toWellFormed()}: ${problem}.`, { path }, { cause });
};

const copy = (input: unknown, place: Place, depth: number, above: readonly object[]): Json | undefined => {
  const value = typeof input === "object" && input !== null ? unwrap(input, place) : input;
  switch (typeof value) {
    case "string":
      return isStorable(value) ? value : fail(place, "a string with U+0000 or a lone surrogate cannot be stored");
    case "number":
      if (!Number.isFinite(value)) return fail(place, `${value} is not a JSON number`);
      return value === 0 ? 0 : value;
    case "boolean":
    case "undefined":
      return value;
    case "object":
      return value === null ? null : copyObject(value, place, depth, above);
    case "bigint":
      return fail(place, "a BigInt is not a JSON value; use a string");
    case "function":
    case "symbol":
      return fail(place, `a ${typeof value} is not a JSON value`);
    default:
      return fail(place, "not a JSON value");
  }
};

/** Honours `toJSON`, after refusing what has one that loses the value. */
const unwrap = (value: object, place: Place): unknown => {
  if (ArrayBuffer.isView(value)) return fail(place, "a typed array or Buffer is not a JSON value; encode it, as base64 say");
  const toJSON: unknown = Reflect.get(value, "toJSON");
  if (typeof toJSON !== "function") return value;
  try {
    return toJSON.call(value, String(place.name));
  } catch (cause) {
    return fail(place, "its toJSON() threw", cause);
  }
};

const copyObject = (value: object, place: Place, depth: number, above: readonly object[]): Json => {
  if (depth >= LIMITS.payloadDepth) return fail(place, `nested more than ${LIMITS.payloadDepth} deep`);
  if (above.includes(value)) return fail(place, "a cycle");
  const path = [...above, value];
  return Array.isArray(value) ? copyArray(value, place, depth, path) : copyRecord(value, place, depth, path);
};

const copyArray = (value: readonly unknown[], place: Place, depth: number, above: readonly object[]): Json => {
  const items: Json[] = [];
  for (let index = 0; index < value.length; index++) {
    const at = { name: index, parent: place };
    const item = copy(value[index], at, depth + 1, above);
    items.push(item === undefined ? fail(at, "undefined inside an array; use null") : item);
  }
  return Object.freeze(items);
};

/** Built-ins that JSON.stringify turns into `{}` or a bare primitive. */
const LOSSY = [
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "WeakRef",
  "Promise",
  "RegExp",
  "Error",
  "ArrayBuffer",
  "SharedArrayBuffer",
  "Number",
  "String",
  "Boolean",
];

const copyRecord = (value: object, place: Place, depth: number, above: readonly object[]): Json => {
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (LOSSY.includes(kind) || value instanceof Error) return fail(place, `a ${kind} is not a JSON value; convert it first`);
  const fields: Record<string, Json> = {};
  for (const name of Object.keys(value)) {
    const at = { name, parent: place };
    if (!isStorable(name)) return fail(at, "a field name with U+0000 or a lone surrogate cannot be stored");
    const item = copy(Reflect.get(value, name), at, depth + 1, above);
    if (item === undefined) continue;
    if (name === "__proto__")
      Object.defineProperty(fields, name, { value: item, enumerable: true, configurable: true, writable: true });
    else fields[name] = item;
  }
  const symbol = Object.getOwnPropertySymbols(value).find((name) => Object.prototype.propertyIsEnumerable.call(value, name));
  if (symbol !== undefined) return fail(place, `a field named by a symbol (${String(symbol)}) would be lost`);
  return Object.freeze(fields);
};
