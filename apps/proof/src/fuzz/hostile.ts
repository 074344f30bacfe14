/** Values that a careless or hostile caller might give in place of any other: each is made anew, and has a name to be shown by. */
import fc from "fast-check";

/** A value by its recipe, so that a failing case can be printed and made again. */
export interface Hostile {
  readonly name: string;
  readonly make: () => unknown;
}

/** What hostile objects throw; told apart from faults by its message. */
class HostileError extends Error {
  override readonly name = "HostileError";
}

const boom = (): never => {
  throw new HostileError("hostile");
};

/** Every operation on it throws. */
const throwingProxy = (target: object): object =>
  new Proxy(target, {
    get: boom,
    has: boom,
    ownKeys: boom,
    getPrototypeOf: boom,
    getOwnPropertyDescriptor: boom,
    set: boom,
    defineProperty: boom,
  });

const cycle = (): object => {
  const value: Record<string, unknown> = { a: 1 };
  value.self = value;
  return value;
};

/** Small in memory, 2^`depth` values when written out. */
const shared = (depth: number): unknown => {
  let value: unknown = [1];
  for (let level = 0; level < depth; level++) value = [value, value];
  return value;
};

const deep = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
};

const own = (name: string, value: unknown): object =>
  Object.defineProperty({}, name, { value, enumerable: true, configurable: true, writable: true });

const LONG = 100_000;
const SHARED_DEPTH = 12;
const DEEP = 5_000;

const RECIPES: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  zero: () => 0,
  "minus zero": () => -0,
  one: () => 1,
  "minus one": () => -1,
  half: () => 0.5,
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  "2^31": () => 2 ** 31,
  "2^53 - 1": () => Number.MAX_SAFE_INTEGER,
  "2^53": () => 2 ** 53,
  "1e308": () => 1e308,
  BigInt: () => 1n,
  symbol: () => Symbol("hostile"),
  function: () => () => undefined,
  "function that throws": () => boom,
  "empty text": () => "",
  space: () => " ",
  NUL: () => "a\u0000b",
  "lone surrogate": () => "a\ud800b",
  "text of U+FFFF": () => "\uffff",
  quotes: () => "'\"`; DROP TABLE rheo_events; --",
  escape: () => "\u001b[2J\r\n",
  "long text": () => "x".repeat(LONG),
  "long text of three bytes each": () => "あ".repeat(LONG),
  "text __proto__": () => "__proto__",
  "text constructor": () => "constructor",
  "text of a path": () => "../../etc/passwd",
  "text of a number": () => "1",
  "text of braces": () => "{%s}$1:*?",
  "empty array": () => [],
  "array of null": () => [null],
  "array of a hole": () => new Array(1),
  "longest sparse array": () => new Array(2 ** 32 - 1),
  "array of arrays": () => [[[]]],
  "empty object": () => ({}),
  "object without a prototype": () => Object.create(null),
  "own __proto__": () => own("__proto__", { polluted: true }),
  "own constructor": () => own("constructor", { prototype: { polluted: true } }),
  "own then": () => own("then", 1),
  "own toString": () => own("toString", null),
  "own toJSON": () => own("toJSON", () => ({ __proto__: null })),
  "own length": () => own("length", 2 ** 53),
  "toJSON that throws": () => ({ toJSON: boom }),
  "toString that throws": () => ({ toString: boom, valueOf: boom, [Symbol.toPrimitive]: boom }),
  "getter that throws": () => Object.defineProperty({}, "a", { enumerable: true, get: boom }),
  "getters of known names that throw": () =>
    Object.defineProperties({}, Object.fromEntries(GETTERS.map((name) => [name, { enumerable: true, get: boom }]))),
  "proxy that throws": () => throwingProxy({}),
  "proxy of an array that throws": () => throwingProxy([]),
  "proxy of a function that throws": () => throwingProxy(() => undefined),
  "revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "proxy of a Date": () => new Proxy(new Date(0), {}),
  "invalid Date": () => new Date(Number.NaN),
  "last Date": () => new Date(8.64e15),
  "first Date": () => new Date(-8.64e15),
  "Date by prototype alone": () => Object.create(Date.prototype),
  "signal by prototype alone": () => Object.create(AbortSignal.prototype),
  "aborted signal": () => AbortSignal.abort("hostile"),
  Map: () => new Map([["a", 1]]),
  Set: () => new Set([1]),
  bytes: () => new Uint8Array(3),
  Error: () => new Error("hostile"),
  "Error whose message throws": () => Object.defineProperty(new Error("hostile"), "message", { get: boom }),
  Promise: () => Promise.resolve(1),
  RegExp: () => /a+/,
  URL: () => new URL("memory:"),
  cycle,
  "shared twelve times over": () => shared(SHARED_DEPTH),
  "very deep": () => deep(DEEP),
};

const GETTERS = ["name", "stream", "group", "payload", "partitions", "limit", "kind", "partition", "where", "confirm", "signal"];

const ALL: readonly Hostile[] = Object.entries(RECIPES).map(([name, make]) => ({ name, make }));

export const hostile: fc.Arbitrary<Hostile> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...ALL) },
  { weight: 1, arbitrary: fc.anything().map((value): Hostile => ({ name: fc.stringify(value), make: () => value })) },
);

/** Every value there is a recipe for. */
export const everyHostile: readonly Hostile[] = ALL;
