import { FrozenClock, Rheo, RheoError, retry } from "@rheo/core";
import { retryDelayMs } from "@rheo/core/internal";
import { memory } from "@rheo/memory";
import fc from "fast-check";
import { expect, test } from "vitest";

const policy = { minMs: 1_000, maxMs: 300_000, factor: 2, jitter: 0.2 };

test("T3 · delays double from minMs to maxMs", () => {
  const delays = [1, 2, 3, 8, 9, 10, 1_000].map((attempt) => retryDelayMs(policy, attempt, 0.5));
  expect(delays).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000]);
});

test("T3 · jitter spreads by its share and never passes maxMs, for any policy and attempt (B134, B135)", () => {
  const any = fc.record({
    minMs: fc.integer({ min: 0, max: 10_000 }),
    maxMs: fc.integer({ min: 10_000, max: 31_622_400_000 }),
    factor: fc.double({ min: 1, max: 1_000, noNaN: true }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(
      any,
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (given, attempt, random) => {
        const delay = retryDelayMs(given, attempt, random);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(given.maxMs);
      },
    ),
  );
  const spread = Array.from({ length: 100 }, (_, index) => retryDelayMs(policy, 4, index / 100));
  expect(Math.max(...spread) - Math.min(...spread)).toBeGreaterThan(0.19 * 8_000);
});

test.each([
  [{ minMs: -1 }],
  [{ minMs: 10, maxMs: 5 }],
  [{ factor: 0 }],
  [{ jitter: 2 }],
  [{ minMs: Number.NaN }],
  [{ backoff: 1 }],
])("a retry policy of %j is refused", async (bad) => {
  const rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
  await rheo.createStream("s");
  const failure = await rheo.createGroup("s", "g", { retry: bad as object }).catch((error: unknown) => error);
  expect(RheoError.is(failure, "invalid_option")).toBe(true);
  await rheo.close();
});

test.each([[Number.NaN], [-1], ["5"], [Number.POSITIVE_INFINITY], [0.5]])("a delay of %s is refused", (delayMs) => {
  expect(() => retry("busy", { delayMs: delayMs as number })).toThrow(RheoError);
});
