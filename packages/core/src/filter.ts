/**
 * The filter language: one meaning on every backend. This file holds its shape, its checks and the reference evaluator that
 * every translation to a store's own query language is held to.
 */
import { RheoError } from "./errors.ts";
import { type Event, type EventRecord, type Json, toEvent } from "./event.ts";
import { readable } from "./options.ts";

type Scalar = null | boolean | number | string;

/**
 * A test on the value at a path. Comparisons are typed: 1 is not "1", and `gt` between a number and a string is false.
 * Strings compare by code point. `eq: null` is a present null; a missing value is `exists: false`. `ne` and `nin` are the
 * opposites of `eq` and `in`, so they hold for a missing value too.
 */
export interface Condition {
  readonly eq?: Json;
  readonly ne?: Json;
  readonly gt?: number | string;
  readonly gte?: number | string;
  readonly lt?: number | string;
  readonly lte?: number | string;
  readonly in?: readonly Json[];
  readonly nin?: readonly Json[];
  readonly exists?: boolean;
  readonly startsWith?: string;
}

/**
 * All entries must hold. A name is a path: `id`, `type`, `key`, `metadata.…`, `payload` or `payload.…`, with array positions
 * as numbers and a dot inside a name written `\.`; `correlationId` and `causationId` are short for their metadata. A plain
 * value means `eq`.
 */
export interface Filter {
  readonly [path: string]: Scalar | Condition | readonly Json[] | readonly Filter[] | Filter | undefined;
  readonly and?: readonly Filter[];
  readonly or?: readonly Filter[];
  readonly not?: Filter;
  /** The same as writing its entries here. */
  readonly where?: Filter;
}

/** Whether an event passes. */
export type Matcher = (stream: string, record: EventRecord) => boolean;

const MAX_DEPTH = 16;
const MAX_CONDITIONS = 256;
/** Filters and values in one filter: what is shared by many parts counts with each. */
const MAX_NODES = 20_000;
const MAX_LIST = 1_000;
const MAX_SEGMENTS = 32;
const MAX_PATH = 1_024;
const OPERATORS = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists", "startsWith"] as const;
type Operator = (typeof OPERATORS)[number];
const isOperator = (name: string): name is Operator => (OPERATORS as readonly string[]).includes(name);

const SHORT: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  correlationId: "metadata.correlationId",
  causationId: "metadata.causationId",
});

type Test = (event: Event) => boolean;

/** Checks a filter and returns a detached copy of it, safe to store as JSON. @throws invalid_query */
export const parseFilter = (value: unknown): Filter =>
  readable(
    () => {
      compile(value, "where", 0, { left: MAX_CONDITIONS, nodes: MAX_NODES });
      return JSON.parse(JSON.stringify(value)) as Filter; // compile() accepted nothing that JSON alters
    },
    (cause) =>
      new RheoError("invalid_query", "where: it cannot be read; it threw when it was looked at.", { path: "where" }, { cause }),
  );

/** @throws invalid_query */
export const compileFilter = (filter: Filter | null): Matcher => {
  if (filter === null) return () => true;
  const test = compile(filter, "where", 0, { left: MAX_CONDITIONS, nodes: MAX_NODES });
  return (stream, record) => test(toEvent(stream, record));
};

/** What of a filter may still come. */
interface Budget {
  left: number;
  nodes: number;
}

const fail = (path: string, problem: string): never => {
  throw new RheoError("invalid_query", `${path}: ${problem}`, { path });
};

const compile = (value: unknown, at: string, depth: number, budget: Budget): Test => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return fail(at, "a filter is an object of path: condition.");
  spend(at, budget);
  if (depth > MAX_DEPTH) return fail(at, `a filter nests at most ${MAX_DEPTH} deep.`);
  const tests: Test[] = [];
  for (const [name, part] of Object.entries(value)) {
    if (part === undefined) continue;
    tests.push(compileEntry(name, part, `${at}.${name}`, depth + 1, budget));
  }
  return (event) => tests.every((test) => test(event));
};

const spend = (at: string, budget: Budget): void => {
  if (budget.nodes-- <= 0) fail(at, `a filter has at most ${MAX_NODES} parts.`);
};

const compileEntry = (name: string, part: unknown, at: string, depth: number, budget: Budget): Test => {
  if (name === "where") return compile(part, at, depth, budget);
  if (name === "not") {
    const test = compile(part, at, depth, budget);
    return (event) => !test(event);
  }
  if (name !== "and" && name !== "or") return compileCondition(name, part, at, budget);
  if (!Array.isArray(part) || part.length === 0 || part.length > MAX_LIST)
    return fail(at, `"${name}" takes a list of 1 to ${MAX_LIST} filters.`);
  const tests = Array.from(part as unknown[], (item, index) => compile(item, `${at}[${index}]`, depth, budget));
  return name === "and" ? (event) => tests.every((test) => test(event)) : (event) => tests.some((test) => test(event));
};

const compileCondition = (path: string, part: unknown, at: string, budget: Budget): Test => {
  const read = reader(path, at);
  if (typeof part !== "object" || part === null || Array.isArray(part)) {
    return compileOperator(read, "eq", part, at, budget);
  }
  const tests: Test[] = [];
  for (const [operator, operand] of Object.entries(part)) {
    if (operand === undefined) continue;
    if (!isOperator(operator)) return fail(`${at}.${operator}`, `unknown operator. Known: ${OPERATORS.join(", ")}.`);
    tests.push(compileOperator(read, operator, operand, `${at}.${operator}`, budget));
  }
  if (tests.length === 0) return fail(at, "an empty condition. Write { eq: {} } to compare with an empty object.");
  return (event) => tests.every((test) => test(event));
};

