import { FrozenClock } from "@rheo/core";
import { type PipelineOptions, pipeline, type RunningPipeline } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import { fill, numbers, openOrders, pass, tended, until } from "./fixtures/store.ts";

const run = (
  rheo: PipelineOptions["rheo"],
  clock: FrozenClock,
  rateLimit: PipelineOptions["rateLimit"],
  startedAt: number[],
): RunningPipeline =>
  tended(
    rheo,
    pipeline({
      rheo,
      stream: "orders",
      group: "g",
      processors: { handle: () => void startedAt.push(clock.now()) },
      ...(rateLimit === undefined ? {} : { rateLimit }),
    }),
  );

describe("with a rate limit", () => {
  test("as many start at once as may in a period, then one after the other, in time", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(20) });
    const startedAt: number[] = [];
    await using _running = run(rheo, clock, { events: 5, perMs: 1_000 }, startedAt);
    const startMs = clock.now();
    await until("five have started", () => startedAt.length === 5);
    await pass(clock, 2_000, 10);
    expect(startedAt.map((atMs) => atMs - startMs)).toEqual([0, 0, 0, 0, 0, ...numbers(10).map((n) => (n + 1) * 200)]);
  });

  test("in no period do more start than twice the limit, and on average no more than it", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(500) });
    const startedAt: number[] = [];
    await using _running = run(rheo, clock, { events: 30, perMs: 700 }, startedAt);
    await pass(clock, 7_000, 7);
    const inPeriods = startedAt.map((atMs, index) => startedAt.slice(index).filter((other) => other < atMs + 700).length);
    expect(Math.max(...inPeriods)).toBeLessThanOrEqual(60);
    expect(startedAt.length).toBeLessThanOrEqual(30 + 300);
    expect(startedAt.length).toBeGreaterThanOrEqual(30 + 295);
  });

  test("no more is leased than a second or two of work", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(500) });
    const startedAt: number[] = [];
    await using running = run(rheo, clock, { events: 10, perMs: 1_000 }, startedAt);
    const held: number[] = [];
    for (let step = 0; step < 50; step++) {
      await pass(clock, 100, 20);
      held.push(running.stats().held);
    }
    expect(Math.max(...held)).toBeLessThanOrEqual(25);
    expect(startedAt.length).toBeGreaterThanOrEqual(55);
  });

  test("idle time is not saved up beyond one period", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock });
    const startedAt: number[] = [];
    await using _running = run(rheo, clock, { events: 3, perMs: 1_000 }, startedAt);
    await pass(clock, 60_000, 1_000);
    await fill(rheo, numbers(10));
    await until("three have started", () => startedAt.length === 3);
    await pass(clock, 300, 50);
    expect(startedAt.length).toBe(3);
  });
});
