/** A thread at work for one group: further slices while it lasts, and the blame for all of them when it dies. */
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { firstSeed, seeded } from "@rheo/testing/internal";
import { expect, test } from "vitest";
import { actions, caughtUp, fixture, openOrders, record, until } from "./store.ts";

const consumer: ConsumerOptions = {
  stream: "orders",
  group: "g",
  createGroup: { retry: { minMs: 0, maxMs: 0, jitter: 0 } },
  handler: fixture("actions.mjs"),
};
const wait = (ms: number): { do: string; ms: number } => ({ do: "wait", ms });
const many = <Item>(count: number, item: Item): Item[] => new Array<Item>(count).fill(item);

test("a handler that takes long does not keep those beside it on its thread from going on", async () => {
  await using rheo = await openOrders({ payloads: actions("waitForSignal", ...many(2_000, wait(1))) });
  const settled = record(rheo, "lease.settled");
  const app = await supervise({ rheo, threads: 1, consumers: [{ ...consumer, concurrency: 4 }] });
  await until("all others are acked", () => settled.reduce((sum, { acked }) => sum + acked, 0) === 2_000);
  expect(app.children()[1]?.details).toMatchObject({ handlers: 1, inflight: 1 });
  await app.stop({ timeoutMs: 0 });
});

test("handlers on a thread never run more at once than its share of the concurrency", async () => {
  await using rheo = await openOrders({ payloads: actions(...many(300, { do: "tellMost", ms: 3 })) });
  await using _app = await supervise({ rheo, threads: 2, consumers: [{ ...consumer, concurrency: 6 }] });
  await caughtUp(rheo);
  const most = (await rheo.deadLetters("orders", "g", { limit: 1_000 })).map(({ reason }) => Number(reason));
  expect(Math.max(...most)).toBe(3);
});

test("batches on a thread run beside each other, up to its share of the concurrency", async () => {
  await using rheo = await openOrders({ payloads: many(60, 1) });
  await using _app = await supervise({
    rheo,
    threads: 1,
    consumers: [{ ...consumer, concurrency: 3, batch: { size: 4, waitMs: 1 }, handler: fixture("slow-batch.mjs") }],
  });
  await caughtUp(rheo);
  const most = (await rheo.deadLetters("orders", "g", { limit: 1_000 })).map(({ reason }) => Number(reason));
  expect(Math.max(...most)).toBe(3);
});

test("when a thread dies, what ran on it from several slices is suspected together, and only the killer is charged", async () => {
  const long = wait(700);
  await using rheo = await openOrders({ payloads: actions(long, ...many(400, wait(1)), "throwInTimer", ...many(50, wait(1))) });
  const [failed, died] = [record(rheo, "handler.failed"), record(rheo, "thread.died")];
  await using _app = await supervise({ rheo, threads: 1, consumers: [{ ...consumer, concurrency: 4 }] });
  await caughtUp(rheo);
  expect(failed.map(({ sequence, attempt }) => [sequence, attempt])).toEqual([[402, 1]]);
  expect(died.map(({ charged }) => charged)).toEqual([0, 1]);
});

test("whatever handlers do to their threads, each event ends once and only what failed is charged", async () => {
  const seed = firstSeed(Math.floor(Math.random() * 2 ** 31));
  const random = seeded(seed);
  const kinds = [
    ...many(140, { do: "ack" }),
    ...many(50, { do: "wait", ms: 1 }),
    ...many(8, { do: "retryOnce" }),
    { do: "exitOnce" },
    { do: "throwInTimer" },
  ];
  const payloads = Array.from({ length: 2_000 }, () => random.pick(kinds));
  await using rheo = await openOrders({ payloads });
  const [settled, failed] = [record(rheo, "lease.settled"), record(rheo, "handler.failed")];
  await using app = await supervise({ rheo, threads: 2, consumers: [{ ...consumer, concurrency: 8 }] });
  await until(`all are settled (seed ${seed})`, async () => (await rheo.lag("orders", "g")).lag === 0, 50_000);
  const guilty = payloads.flatMap((payload, index) => (payload.do === "ack" || payload.do === "wait" ? [] : [index + 1]));
  expect(
    failed.map(({ sequence }) => sequence).toSorted((a, b) => a - b),
    `seed ${seed}`,
  ).toEqual(guilty);
  expect(
    settled.reduce((sum, { acked }) => sum + acked, 0),
    `seed ${seed}`,
  ).toBe(2_000);
  expect(app.children()[1]?.restarts, `seed ${seed}`).toBe(0);
});

test("groups that want the same thread all get on, also when one never runs out of work", async () => {
  await using rheo = await openOrders({ payloads: many(10_000, { do: "ack" }) });
  const settled = record(rheo, "lease.settled");
  await using _app = await supervise({ rheo, threads: 1, consumers: [consumer, { ...consumer, group: "h" }] });
  await caughtUp(rheo, "g");
  await caughtUp(rheo, "h");
  const order = settled.filter(({ acked }) => acked > 0).map(({ group }) => group);
  expect(order.lastIndexOf("g")).toBeGreaterThan(order.indexOf("h"));
  expect(order.lastIndexOf("h")).toBeGreaterThan(order.indexOf("g"));
});
