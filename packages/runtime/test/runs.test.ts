import { FrozenClock, type Rheo } from "@rheo/core";
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { ack, batchHandler, retry } from "@rheo/runtime/handler";
import { asPrefix } from "@rheo/runtime/internal";
import { describe, expect, test } from "vitest";
import { caughtUp, fixture, openOrders, pass, record, stopFrozen, turns } from "./store.ts";

const consumer = { stream: "orders", group: "g", createGroup: {}, concurrency: 1 } as const;
const LATER = { retry: { minMs: 1_000, maxMs: 1_000, jitter: 0 } } as const;

/** Events of these keys in turn, the payload being the number within the key. */
const append = async (rheo: Rheo, keys: readonly (string | null)[], rounds: number): Promise<void> => {
  const rows = Array.from({ length: rounds }, (_, round) =>
    keys.map((key) => ({ ...(key === null ? {} : { key }), payload: round })),
  );
  await rheo.appendMany("orders", rows.flat());
};

describe("the outcomes of a run", () => {
  test("count as far as the first that is not an ack; the rest goes back", () => {
    const failed = retry("no");
    expect(asPrefix([ack(), failed, ack(), failed])).toEqual([ack(), failed, { kind: "release" }, { kind: "release" }]);
    expect(asPrefix([ack(), ack()])).toEqual([ack(), ack()]);
  });
});

describe("a batch handler of runs", () => {
  test("by key gets events of one key, by sequence, up to the size", async () => {
    await using rheo = await openOrders();
    await append(rheo, ["a", "b", "c"], 12);
    const runs: string[] = [];
    await using _app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          concurrency: 3, // so that all are fetched at once
          batch: { size: 10, waitMs: 5, by: "key" },
          handler: batchHandler(
            (events) => void runs.push(`${events.map(({ key, payload }) => `${key}${Number(payload)}`).join(" ")}`),
          ),
        },
      ],
    });
    await caughtUp(rheo);
    const first = Array.from({ length: 10 }, (_, n) => n);
    expect(new Set(runs)).toEqual(
      new Set(["a", "b", "c"].flatMap((key) => [first.map((n) => `${key}${n}`).join(" "), `${key}10 ${key}11`])),
    );
  });

  test("by partition gets events of one partition, by sequence", async () => {
    await using rheo = await openOrders();
    await rheo.createStream("wide", { partitions: 3 });
    await rheo.appendMany(
      "wide",
      Array.from({ length: 30 }, (_, n) => ({ payload: n, partition: n % 3 })),
    );
    const runs: string[] = [];
    await using _app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          stream: "wide",
          concurrency: 3,
          batch: { size: 10, waitMs: 5, by: "partition" },
          handler: batchHandler(
            (events) => void runs.push(events.map(({ partition, sequence }) => `${partition}@${sequence}`).join()),
          ),
        },
      ],
    });
    await rheo.whenCaughtUp("wide", "g");
    const sequences = Array.from({ length: 10 }, (_, n) => n + 1);
    expect(runs.toSorted()).toEqual([0, 1, 2].map((partition) => sequences.map((sequence) => `${partition}@${sequence}`).join()));
  });

  for (const [how, fail] of [
    [
      "one outcome for each",
      (at: number, count: number) => Array.from({ length: count }, (_, n) => (n === at ? retry("no") : ack())),
    ],
    ["an exception", null],
  ] as const) {
    test(`that fails with ${how} has one event charged; what follows goes back uncharged`, async () => {
      const clock = new FrozenClock();
      await using rheo = await openOrders({ clock });
      await append(rheo, ["a"], 5);
      const settled = record(rheo, "lease.settled");
      const seen: string[] = [];
      let isFirst = true;
      const app = await supervise({
        rheo,
        consumers: [
          {
            ...consumer,
            createGroup: LATER,
            batch: { size: 5, waitMs: 100, by: "key" },
            handler: batchHandler((events, { deliveries }) => {
              seen.push(events.map(({ payload }, at) => `${Number(payload)}:${deliveries[at]?.attempt}`).join(" "));
              if (!isFirst) return undefined;
              isFirst = false;
              if (fail === null) throw new Error("the run");
              return fail(2, events.length);
            }),
          },
        ],
      });
      await pass(clock, 5_000, 50);
      const failedAt = fail === null ? 0 : 2;
      expect(seen[0]).toBe("0:1 1:1 2:1 3:1 4:1");
      expect(seen.slice(1).join(" ").split(" ").toSorted()).toEqual(
        [`${failedAt}:2`, ...[0, 1, 2, 3, 4].filter((n) => n > failedAt).map((n) => `${n}:1`)].toSorted(),
      );
      expect(settled.reduce((sum, { retrying }) => sum + retrying, 0)).toBe(1);
      await stopFrozen(app, clock);
    });
  }

  test("that outlasts its time has the first charged; the rest goes back uncharged", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock });
    await append(rheo, ["a"], 3);
    const seen: string[] = [];
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          createGroup: LATER,
          timeoutMs: 200,
          batch: { size: 3, waitMs: 100, by: "key" },
          handler: batchHandler(async (events, { deliveries, signal }) => {
            seen.push(events.map(({ payload }, at) => `${Number(payload)}:${deliveries[at]?.attempt}`).join(" "));
            if (seen.length === 1)
              await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          }),
        },
      ],
    });
    await pass(clock, 5_000, 50);
    expect(seen).toEqual(["0:1 1:1 2:1", "1:1 2:1", "0:2"]);
    await stopFrozen(app, clock);
  });

  test("without keys is called at once, with one event at a time", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock });
    await append(rheo, [null], 20);
    const sizes: number[] = [];
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          batch: { size: 10, waitMs: 60_000, by: "key" },
          handler: batchHandler((events) => void sizes.push(events.length)),
        },
      ],
    });
    await turns(50);
    expect(sizes).toEqual(new Array(20).fill(1));
    await stopFrozen(app, clock);
  });

  test("of a group that keeps the order of keys is not kept waiting for what cannot come, and order holds", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock });
    await append(rheo, ["a", "b"], 10);
    const seen: string[] = [];
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          concurrency: 4,
          createGroup: { ordering: "key" },
          batch: { size: 10, waitMs: 60_000, by: "key" },
          handler: batchHandler(async (events) => {
            await turns(1);
            seen.push(...events.map(({ key, payload }) => `${key}${Number(payload)}`));
          }),
        },
      ],
    });
    await pass(clock, 10_000, 50);
    const numbers = Array.from({ length: 10 }, (_, n) => n);
    for (const key of ["a", "b"]) expect(seen.filter((one) => one.startsWith(key))).toEqual(numbers.map((n) => `${key}${n}`));
    await stopFrozen(app, clock);
  });

  test("never runs more at once than its concurrency", async () => {
    await using rheo = await openOrders();
    await append(rheo, ["a", "b", "c", "d"], 20);
    let running = 0;
    let most = 0;
    await using _app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          concurrency: 2,
          batch: { size: 2, waitMs: 1 },
          handler: batchHandler(async () => {
            most = Math.max(most, ++running);
            await turns(2);
            running -= 1;
          }),
        },
      ],
    });
    await caughtUp(rheo);
    expect(most).toBe(2);
  });
});

