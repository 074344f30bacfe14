import { RheoError } from "./errors.ts";
import type { Json, Metadata } from "./event.ts";
import { LIMITS } from "./limits.ts";
import { readable } from "./options.ts";
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
export const normalisePayload = (payload: unknown): Normalised<Json> => normalise("payload", payload);

const NO_METADATA: Normalised<Metadata> = { text: "{}", value: Object.freeze({}) };

/** As {@link normalisePayload}, for a flat object of scalars. @throws invalid_payload */
export const normaliseMetadata = (metadata: unknown): Normalised<Metadata> => {
  if (metadata === undefined || metadata === null) return NO_METADATA;
  const { text, value } = normalise("metadata", metadata);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return fail(["metadata"], "metadata is a flat object");
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "object" && item !== null) {
      return fail(["metadata", name], "metadata is flat: a string, number, boolean or null is expected");
    }
  }
  return { text, value: value as Metadata }; // flat, as just checked
};

/** Names and array positions from the root to the value at hand; one array for the whole walk. */
type Path = (string | number)[];

const normalise = (root: string, input: unknown): Normalised<Json> => {
  const path: Path = [root];
  const walk: Walk = { above: [], made: [], left: LIMITS.maxEventBytes / 2 };
  const value = readable(
    () => copy(input, path, walk),
    (cause) => unreadablePart(path, cause),
  );
  if (value === undefined) return fail(path, "undefined is not a JSON value; use null");
  const text = JSON.stringify(value);
  for (const made of walk.made) Object.freeze(made); // not before: newer engines write out what is not frozen faster
  // JSON.stringify escapes U+0000 and lone surrogates, so that text without an escape needs no second look
  if (text.includes("\\u")) checkStrings(value, path);
  return { text, value };
};

const fail = (path: Path, problem: string, cause?: unknown): never => {
  throw failureAt(path, problem, cause);
};

const unreadablePart = (path: Path, cause: unknown): RheoError =>
  failureAt(path, "it cannot be read; it threw when it was looked at", cause);

const failureAt = (path: Path, problem: string, cause: unknown): RheoError => {
  const shown = path.map((part, depth) => (typeof part === "number" ? `[${part}]` : depth === 0 ? part : `.${part}`)).join("");
  const bounded = shown.slice(0, 1_000);
  return new RheoError("invalid_payload", `${bounded.toWellFormed()}: ${problem}.`, { path: bounded }, { cause });
};

/** `above`: the objects that contain a value, to find cycles. `made`: all objects of the copy. `left`: values that may still come, as each takes two bytes at least. */
interface Walk {
  readonly above: object[];
  readonly made: object[];
  left: number;
}

const copy = (input: unknown, path: Path, walk: Walk): Json | undefined => {
  if (walk.left-- <= 0) return fail(path, `more values than an event of ${LIMITS.maxEventBytes} bytes can hold`);
  const value = typeof input === "object" && input !== null ? unwrap(input, path) : input;
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      if (!Number.isFinite(value)) return fail(path, `${value} is not a JSON number`);
      return value === 0 ? 0 : value;
    case "object":
      return value === null ? null : copyObject(value, path, walk);
    case "bigint":
      return fail(path, "a BigInt is not a JSON value; use a string");
    case "function":
    case "symbol":
      return fail(path, `a ${typeof value} is not a JSON value`);
    default:
      return fail(path, "not a JSON value");
  }
};

/** Honours `toJSON`, after refusing what has one that loses the value. */
const unwrap = (value: object, path: Path): unknown => {
  const toJSON: unknown = "toJSON" in value ? value.toJSON : undefined;
  if (typeof toJSON !== "function") return value;
  if (ArrayBuffer.isView(value)) return fail(path, "a typed array or Buffer is not a JSON value; encode it, as base64 say");
  try {
    return toJSON.call(value, String(path[path.length - 1]));
  } catch (cause) {
    return fail(path, "its toJSON() threw", cause);
  }
};

const copyObject = (value: object, path: Path, walk: Walk): Json => {
  const { above } = walk;
  if (above.length >= LIMITS.payloadDepth) return fail(path, `nested more than ${LIMITS.payloadDepth} deep`);
  if (above.includes(value)) return fail(path, "a cycle");
  above.push(value);
  const copied = Array.isArray(value) ? copyArray(value, path, walk) : copyRecord(value, path, walk);
  above.pop();
  return copied;
};

const copyArray = (value: readonly unknown[], path: Path, walk: Walk): Json => {
  const items: Json[] = [];
  walk.made.push(items);
  for (let index = 0; index < value.length; index++) {
    path.push(index);
    const item = copy(value[index], path, walk);
    items.push(item === undefined ? fail(path, "undefined inside an array; use null") : item);
    path.pop();
  }
  return items;
};

const copyRecord = (value: object, path: Path, walk: Walk): Json => {
  checkKind(value, path);
  const fields: Record<string, Json> = {};
  walk.made.push(fields);
  for (const name of Object.keys(value)) {
    path.push(name);
    const item = copy((value as Readonly<Record<string, unknown>>)[name], path, walk); // an own name of it
    path.pop();
    if (item === undefined) continue;
    if (name === "__proto__")
      Object.defineProperty(fields, name, { value: item, enumerable: true, configurable: true, writable: true });
    else fields[name] = item;
  }
  return fields;
};

/** Built-ins that JSON.stringify turns into `{}` or a bare primitive. */
const LOSSY: ReadonlySet<string> = new Set([
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
  "DataView",
  "Number",
  "String",
  "Boolean",
]);

/** Refuses objects of which JSON would keep nothing, or not all. */
const checkKind = (value: object, path: Path): void => {
  const symbols = Object.getOwnPropertySymbols(value);
  const lost = symbols.length === 0 ? undefined : symbols.find((name) => Object.prototype.propertyIsEnumerable.call(value, name));
  if (lost !== undefined) fail(path, `a field named by a symbol (${String(lost)}) would be lost`);
  if (Object.getPrototypeOf(value) === Object.prototype) return;
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (ArrayBuffer.isView(value)) fail(path, "a typed array or Buffer is not a JSON value; encode it, as base64 say");
  if (LOSSY.has(kind) || value instanceof Error) fail(path, `a ${kind} is not a JSON value; convert it first`);
};

/** Finds a string or name that a store would refuse or alter. */
const checkStrings = (value: Json, path: Path): void => {
  if (typeof value === "string" && !isStorable(value)) fail(path, "a string with U+0000 or a lone surrogate cannot be stored");
  if (typeof value !== "object" || value === null) return;
  for (const [name, item] of Object.entries(value)) {
    path.push(Array.isArray(value) ? Number(name) : name);
    if (!isStorable(name)) fail(path, "a field name with U+0000 or a lone surrogate cannot be stored");
    checkStrings(item, path);
    path.pop();
  }
};
