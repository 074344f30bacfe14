import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FrozenClock } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { batchHandler, handler, reject } from "@rheo/runtime/handler";
import { type Breaker, type BreakerPolicy, CLOSED, onBreakerFailure, onBreakerSuccess, onWaited } from "@rheo/runtime/internal";
import { describe, expect, test } from "vitest";
import { caughtUp, type Fault, faulty, fixture, openOrders, pass, record, stopFrozen, turns, until } from "./store.ts";

const policy: BreakerPolicy = { failures: 3, withinMs: null, openMs: 1_000, maxOpenMs: 10_000 };
/** The middle of the spread. */
const RANDOM = 0.5;

/** A breaker after failures at these times, of what was no probe. */
const failing = (timesMs: readonly number[], from: Breaker = CLOSED, rules: BreakerPolicy = policy): Breaker =>
  timesMs.reduce((breaker, atMs) => onBreakerFailure(rules, breaker, false, atMs, RANDOM), from);

describe("a breaker", () => {
  test("opens at the nth failure in a row, and not before", () => {
    expect([failing([1, 2]).phase, failing([1, 2, 3]).phase]).toEqual(["closed", "open"]);
  });

  test("an ack ends the row", () => {
    expect(failing([3, 4], onBreakerSuccess(failing([1, 2]), false)).phase).toBe("closed");
  });

  test("failures longer ago than withinMs do not count", () => {
    const rules = { ...policy, withinMs: 100 };
    expect([failing([0, 50, 150], CLOSED, rules).phase, failing([0, 50, 99], CLOSED, rules).phase]).toEqual(["closed", "open"]);
  });

  test("what was started before it opened neither closes it nor keeps it open", () => {
    const halfOpen = onWaited(failing([1, 2, 3]));
    expect([onBreakerSuccess(halfOpen, false).phase, onBreakerFailure(policy, halfOpen, false, 5, RANDOM).phase]).toEqual([
      "half_open",
      "half_open",
    ]);
  });

  test("each probe that fails doubles the wait, up to the longest", () => {
    let breaker = failing([1, 2, 3]);
    const waits = [breaker.waitMs];
    for (let nowMs = 1_000; waits.length < 7; nowMs += 20_000) {
      breaker = onBreakerFailure(policy, onWaited(breaker), true, nowMs, RANDOM);
      waits.push(breaker.waitMs);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 8_333, 8_333, 8_333]);
  });

  test("the wait is spread by a fifth to either side, and never above the longest", () => {
    const waitAt = (random: number, openMs: number): number =>
      onBreakerFailure({ ...policy, failures: 1, openMs }, CLOSED, false, 1, random).waitMs;
    expect([waitAt(0, 1_000), waitAt(0.999_999, 1_000), waitAt(0.999_999, 10_000)]).toEqual([800, 1_200, 10_000]);
  });

  test("after the ack of a probe the next waits begin anew", () => {
    const again = onBreakerFailure(policy, onWaited(failing([1, 2, 3])), true, 10, RANDOM);
    const closed = onBreakerSuccess(onWaited(again), true);
    expect([closed.phase, failing([21, 22, 23], closed).waitMs]).toEqual(["closed", 1_000]);
  });
});

const consumer = { stream: "orders", group: "g" } as const;
const NO_DELAY = { retry: { minMs: 0, maxMs: 0, jitter: 0 } } as const;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** What handlers need, and what can be away. */
const downstream = (): {
  away: boolean;
  calls: number;
  attempts: Map<number, number>;
  use(n: number, attempt: number): void;
} => ({
  away: true,
  calls: 0,
  attempts: new Map(),
  use(n, attempt) {
    this.calls += 1;
    this.attempts.set(n, attempt);
    if (this.away) throw new Error("the bank is away");
  },
});

