import { type EventRecord, type Filter, type Json, RheoError } from "@rheo/core";
import { compareText, compileFilter, sameJson } from "@rheo/core/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const record = (payload: Json, more: Partial<EventRecord> = {}): EventRecord => ({
  id: "id-1",
  partition: 0,
  sequence: 1,
  timestampMs: 0,
  type: "curve_update",
  key: null,
  metadata: '{"correlationId":"c-1"}',
  payload: JSON.stringify(payload),
  ...more,
});

const passes = (filter: Filter, payload: Json, more?: Partial<EventRecord>): boolean =>
  compileFilter(filter)("s", record(payload, more));

describe("G7 · the filter language", () => {
  test.each<[Filter, Json, boolean]>([
    [{ "payload.a": 1 }, { a: 1 }, true],
    [{ "payload.a": 1 }, { a: "1" }, false],
    [{ "payload.a": true }, { a: 1 }, false],
    [{ "payload.a": null }, { a: null }, true],
    [{ "payload.a": null }, {}, false],
    [{ "payload.a": { exists: false } }, {}, true],
    [{ "payload.a": { exists: true } }, { a: null }, true],
    [{ "payload.a": { ne: 1 } }, {}, true],
    [{ "payload.a": { nin: [1, 2] } }, { a: 3 }, true],
    [{ "payload.a": { in: [1, "x"] } }, { a: "x" }, true],
    [{ "payload.a": { gt: 2 } }, { a: 10 }, true],
    [{ "payload.a": { gt: 2 } }, { a: "10" }, false],
    [{ "payload.a": { gt: "2" } }, { a: "10" }, false],
    [{ "payload.a": { gte: 1, lt: 2 } }, { a: 1 }, true],
    [{ "payload.a": { gt: "\uffff" } }, { a: "\u{10000}" }, true],
    [{ "payload.a": { startsWith: "ab" } }, { a: "abc" }, true],
    [{ "payload.a": { eq: { x: 1, y: [2] } } }, { a: { y: [2], x: 1 } }, true],
    [{ "payload.a": [1, 2] }, { a: [1, 2] }, true],
    [{ "payload.a.1": 2 }, { a: [1, 2] }, true],
    [{ "payload.a.length": 2 }, { a: [1, 2] }, false],
    [{ "payload.a\\.b": 1 }, { "a.b": 1 }, true],
    [{ "payload.toString": { exists: true } }, {}, false],
    [{ "payload.__proto__": { exists: true } }, {}, false],
    [{ payload: 5 }, 5, true],
    [{ type: "curve_update", correlationId: "c-1" }, {}, true],
    [{ key: { exists: false } }, {}, true],
    [{ or: [{ "payload.a": 1 }, { "payload.b": 2 }] }, { b: 2 }, true],
    [{ and: [{ "payload.a": 1 }, { "payload.b": 2 }] }, { b: 2 }, false],
    [{ not: { "payload.a": 1 } }, { a: 2 }, true],
    [{ where: { "payload.a": 1 } }, { a: 1 }, true],
    [{}, {}, true],
  ])("%j on %j is %s", (filter, payload, expected) => {
    expect(passes(filter, payload)).toBe(expected);
  });

  const nested = (depth: number): Filter => (depth === 0 ? { type: "x" } : { not: nested(depth - 1) });
  test.each<[string, unknown, string]>([
    ["an unknown operator", { "payload.a": { regex: "x" } }, "where.payload.a.regex"],
    ["an unknown root", { "secret.a": 1 }, "where.secret.a"],
    ["a list for a filter", [], "where"],
    ["an empty or", { or: [] }, "where.or"],
    ["gt with an object", { "payload.a": { gt: {} } }, "where.payload.a.gt"],
    ["in without a list", { "payload.a": { in: 1 } }, "where.payload.a.in"],
    ["a date", { "payload.a": { eq: new Date(0) } }, "where.payload.a.eq"],
    ["NaN", { "payload.a": Number.NaN }, "where.payload.a"],
    ["a function", { "payload.a": { eq: () => 1 } }, "where.payload.a.eq"],
    ["an empty condition", { "payload.a": {} }, "where.payload.a"],
    ["a nested mistake", { or: [{ type: "x" }, { "payload.a": { foo: 1 } }] }, "where.or[1].payload.a.foo"],
    ["nesting without end", nested(40), `where${".not".repeat(17)}`],
    ["a thousand conditions", { and: Array.from({ length: 1_000 }, () => ({ type: "x" })) }, "where.and[256].type"],
  ])("%s is invalid_query, with its path", (_, filter, path) => {
    let failure: unknown;
    try {
      compileFilter(filter as Filter);
    } catch (error) {
      failure = error;
    }
    expect(RheoError.is(failure, "invalid_query") && failure.details.path).toBe(path);
  });

  test("strings compare as their UTF-8 bytes do", () => {
    const text = fc.string({ unit: "binary", maxLength: 4 }).filter((value) => value.isWellFormed());
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareText(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  test("equality is by meaning: what JSON prints the same way is the same", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(sameJson(JSON.parse(JSON.stringify(value)), JSON.parse(JSON.stringify(value)))).toBe(true);
      }),
    );
    expect(sameJson({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
    expect(sameJson([1, 2], [2, 1])).toBe(false);
    expect(sameJson([], {})).toBe(false);
  });
});
