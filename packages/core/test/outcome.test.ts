import { reject, retry } from "@rheo/core";
import { cleanText, failureText, utf8Bytes } from "@rheo/core/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const circular = new Error("circular");
Object.assign(circular, { self: circular, call: () => 1 });
const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("trap");
    },
    getOwnPropertyDescriptor: () => {
      throw new Error("trap");
    },
  },
);

describe("T6 · anything thrown becomes a bounded, clean reason (B55, B56)", () => {
  test.each<[string, unknown, string]>([
    ["undefined", undefined, "failed"],
    ["null", null, "failed"],
    ["a string", "x", "x"],
    ["an empty object", {}, "{}"],
    ["an object with a message", { message: "m" }, "m"],
    ["an object without a prototype", Object.create(null), "{}"],
    ["a circular error", circular, "circular"],
    ["a typed error", new TypeError("bad"), "TypeError: bad"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["a BigInt", 5n, "5"],
    ["a hostile proxy", hostile, "failed (the value given cannot be read)"],
    [
      "an aggregate of 10,000",
      new AggregateError(
        Array.from({ length: 10_000 }, () => new Error("e")),
        "many",
      ),
      "AggregateError: many",
    ],
  ])("%s", (_, thrown, reason) => {
    expect(failureText(thrown, "failed").reason).toBe(reason);
  });

  test("a reason of 20 MB is cut to 4 KiB", () => {
    const outcome = reject("x".repeat(20_000_000));
    expect(outcome.kind === "reject" && outcome.reason.length).toBe(4_096);
  });

  test("U+0000 and lone surrogates are replaced", () => {
    const outcome = retry("a\u0000b\ud800");
    expect(outcome.kind === "retry" && outcome.reason).toBe("a\ufffdb\ufffd");
  });

  test("text is never cut inside a character (B83)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, maxBytes) => {
        const cleaned = cleanText(text, maxBytes);
        expect(cleaned.isWellFormed()).toBe(true);
        expect(utf8Bytes(cleaned)).toBeLessThanOrEqual(maxBytes);
      }),
    );
    for (const limit of [10, 11, 12, 13, 14])
      expect(cleanText(`${"a".repeat(10)}🙂`, limit)).toBe(limit < 14 ? "a".repeat(10) : `${"a".repeat(10)}🙂`);
  });
});
