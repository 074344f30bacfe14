/** Times, by a clock that stands still until it is told to move. */
import { ack, FrozenClock, Rheo, retry } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { batchHandler, handler } from "@rheo/runtime/handler";
import { prometheus } from "@rheo/telemetry/prometheus";
import { expect, test } from "vitest";
import { scrape, total } from "./fixtures/scrape.ts";
import { openOrders } from "./fixtures/stores.ts";
import { until } from "./fixtures/until.ts";

const HANDLER = "rheo_handler_duration_seconds";
const START = "rheo_delivery_start_latency_seconds";
const ACK = "rheo_delivery_ack_latency_seconds";

const openFrozen = async (payloads: readonly unknown[]): Promise<{ rheo: Rheo; clock: FrozenClock }> => {
  const clock = new FrozenClock();
  const rheo = await Rheo.open({ backend: memory(), clock });
  await rheo.createStream("orders");
  await rheo.createGroup("orders", "g", { retry: { minMs: 0, maxMs: 0 } });
  await rheo.appendMany(
    "orders",
    payloads.map((payload) => ({ payload })),
  );
  return { rheo, clock };
};

const inline = (more: Partial<ConsumerOptions> & Pick<ConsumerOptions, "handler">): ConsumerOptions => ({
  stream: "orders",
  group: "g",
  ...more,
});

const isDone = async (rheo: Rheo): Promise<boolean> => (await rheo.lag("orders", "g")).lag === 0;

test("from append to ack by hand, retries and all; what was not acked has no time", async () => {
  const { rheo, clock } = await openFrozen([1, 2]);
  await using metrics = prometheus({ rheo });
  clock.advance(2_000);
  const [first, second] = await rheo.fetch("orders", "g", { limit: 2 });
  if (first === undefined || second === undefined) throw new Error("Two were appended.");
  clock.advance(500);
  await rheo.settle([
    { lease: first, outcome: retry("again", { delayMs: 0 }) },
    { lease: second, outcome: ack() },
  ]);
  clock.advance(1_000);
  const [again] = await rheo.fetch("orders", "g");
  if (again !== undefined) await rheo.ack(again);
  const families = scrape(await metrics.text());
  expect(total(families, `${ACK}_count`)).toBe(2);
  expect(total(families, `${ACK}_sum`)).toBe(2.5 + 3.5);
  expect(total(families, `${HANDLER}_count`)).toBeNull();
  await rheo.close();
});

test("handlers that return at once, and those that wait, have the time they took and the time their events waited", async () => {
  const { rheo, clock } = await openFrozen(["sync", "async"]);
  await using metrics = prometheus({ rheo });
  clock.advance(4_000);
  const work = handler((event) => {
    clock.advance(event.payload === "sync" ? 40 : 0);
    if (event.payload === "sync") return undefined;
    return Promise.resolve().then(() => clock.advance(300));
  });
  await using app = await supervise({ rheo, consumers: [inline({ handler: work })] });
  await until("all is acked", () => isDone(rheo));
  const families = scrape(await metrics.text());
  expect(total(families, `${HANDLER}_count`, { outcome: "ack" })).toBe(2);
  expect(total(families, `${HANDLER}_sum`)).toBeCloseTo(0.34, 6);
  expect(total(families, `${START}_count`)).toBe(2);
  expect(total(families, `${START}_sum`)).toBeCloseTo(4 + 4.04, 6);
  await app.stop();
  await rheo.close();
});

test("each event of a batch counts, with the time of its call", async () => {
  const { rheo, clock } = await openFrozen([1, 2, 3]);
  await using metrics = prometheus({ rheo });
  const work = batchHandler(async () => {
    await Promise.resolve();
    clock.advance(200);
  });
  await using app = await supervise({ rheo, consumers: [inline({ handler: work, batch: { size: 3, waitMs: 0 } })] });
  await until("all is acked", () => isDone(rheo));
  const families = scrape(await metrics.text());
  expect(total(families, `${HANDLER}_count`)).toBe(3);
  expect(total(families, `${HANDLER}_sum`)).toBeGreaterThanOrEqual(0.6);
  await app.stop();
  await rheo.close();
});

test("a second attempt has a handler time, and no time from append to start", async () => {
  const { rheo } = await openFrozen([1]);
  await using metrics = prometheus({ rheo });
  const work = handler((_, { attempt }) => (attempt === 1 ? retry("once", { delayMs: 0 }) : ack()));
  await using app = await supervise({ rheo, consumers: [inline({ handler: work })] });
  await until("all is acked", () => isDone(rheo));
  const families = scrape(await metrics.text());
  expect(total(families, `${HANDLER}_count`, { outcome: "retry" })).toBe(1);
  expect(total(families, `${HANDLER}_count`, { outcome: "ack" })).toBe(1);
  expect(total(families, `${START}_count`)).toBe(1);
  await app.stop();
  await rheo.close();
});

test("in threads the time is the handler's own, and what a thread died of is timed too", async () => {
  await using rheo = await openOrders([{ do: "wait", ms: 30 }, { do: "exit" }]);
  await using metrics = prometheus({ rheo });
  const createGroup = { maxAttempts: 1 };
  const module = new URL("./fixtures/actions.mjs", import.meta.url);
  await using app = await supervise({ rheo, threads: 1, consumers: [inline({ handler: module, createGroup, concurrency: 1 })] });
  await rheo.whenCaughtUp("orders", "g");
  const families = scrape(await metrics.text());
  expect(total(families, `${HANDLER}_count`, { outcome: "ack" })).toBe(1);
  expect(total(families, `${HANDLER}_sum`, { outcome: "ack" })).toBeGreaterThanOrEqual(0.029);
  expect(total(families, `${HANDLER}_count`, { outcome: "retry" })).toBe(1);
  expect(total(families, `${START}_count`)).toBe(2);
  expect(total(families, `${ACK}_count`)).toBe(1);
  await app.stop();
});

test("without times nothing is made of single deliveries", async () => {
  const { rheo } = await openFrozen([1]);
  await using metrics = prometheus({ rheo, times: false });
  for (const type of ["delivery.leased", "delivery.settled", "delivery.handled"] as const)
    expect(rheo.events.listenerCount(type), type).toBe(0);
  expect(await metrics.text()).toContain(`# TYPE ${ACK} histogram`);
  await rheo.close();
});
