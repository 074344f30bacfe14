import { RheoError } from "@rheo/core";
import { normaliseMetadata, normalisePayload } from "@rheo/core/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const failureOf = (run: () => unknown): RheoError => {
  try {
    run();
  } catch (error) {
    if (RheoError.is(error)) return error;
  }
  throw new Error("expected a RheoError");
};

describe("L7 · a payload is stored as the value that every reader gets", () => {
  test("any JSON value comes through deep-equal, as value and as text", () => {
    const json = fc
      .jsonValue({ noUnicodeString: false })
      .filter((value) => !JSON.stringify(value).includes("\\u0000") && JSON.stringify(value).isWellFormed());
    fc.assert(
      fc.property(json, (value) => {
        const expected: unknown = JSON.parse(JSON.stringify(value));
        const { text, value: stored } = normalisePayload(value);
        expect(stored).toEqual(expected);
        expect(JSON.parse(text)).toEqual(expected);
      }),
    );
  });

  test("toJSON is honoured, undefined fields are dropped, −0 becomes 0", () => {
    const { text, value } = normalisePayload({ at: new Date(0), gone: undefined, zero: -0, nested: { toJSON: () => [1] } });
    expect(text).toBe('{"at":"1970-01-01T00:00:00.000Z","zero":0,"nested":[1]}');
    expect(Object.is((value as { zero: number }).zero, 0)).toBe(true);
  });

  test("own keys such as __proto__ are kept and pollute nothing (B86)", () => {
    const text = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}';
    expect(normalisePayload(JSON.parse(text)).text).toBe(text);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  test("the stored value shares nothing with the caller's and is frozen", () => {
    const mine = { list: [{ n: 1 }] };
    const { value } = normalisePayload(mine);
    const [item] = mine.list;
    if (item !== undefined) item.n = 2;
    expect(value).toEqual({ list: [{ n: 1 }] });
    expect(Object.isFrozen((value as { list: object }).list)).toBe(true);
  });

  const cycle: { self?: unknown } = {};
  cycle.self = { cycle };
  const deep = JSON.parse(`${"[".repeat(10_000)}${"]".repeat(10_000)}`) as unknown;
  const throwing = {
    toJSON: () => {
      throw new Error("no");
    },
  };
  test.each<[string, unknown, string]>([
    ["NaN", { a: Number.NaN }, "payload.a"],
    ["Infinity", [1, Number.NEGATIVE_INFINITY], "payload[1]"],
    ["BigInt", { a: { b: 1n } }, "payload.a.b"],
    ["function", { f: () => 1 }, "payload.f"],
    ["symbol", [Symbol("s")], "payload[0]"],
    ["symbol-named field", { [Symbol("s")]: 1 }, "payload"],
    ["Map", { m: new Map() }, "payload.m"],
    ["Set", { s: new Set() }, "payload.s"],
    ["typed array", { t: new Uint8Array(1) }, "payload.t"],
    ["Buffer", { t: Buffer.alloc(1) }, "payload.t"],
    ["RegExp", { r: /x/ }, "payload.r"],
    ["Error", { e: new TypeError("x") }, "payload.e"],
    ["boxed number", { n: Object(1) }, "payload.n"],
    ["undefined in an array", [undefined], "payload[0]"],
    ["a hole in an array", new Array(1), "payload[0]"],
    ["undefined", undefined, "payload"],
    ["a cycle", cycle, "payload.self.cycle"],
    ["10,000 levels", deep, `payload${"[0]".repeat(128)}`],
    ["U+0000", { a: "x\u0000" }, "payload.a"],
    ["a lone surrogate", ["\ud800"], "payload[0]"],
    ["a lone surrogate in a name", { "a\udc00": 1 }, "payload.a\udc00"],
    ["a toJSON that throws", { t: throwing }, "payload.t"],
  ])("%s is refused with its path", (_, payload, path) => {
    const error = failureOf(() => normalisePayload(payload));
    expect(error.code).toBe("invalid_payload");
    expect(error.details.path).toBe(path);
    expect(error.message.isWellFormed()).toBe(true);
  });

  test("128 levels are fine", () => {
    expect(() => normalisePayload(JSON.parse(`${"[".repeat(128)}${"]".repeat(128)}`))).not.toThrow();
  });
});

describe("L7 · metadata is flat", () => {
  test("scalars pass", () => {
    expect(normaliseMetadata({ a: "x", b: 1, c: true, d: null }).text).toBe('{"a":"x","b":1,"c":true,"d":null}');
  });
  test.each([[{ a: {} }], [{ a: [] }], [[1]], ["text"], [{ a: Number.NaN }]])("%j is refused", (metadata) => {
    expect(failureOf(() => normaliseMetadata(metadata)).code).toBe("invalid_payload");
  });
});