describe("runs in threads", () => {
  const threaded: ConsumerOptions = {
    ...consumer,
    concurrency: 4,
    createGroup: { retry: { minMs: 0, maxMs: 0, jitter: 0 }, maxAttempts: 2 },
    batch: { size: 8, waitMs: 20, by: "key" },
    handler: fixture("runs.mjs"),
  };

  /** Two keys with six events each; the fourth of "a" does something. */
  const payloads = (action: unknown): { key: string; payload: unknown }[] =>
    Array.from({ length: 12 }, (_, n) => ({ key: n % 2 === 0 ? "a" : "b", payload: n === 6 ? action : { do: "ack" } }));

  for (const [how, action, timeoutMs] of [
    ["says retry", { do: "retry" }, undefined],
    ["ends its thread", { do: "exit" }, undefined],
  ] as const) {
    test(`a delivery that ${how} is the only one that is charged`, async () => {
      await using rheo = await openOrders();
      await rheo.appendMany("orders", payloads(action));
      const settled = record(rheo, "lease.settled");
      await using _app = await supervise({
        rheo,
        threads: 2,
        consumers: [{ ...threaded, ...(timeoutMs === undefined ? {} : { timeoutMs }) }],
      });
      await caughtUp(rheo);
      expect((await rheo.deadLetters("orders", "g")).map(({ sequence, attempts }) => [sequence, attempts])).toEqual([[7, 2]]);
      const charged = settled.reduce((sum, { retrying, dead }) => sum + retrying + dead, 0);
      expect([charged, settled.reduce((sum, { acked }) => sum + acked, 0)]).toEqual([2, 11]);
    });
  }

  test("a run that outlasts its time is ended with its thread; the first is charged, the rest goes back", async () => {
    await using rheo = await openOrders();
    await rheo.appendMany(
      "orders",
      Array.from({ length: 4 }, (_, n) => ({ key: "a", payload: { do: n === 0 ? "never" : "ack" } })),
    );
    const settled = record(rheo, "lease.settled");
    await using _app = await supervise({ rheo, threads: 1, consumers: [{ ...threaded, timeoutMs: 100 }] });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ sequence, reason }) => [sequence, reason])).toEqual([
      [1, "timed out after 100 ms"],
    ]);
    const charged = settled.reduce((sum, { retrying, dead }) => sum + retrying + dead, 0);
    expect([charged, settled.reduce((sum, { acked }) => sum + acked, 0)]).toEqual([2, 3]);
  });
});
