/** What the runtime promises, on every store that processes can share: each scenario is small, and in real time. */
import { Rheo } from "@rheo/core";
import { type ConsumerOptions, type Supervisor, supervise } from "@rheo/runtime";
import { batchHandler, handler, retry } from "@rheo/runtime/handler";
import { describe, expect, test } from "vitest";
import { sharedStores } from "./shared-stores.ts";
import { actions, caughtUp, fixture, record, turns, until } from "./store.ts";

const NO_DELAY = { retry: { minMs: 0, maxMs: 0, jitter: 0 } } as const;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const consumer = { stream: "orders", group: "g" } as const;

const open = async (url: string, partitions: number, payloads: readonly unknown[]): Promise<Rheo> => {
  const rheo = await Rheo.open(url);
  await rheo.createStream("orders", { partitions });
  if (payloads.length > 0)
    await rheo.appendMany(
      "orders",
      payloads.map((payload) => ({ payload })),
    );
  return rheo;
};

for (const { name, place } of sharedStores()) {
  describe(`on ${name}`, () => {
    test("an outage costs the attempts of the failures that opened the breaker, and no event", async () => {
      await using rheo = await open(place(), 1, numbers(100));
      const [settled, opened] = [record(rheo, "lease.settled"), record(rheo, "breaker.opened")];
      const work = handler(async () => {
        await turns(1);
        if (opened.length < 6) throw new Error("the bank is away");
      });
      await using _app = await supervise({
        rheo,
        consumers: [
          {
            ...consumer,
            createGroup: { ...NO_DELAY, maxAttempts: 3 },
            breaker: { failures: 2, openMs: 5, maxOpenMs: 5 },
            handler: work,
          },
        ],
      });
      await caughtUp(rheo);
      expect(settled.reduce((sum, { retrying, dead }) => sum + retrying + dead, 0)).toBe(2);
      expect((await rheo.groupInfo("orders", "g")).deadLetters).toBe(0);
    });

    test("a run that fails in its middle is settled up to there, and what follows comes again uncharged", async () => {
      await using rheo = await open(place(), 1, []);
      await rheo.appendMany(
        "orders",
        numbers(6).map((payload) => ({ key: "a", payload })),
      );
      const seen: string[] = [];
      const work = batchHandler((events, { deliveries }) => {
        seen.push(events.map(({ payload }, at) => `${Number(payload)}:${deliveries[at]?.attempt}`).join(" "));
        return seen.length === 1 ? events.map((_, at) => (at === 2 ? retry("not yet") : undefined)) : undefined;
      });
      await using _app = await supervise({
        rheo,
        consumers: [
          { ...consumer, createGroup: NO_DELAY, concurrency: 1, batch: { size: 6, waitMs: 200, by: "key" }, handler: work },
        ],
      });
      await caughtUp(rheo);
      expect(seen[0]).toBe("0:1 1:1 2:1 3:1 4:1 5:1");
      expect(seen.slice(1).join(" ").split(" ").toSorted()).toEqual(["2:2", "3:1", "4:1", "5:1"]);
    });

    test("threads that die take nothing with them, and only what killed them is charged", async () => {
      const kinds = ["ack", "ack", "ack", "ack", { do: "wait", ms: 1 }];
      const payloads = numbers(300).map((n) => (n % 100 === 50 ? "exitOnce" : (kinds[n % 5] ?? "ack")));
      await using rheo = await open(place(), 2, actions(...payloads));
      const [settled, failed] = [record(rheo, "lease.settled"), record(rheo, "handler.failed")];
      await using _app = await supervise({
        rheo,
        threads: 2,
        consumers: [{ ...consumer, createGroup: NO_DELAY, handler: fixture("actions.mjs") }],
      });
      await caughtUp(rheo);
      expect([settled.reduce((sum, { acked }) => sum + acked, 0), failed.map(({ attempt }) => attempt)]).toEqual([
        300,
        [1, 1, 1],
      ]);
    });

    test("a pause gives back what has not begun, and a drain holds nothing", async () => {
      await using rheo = await open(place(), 1, numbers(20));
      let release: (() => void) | null = null;
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      const app = await supervise({
        rheo,
        consumers: [{ ...consumer, createGroup: {}, concurrency: 2, handler: handler(() => gate) }],
      });
      await until("two run", () => app.children()[0]?.details.running === 2);
      app.pause();
      await until("the others are back", async () => (await rheo.leases("orders", "g")).length === 2);
      app.resume();
      const drained = app.drain();
      (release as (() => void) | null)?.();
      expect(await drained).toBe(true);
      expect([await rheo.leases("orders", "g"), (await rheo.groupInfo("orders", "g")).retrying]).toEqual([[], 0]);
      await app.stop();
    });

    test("while members with assigned partitions come and go, each event is handled in the order of its partition", async () => {
      await using rheo = await open(place(), 3, []);
      await rheo.createGroup("orders", "g", { leaseMs: 1_000, ordering: "partition" });
      const seen = new Map<number, number[]>();
      const options: ConsumerOptions = {
        ...consumer,
        partitions: "assigned",
        pollMs: 10,
        handler: handler(async ({ partition, sequence }) => {
          await turns(1);
          seen.set(partition, [...(seen.get(partition) ?? []), sequence]);
        }),
      };
      const members: Supervisor[] = [];
      try {
        for (const joins of [true, true, false, true, true, false, false]) {
          await rheo.appendMany(
            "orders",
            numbers(15).map((n) => ({ partition: n % 3, payload: n })),
          );
          if (joins) members.push(await supervise({ rheo, consumers: [options] }));
          else await members.shift()?.stop();
          await until("the partitions are shared", () => {
            const held = members.map((app) => app.children()[0]?.details.partitions as readonly number[]); // as options say
            return new Set(held.flat()).size === 3 && held.every(({ length }) => length > 0);
          });
        }
        await caughtUp(rheo);
      } finally {
        for (const app of members) await app.stop();
      }
      expect([...seen.values()]).toEqual(numbers(3).map(() => numbers(35).map((n) => n + 1)));
    });
  });
}