type Read = (event: Event) => Json | undefined;

const compileOperator = (read: Read, operator: Operator, operand: unknown, at: string, budget: Budget): Test => {
  if (budget.left-- <= 0) return fail(at, `a filter has at most ${MAX_CONDITIONS} conditions.`);
  switch (operator) {
    case "eq":
    case "ne": {
      const wanted = parseJson(operand, at, 0, budget);
      return operator === "eq" ? (event) => sameJson(read(event), wanted) : (event) => !sameJson(read(event), wanted);
    }
    case "in":
    case "nin": {
      if (!Array.isArray(operand) || operand.length > MAX_LIST) return fail(at, `takes a list of at most ${MAX_LIST} values.`);
      const wanted = Array.from(operand as unknown[], (item, index) => parseJson(item, `${at}[${index}]`, 0, budget));
      const isIn: Test = (event) => {
        const found = read(event);
        return wanted.some((item) => sameJson(found, item));
      };
      return operator === "in" ? isIn : (event) => !isIn(event);
    }
    case "exists":
      if (typeof operand !== "boolean") return fail(at, "takes true or false.");
      return (event) => (read(event) !== undefined) === operand;
    case "startsWith": {
      if (typeof operand !== "string") return fail(at, "takes a string.");
      parseJson(operand, at, 0, budget);
      return (event) => {
        const found = read(event);
        return typeof found === "string" && found.startsWith(operand);
      };
    }
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return compileComparison(read, operator, operand, at, budget);
    default:
      return operator satisfies never;
  }
};

const compileComparison = (
  read: Read,
  operator: "gt" | "gte" | "lt" | "lte",
  operand: unknown,
  at: string,
  budget: Budget,
): Test => {
  if (typeof operand !== "number" && typeof operand !== "string") return fail(at, "takes a number or a string.");
  parseJson(operand, at, 0, budget);
  const holds = { gt: (n: number) => n > 0, gte: (n: number) => n >= 0, lt: (n: number) => n < 0, lte: (n: number) => n <= 0 }[
    operator
  ];
  return (event) => {
    const found = read(event);
    if (typeof found === "number" && typeof operand === "number") return holds(found - operand);
    return typeof found === "string" && typeof operand === "string" && holds(compareText(found, operand));
  };
};

/** An operand that JSON carries exactly. */
const parseJson = (value: unknown, at: string, depth: number, budget: Budget): Json => {
  spend(at, budget);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value === 0 ? 0 : value;
  if (typeof value === "string" && value.isWellFormed()) return value;
  if (depth > MAX_DEPTH || typeof value !== "object") return fail(at, "not a JSON value that can be compared with.");
  if (Array.isArray(value)) {
    if (value.length > budget.nodes) return fail(at, `a filter has at most ${MAX_NODES} parts.`);
    return Array.from(value as unknown[], (item, index) => parseJson(item, `${at}[${index}]`, depth + 1, budget));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    return fail(at, "not a plain JSON value. Compare dates as the text they are stored as.");
  for (const [name, item] of Object.entries(value)) parseJson(item, `${at}.${name}`, depth + 1, budget);
  return value as Json; // every part was checked
};

/** The value at a path, own properties only; undefined when missing. */
const reader = (path: string, at: string): Read => {
  if (path.length > MAX_PATH) return fail(at, `a path has at most ${MAX_PATH} characters.`);
  const [root, ...segments] = splitPath(path);
  if (segments.length > MAX_SEGMENTS) return fail(at, `a path has at most ${MAX_SEGMENTS} parts.`);
  const plain = segments.length === 0;
  if (root === "payload") return (event) => descend(event.payload, segments);
  if (root === "metadata" && !plain) return (event) => descend(event.metadata, segments);
  if (root === "type" && plain) return (event) => event.type ?? undefined;
  if (root === "key" && plain) return (event) => event.key ?? undefined;
  if (root === "id" && plain) return (event) => event.id;
  return fail(at, "a path is id, type, key, correlationId, causationId, metadata.…, payload or payload.…");
};

/** A path taken apart, short forms written out: at dots, unless written `\.`. */
export const splitPath = (short: string): string[] => {
  const path = SHORT[short] ?? short;
  const segments = [""];
  for (let i = 0; i < path.length; i++) {
    const character = path[i] ?? "";
    if (character === ".") segments.push("");
    else if (character === "\\" && i + 1 < path.length) segments[segments.length - 1] += path[++i] ?? "";
    else segments[segments.length - 1] += character;
  }
  return segments;
};

const descend = (value: Json, segments: readonly string[]): Json | undefined => {
  let current: Json | undefined = value;
  for (const segment of segments) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, segment)) return undefined;
    if (Array.isArray(current) && segment === "length") return undefined;
    current = (current as { readonly [name: string]: Json })[segment]; // an own property of an array or object
  }
  return current;
};

/** Deep equality of JSON values; the order of names does not matter. */
export const sameJson = (a: Json | undefined, b: Json | undefined): boolean => {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  const left = a as { readonly [name: string]: Json }; // arrays and objects alike, read by own name
  const right = b as { readonly [name: string]: Json };
  return names.every((name) => Object.hasOwn(right, name) && sameJson(left[name], right[name]));
};

/** By code point, which is also the order of UTF-8 bytes. */
export const compareText = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
};

/** Surrogates stand for code points above all others, but have smaller units than U+E000–U+FFFF. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