describe("a consumer with a breaker", () => {
  const kinds: readonly (readonly [string, (use: (n: number, attempt: number) => void) => Partial<ConsumerOptions>])[] = [
    ["at once", (use) => ({ handler: handler((event, { attempt }) => use(Number(event.payload), attempt)) })],
    [
      "later",
      (use) => ({
        handler: handler(async (event, { attempt }) => {
          await turns(1);
          use(Number(event.payload), attempt);
        }),
      }),
    ],
    [
      "in batches",
      (use) => ({
        batch: { size: 5, waitMs: 1 },
        handler: batchHandler((events, { deliveries }) => {
          for (const [at, event] of events.entries()) use(Number(event.payload), deliveries[at]?.attempt ?? 0);
        }),
      }),
    ],
  ];
  for (const [how, options] of kinds) {
    test(`whose handlers fail ${how} charges only the failures that opened it, through an outage of an hour`, async () => {
      const clock = new FrozenClock();
      await using rheo = await openOrders({ clock, payloads: numbers(200) });
      const bank = downstream();
      const settled = record(rheo, "lease.settled");
      const app = await supervise({
        rheo,
        consumers: [
          {
            ...consumer,
            concurrency: 8,
            createGroup: { ...NO_DELAY, maxAttempts: 3 },
            breaker: { failures: 2 },
            ...options((n, attempt) => bank.use(n, attempt)),
          } as ConsumerOptions,
        ],
      });
      await pass(clock, 3_600_000, 5_000);
      const isHolding = (): boolean => app.children()[0]?.details.breaker !== "open" || app.children()[0]?.details.inflight !== 0;
      for (let steps = 0; isHolding(); steps++) {
        expect(steps, "between two probes nothing is held").toBeLessThan(100);
        await pass(clock, 50, 50); // a probe may be under way
      }
      bank.away = false;
      await pass(clock, 75_000, 1_000);
      const charged = settled.reduce((sum, { retrying, dead }) => sum + retrying + dead, 0);
      expect([(await rheo.lag("orders", "g")).lag, await rheo.deadLetters("orders", "g"), charged]).toEqual([0, [], 2]);
      expect([...bank.attempts.values()].filter((attempt) => attempt > 1).length).toBeLessThanOrEqual(2);
      await stopFrozen(app, clock);
    });
  }

  test("while open holds and fetches nothing, then tries one event, whose ack closes it", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(20) });
    const bank = downstream();
    const told = record(rheo, "breaker.opened", "breaker.half_opened", "breaker.closed");
    const granted = record(rheo, "lease.granted");
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          concurrency: 4,
          createGroup: NO_DELAY,
          breaker: { failures: 3, openMs: 10_000 },
          handler: handler((event, { attempt }) => bank.use(Number(event.payload), attempt)),
        },
      ],
    });
    await until("it is open", () => app.children()[0]?.details.breaker === "open");
    await turns();
    const [calls, grants] = [bank.calls, granted.length];
    await pass(clock, 7_900, 100);
    expect([calls, bank.calls, granted.length - grants, await rheo.leases("orders", "g")]).toEqual([3, 3, 0, []]);
    bank.away = false;
    await pass(clock, 6_000, 50);
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    expect(told.map(({ type }) => type)).toEqual(["breaker.opened", "breaker.half_opened", "breaker.closed"]);
    expect(told[0]).toMatchObject({ failures: 3, reason: "the bank is away" });
    await stopFrozen(app, clock);
  });

  test("takes for its probe what was fetched before it opened, and came when it was half open", async () => {
    const clock = new FrozenClock();
    let fail: (cause: Error) => void = () => undefined;
    const outage = new Promise<never>((_, no) => {
      fail = no;
    });
    let arrive = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    let isHeld = false;
    const fault: Fault = {
      exchange: async (call, { fetch }) => {
        if (fetch === null || seen.length < 2 || isHeld) return call();
        isHeld = true;
        await late;
        return call();
      },
    };
    const seen: unknown[] = [];
    await using rheo = await openOrders({ clock, backend: faulty(memory(), fault), payloads: numbers(8) });
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          concurrency: 2,
          maxDemand: 2,
          createGroup: NO_DELAY,
          breaker: { failures: 1, openMs: 1_000, maxOpenMs: 1_000 },
          handler: handler((event) => {
            seen.push(event.payload);
            if (event.payload === 1 && seen.length === 2) return outage;
            return event.payload === 2 ? reject("not for us") : undefined;
          }),
        },
      ],
    });
    const phase = (): unknown => app.children()[0]?.details.breaker;
    await until("the next fetch is under way", () => isHeld);
    fail(new Error("the bank is away"));
    await until("it is open", () => phase() === "open");
    await pass(clock, 1_300, 50);
    expect(phase()).toBe("half_open");
    arrive();
    await pass(clock, 3_000, 50);
    expect([phase(), (await rheo.lag("orders", "g")).lag]).toEqual(["closed", 0]);
    await stopFrozen(app, clock);
  });

  test("tries exactly one event per wait", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(50) });
    const bank = downstream();
    const opened = record(rheo, "breaker.opened");
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          concurrency: 8,
          createGroup: NO_DELAY,
          breaker: { failures: 5, openMs: 1_000, maxOpenMs: 1_000 },
          handler: handler(async (event, { attempt }) => {
            await turns(1);
            bank.use(Number(event.payload), attempt);
          }),
        },
      ],
    });
    await until("it is open", () => app.children()[0]?.details.breaker === "open");
    await turns();
    const calls = bank.calls;
    await pass(clock, 30_000, 50);
    expect(bank.calls - calls).toBe(opened.length - 1);
    expect(opened.length).toBeGreaterThan(20);
    await stopFrozen(app, clock);
  });

  test("an event that always fails does not keep it open for the others, and dies by its attempts", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: ["poison"] });
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          createGroup: { ...NO_DELAY, maxAttempts: 5 },
          breaker: { failures: 2, openMs: 1_000, maxOpenMs: 1_000 },
          handler: handler((event) => {
            if (event.payload === "poison") throw new Error("always");
          }),
        },
      ],
    });
    await until("it is open", () => app.children()[0]?.details.breaker === "open");
    await rheo.appendMany(
      "orders",
      numbers(10).map((payload) => ({ payload })),
    );
    await pass(clock, 10_000, 50);
    expect((await rheo.deadLetters("orders", "g")).map(({ sequence, attempts }) => [sequence, attempts])).toEqual([[1, 5]]);
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    await stopFrozen(app, clock);
  });

  test("rejects are answers: they neither open it nor wait for it", async () => {
    await using rheo = await openOrders({ payloads: numbers(30) });
    const opened = record(rheo, "breaker.opened");
    await using _app = await supervise({
      rheo,
      consumers: [{ ...consumer, createGroup: {}, breaker: { failures: 2 }, handler: handler(() => reject("not for us")) }],
    });
    await caughtUp(rheo);
    expect([opened, (await rheo.groupInfo("orders", "g")).deadLetters]).toEqual([[], 30]);
  });
});

