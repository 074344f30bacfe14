/** Runs in groups that keep order (G9): leased together, handled as one unit, and never overtaken. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FrozenClock, Rheo } from "@rheo/core";
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { batchHandler } from "@rheo/runtime/handler";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { caughtUp, fixture, openOrders, pass, stopFrozen, until } from "./store.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-runs-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a run in a group that keeps order", () => {
  const runsOf = async (consumer: Partial<ConsumerOptions>, letters: string): Promise<string[]> => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock });
    await rheo.appendMany(
      "orders",
      letters.split("").map((key, n) => ({ key, payload: n + 1 })),
    );
    const runs: string[] = [];
    const handler = batchHandler(
      (events) => void runs.push(events.map(({ key, payload }) => `${key}${Number(payload)}`).join(" ")),
    );
    const app = await supervise({ rheo, consumers: [{ stream: "orders", group: "g", handler, ...consumer }] });
    await pass(clock, 5_000, 50);
    await stopFrozen(app, clock);
    return runs;
  };

  test("of keys has as many as a batch, though the group gives out one of a key at a time otherwise", async () => {
    const runs = await runsOf({ createGroup: { ordering: "key" }, batch: { size: 3, by: "key" } }, "ababaabb");
    expect(runs.toSorted()).toEqual(["a1 a3 a5", "a6", "b2 b4 b7", "b8"]);
  });

  test("of a partition has as many as a batch, whatever their keys", async () => {
    const runs = await runsOf({ createGroup: { ordering: "partition" }, batch: { size: 3, by: "partition" } }, "abcabca");
    expect(runs).toEqual(["a1 b2 c3", "a4 b5 c6", "a7"]);
  });

  test("has one where the group keeps another order than that of the run", async () => {
    const runs = await runsOf({ createGroup: { ordering: "partition" }, batch: { size: 3, by: "key" } }, "aab");
    expect(runs).toEqual(["a1", "a2", "b3"]);
  });

  test("is cut by a rate limit, and what is cut off comes after it", async () => {
    const limited = {
      rateLimit: { events: 2, perMs: 1_000 },
      createGroup: { ordering: "key" },
      batch: { size: 5, by: "key" },
    } as const;
    const runs = await runsOf(limited, "aaaaa");
    expect([runs[0], runs.join(" ")]).toEqual(["a1 a2", "a1 a2 a3 a4 a5"]);
  });
});

/** What of a key was begun before all that is before it was done. */
const overtakers = async (file: string): Promise<string[]> => {
  const done = new Map<string, number>();
  const found: string[] = [];
  for (const line of (await readFile(file, "utf8")).trim().split("\n")) {
    const [mark, key = "", text] = line.split(" ");
    const n = Number(text);
    const last = done.get(key) ?? 0;
    if (mark === "s" && n > last + 1) found.push(`${key}${n} before ${key}${last + 1}`);
    if (mark === "e") done.set(key, Math.max(last, n));
  }
  return found;
};

describe("whatever happens to runs, none is overtaken", () => {
  const EVENTS = 600;
  const ways: readonly [string, Partial<ConsumerOptions> & { ordering: "key" | "partition"; exits: number }][] = [
    ["of keys, inline", { ordering: "key", execution: "inline", exits: 0 }],
    ["of keys, in threads that die", { ordering: "key", exits: 0.01 }],
    ["of a partition, in threads that die", { ordering: "partition", exits: 0.01 }],
    ["of keys, in threads that die, under a rate limit", { ordering: "key", exits: 0.01, rateLimit: { events: 5, perMs: 20 } }],
  ];

  test.each(ways)("%s", async (name, { ordering, exits, ...more }) => {
    const file = join(folder, `${name}.txt`);
    await using rheo = await Rheo.open(`sqlite:${join(folder, `${name}.db`)}`);
    await rheo.createStream("orders", { partitions: 2 });
    const last = new Map<string, number>();
    // each key by one partition, and with ordering by partition each partition is one key
    const events = Array.from({ length: EVENTS }, (_, at) => {
      const key = ordering === "key" ? `k${(at * 7) % 5}` : `p${at % 2}`;
      const n = (last.get(key) ?? 0) + 1;
      last.set(key, n);
      return { key, partition: ordering === "key" ? undefined : at % 2, payload: { n, file, exits } };
    });
    await rheo.appendMany("orders", events);
    const consumer: ConsumerOptions = {
      stream: "orders",
      group: "g",
      createGroup: { ordering, maxAttempts: 1_000, retry: { minMs: 1, maxMs: 5, jitter: 0 } },
      handler: fixture("ordered-runs.mjs"),
      batch: { size: 8, waitMs: 1, by: ordering },
      concurrency: 4,
      pollMs: 20,
      ...more,
    };
    const restarts = { maxRestarts: 1_000, restart: { minMs: 1, maxMs: 5 } };
    await using _one = await supervise({ rheo, threads: 2, ...restarts, consumers: [consumer] });
    await using _two = await supervise({ rheo, threads: 1, ...restarts, consumers: [consumer] });
    await until("it has caught up", async () => (await rheo.lag("orders", "g")).lag === 0, 50_000);
    expect(await overtakers(file)).toEqual([]);
    expect(await rheo.deadLetters("orders", "g")).toEqual([]);
  });

  test("the check of that sees one that was", async () => {
    const file = join(folder, "wrong.txt");
    const { writeFile } = await import("node:fs/promises");
    await writeFile(file, "s a 1\ne a 1\ns a 2\ns a 3\ne a 3\n");
    expect(await overtakers(file)).toEqual(["a3 before a2"]);
  });
});

test("a group without a member of runs still gives out one of a key at a time", async () => {
  await using rheo = await openOrders();
  await rheo.appendMany(
    "orders",
    [1, 2, 3].map((payload) => ({ key: "a", payload })),
  );
  const sizes: number[] = [];
  const handler = batchHandler((events) => void sizes.push(events.length));
  const createGroup = { ordering: "key" } as const;
  const consumers = [{ stream: "orders", group: "g", createGroup, handler, batch: { size: 10, waitMs: 0 } }];
  await using _app = await supervise({ rheo, consumers });
  await caughtUp(rheo);
  expect(sizes).toEqual([1, 1, 1]);
});
