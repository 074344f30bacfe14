import { FrozenClock, type RheoEventOf } from "@rheo/core";
import { supervise } from "@rheo/runtime";
import { batchHandler, handler, retry } from "@rheo/runtime/handler";
import { expect, test } from "vitest";
import { actions, caughtUp, fixture, openOrders, record } from "./store.ts";

const NO_DELAY = { retry: { minMs: 0, maxMs: 0 } };
const consumer = { stream: "orders", group: "g", createGroup: NO_DELAY };

/** Outcomes and times, by sequence and attempt. */
const timesOf = (told: readonly RheoEventOf<"delivery.handled">[]): [number, number, string, number][] =>
  told
    .flatMap(({ handled }) => handled)
    .flatMap(({ sequences, attempt, outcome, tookMs }) =>
      sequences.map((sequence, at): [number, number, string, number] => [sequence, attempt, outcome, tookMs[at] ?? -1]),
    )
    .sort(([a, one], [b, other]) => a - b || one - other);

test("handlers that return at once, that wait and that fail are told with the time they took", async () => {
  const clock = new FrozenClock();
  await using rheo = await openOrders({ clock, payloads: ["sync", "async", "fails"] });
  const told = record(rheo, "delivery.handled");
  const work = handler(({ payload }, { attempt }) => {
    if (payload === "async") return Promise.resolve().then(() => clock.advance(30));
    clock.advance(payload === "sync" ? 10 : 5);
    return payload === "fails" && attempt === 1 ? retry("once", { delayMs: 0 }) : undefined;
  });
  await using _app = await supervise({ rheo, consumers: [{ ...consumer, concurrency: 1, handler: work }] });
  await caughtUp(rheo);
  expect(timesOf(told)).toEqual([
    [1, 1, "ack", 10],
    [2, 1, "ack", 30],
    [3, 1, "retry", 5],
    [3, 2, "ack", 5],
  ]);
});

test("each delivery of a batch is told with the time of the call", async () => {
  const clock = new FrozenClock();
  await using rheo = await openOrders({ clock, payloads: [1, 2, 3] });
  const told = record(rheo, "delivery.handled");
  const work = batchHandler(async () => {
    await Promise.resolve();
    clock.advance(40);
  });
  await using _app = await supervise({ rheo, consumers: [{ ...consumer, batch: { size: 3, waitMs: 0 }, handler: work }] });
  await caughtUp(rheo);
  expect(timesOf(told)).toEqual([1, 2, 3].map((sequence) => [sequence, 1, "ack", 40]));
});

test("in threads each is told with its own time, and what ended its thread with that until its end", async () => {
  await using rheo = await openOrders({ payloads: actions({ do: "wait", ms: 40 }, "nothing", "exitOnce") });
  const told = record(rheo, "delivery.handled");
  const leasedAtMs = performance.now();
  await using _app = await supervise({
    rheo,
    threads: 1,
    consumers: [{ ...consumer, concurrency: 1, handler: fixture("actions.mjs") }],
  });
  await caughtUp(rheo);
  const times = timesOf(told);
  expect(times.map(([sequence, attempt, outcome]) => [sequence, attempt, outcome])).toEqual([
    [1, 1, "ack"],
    [2, 1, "ack"],
    [3, 1, "retry"],
    [3, 2, "ack"],
  ]);
  expect(times[0]?.[3]).toBeGreaterThanOrEqual(39);
  expect(times[1]?.[3]).toBeLessThan(times[0]?.[3] ?? 0);
  for (const { beganAtMs } of told.flatMap(({ handled }) => handled))
    for (const ms of beganAtMs) expect(ms).toBeGreaterThanOrEqual(leasedAtMs);
});