describe("a consumer with a breaker and threads", () => {
  test("charges only the failures that opened it, and goes on when the outage is over", async () => {
    const directory = await mkdtemp(join(tmpdir(), "rheo-"));
    const away = join(directory, "away");
    await writeFile(away, "");
    await using rheo = await openOrders({ payloads: numbers(500).map(() => ({ away })) });
    const [settled, opened] = [record(rheo, "lease.settled"), record(rheo, "breaker.opened")];
    await using _app = await supervise({
      rheo,
      threads: 2,
      consumers: [
        {
          ...consumer,
          createGroup: { ...NO_DELAY, maxAttempts: 3 },
          breaker: { failures: 2, openMs: 20, maxOpenMs: 20 },
          handler: fixture("downstream.mjs"),
        },
      ],
    });
    await until("several probes have failed", () => opened.length > 5);
    await rm(away);
    await caughtUp(rheo);
    expect(settled.reduce((sum, { retrying, dead }) => sum + retrying + dead, 0)).toBe(2);
    expect([await rheo.deadLetters("orders", "g"), existsSync(away)]).toEqual([[], false]);
  });

  test("a probe that ends its thread is charged, so that its attempts bound it", async () => {
    await using rheo = await openOrders({ payloads: [{ do: "exit", code: 1 }] });
    const settled = record(rheo, "lease.settled");
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [
        {
          ...consumer,
          createGroup: { ...NO_DELAY, maxAttempts: 4 },
          breaker: { failures: 2, openMs: 5, maxOpenMs: 5 },
          handler: fixture("actions.mjs"),
        },
      ],
    });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ attempts }) => attempts)).toEqual([4]);
    expect(settled.reduce((sum, { retrying }) => sum + retrying, 0)).toBe(3);
  });

  test("what a dead thread leaves under suspicion while it is open goes back, and does not pass for its probe", async () => {
    const directory = await mkdtemp(join(tmpdir(), "rheo-"));
    const [file, gone] = [join(directory, "go"), join(directory, "gone")];
    const payloads = [{ do: "exitOnceThereIs", file, gone }, { do: "waitFor", file: gone }, { do: "throw" }];
    await using rheo = await openOrders({ payloads });
    rheo.events.on("breaker.opened", () => writeFileSync(file, ""));
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [
        {
          ...consumer,
          concurrency: 3,
          createGroup: { ...NO_DELAY, maxAttempts: 1 },
          breaker: { failures: 1, openMs: 300, maxOpenMs: 300 },
          handler: fixture("actions.mjs"),
        },
      ],
    });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ sequence }) => sequence)).toEqual([3]);
  });
});
