import { FrozenClock } from "@rheo/core";
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { batchHandler, handler, release } from "@rheo/runtime/handler";
import { available, fullBucket, type RateLimit, refill, take, waitMs } from "@rheo/runtime/internal";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actions, fixture, openOrders, pass, record, stopFrozen, turns, until } from "./store.ts";

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const consumer = { stream: "orders", group: "g", createGroup: {} } as const;

describe("a token bucket", () => {
  const limit: RateLimit = { events: 10, perMs: 1_000 };

  test("is full at first, fills by the time that passes, and never beyond", () => {
    const empty = take(limit, fullBucket(limit, 0), 10);
    expect([0, 99, 100, 250, 1_000, 5_000].map((nowMs) => available(refill(limit, empty, nowMs), 100))).toEqual([
      0, 0, 1, 2, 10, 10,
    ]);
  });

  test("says how long to wait for so many, at most for all that it can hold", () => {
    const empty = take(limit, fullBucket(limit, 0), 10);
    expect([0, 1, 10, 99].map((wanted) => waitMs(limit, empty, wanted))).toEqual([0, 100, 1_000, 1_000]);
  });

  test("whatever is asked when: never more than a full bucket and what has flowed in since", () => {
    fc.assert(
      fc.property(
        fc.record({ events: fc.integer({ min: 1, max: 1_000 }), perMs: fc.integer({ min: 1, max: 100_000 }) }),
        fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 5_000 }), wanted: fc.nat(500) }), { maxLength: 100 }),
        (rate, asks) => {
          let bucket = fullBucket(rate, 0);
          let nowMs = 0;
          let taken = 0;
          for (const { afterMs, wanted } of asks) {
            nowMs += afterMs;
            bucket = refill(rate, bucket, nowMs);
            const got = available(bucket, wanted);
            bucket = take(rate, bucket, got);
            taken += got;
            expect(taken).toBeLessThanOrEqual(rate.events + (nowMs * rate.events) / rate.perMs + 0.001);
          }
        },
      ),
    );
  });
});

describe("a consumer with a rate limit", () => {
  const kinds: readonly (readonly [string, (onStart: (count: number) => void) => Partial<ConsumerOptions>])[] = [
    ["return at once", (onStart) => ({ handler: handler(() => onStart(1)) })],
    [
      "take a moment",
      (onStart) => ({
        handler: handler(async () => {
          onStart(1);
          await turns(1);
        }),
      }),
    ],
    ["take batches", (onStart) => ({ batch: { size: 4, waitMs: 1 }, handler: batchHandler((events) => onStart(events.length)) })],
  ];
  for (const [how, options] of kinds) {
    test(`whose handlers ${how} starts what a full bucket holds, then as many as the rate says`, async () => {
      const clock = new FrozenClock();
      await using rheo = await openOrders({ clock, payloads: numbers(1_000) });
      let started = 0;
      const app = await supervise({
        rheo,
        consumers: [
          {
            ...consumer,
            rateLimit: { events: 8, perMs: 1_000 },
            ...options((count) => {
              started += count;
            }),
          } as ConsumerOptions,
        ],
      });
      await turns(50);
      expect(started).toBe(8);
      await pass(clock, 60_000, 25);
      expect(started).toBeGreaterThan(8 + 60 * 8 - 5);
      expect(started).toBeLessThanOrEqual(8 + 60 * 8);
      await stopFrozen(app, clock);
    });
  }

  test("holds about as much as it will start in a second or two, whatever its concurrency", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(1_000) });
    const app = await supervise({
      rheo,
      consumers: [{ ...consumer, concurrency: 500, rateLimit: { events: 2, perMs: 1_000 }, handler: handler(() => undefined) }],
    });
    let most = 0;
    for (let step = 0; step < 100; step++) {
      await pass(clock, 100, 50);
      most = Math.max(most, (await rheo.leases("orders", "g")).length);
    }
    expect(most).toBeLessThanOrEqual(3);
    await stopFrozen(app, clock);
  });

  test("takes batches as large as the bucket when that is smaller than the batch", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(100) });
    const sizes: number[] = [];
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          rateLimit: { events: 3, perMs: 1_000 },
          batch: { size: 50, waitMs: 10 },
          handler: batchHandler((events) => void sizes.push(events.length)),
        },
      ],
    });
    await pass(clock, 5_500, 25);
    expect(sizes).toEqual([3, 3, 3, 3, 3, 3]);
    await stopFrozen(app, clock);
  });

  test("keeps to it in threads", async () => {
    await using rheo = await openOrders({ payloads: actions(...new Array<string>(100).fill("ack")) });
    const settled = record(rheo, "lease.settled");
    await using app = await supervise({
      rheo,
      threads: 2,
      consumers: [{ ...consumer, rateLimit: { events: 10, perMs: 86_400_000 }, handler: fixture("actions.mjs") }],
    });
    await until("ten are acked", () => settled.reduce((sum, { acked }) => sum + acked, 0) >= 10);
    await turns(100);
    expect(settled.reduce((sum, { acked }) => sum + acked, 0)).toBe(10);
    expect(app.children()[1]?.details).toMatchObject({ rateTokens: 0 });
  });

  test("what was handed to a thread and not begun costs nothing", async () => {
    await using rheo = await openOrders({ payloads: actions("spinForever", ...new Array<string>(8).fill("ack")) });
    const settled = record(rheo, "lease.settled");
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [
        {
          ...consumer,
          createGroup: { maxAttempts: 1 },
          timeoutMs: 50,
          concurrency: 4,
          rateLimit: { events: 9, perMs: 86_400_000 },
          handler: fixture("actions.mjs"),
        },
      ],
    });
    await until("all are settled", () => settled.reduce((sum, { acked, dead }) => sum + acked + dead, 0) === 9);
  });

  test("a handler that releases is bounded by it too", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1] });
    let calls = 0;
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          rateLimit: { events: 1, perMs: 1_000 },
          handler: handler(() => {
            calls += 1;
            return release();
          }),
        },
      ],
    });
    await pass(clock, 10_000, 50);
    expect(calls).toBeGreaterThanOrEqual(10);
    expect(calls).toBeLessThanOrEqual(11);
    await stopFrozen(app, clock);
  });
});
