/** The same on every store: what flows, who may settle, who takes over. */
import { ack, FrozenClock, Rheo } from "@rheo/core";
import { consume, pipeline } from "@rheo/pipeline";
import { afterAll, describe, expect, test } from "vitest";
import { fill, gate, lagOf, type Meddling, meddled, numbers, openOrders, pass, sequencesOf, until } from "./fixtures/store.ts";
import { memoryStore, PostgresStores, sqliteStore, type TestStore } from "./fixtures/stores.ts";

const server = new PostgresStores();
afterAll(() => server.stop());

const stores: readonly (readonly [string, () => Promise<TestStore>])[] = [
  ["memory", memoryStore],
  ["sqlite", sqliteStore],
  ["postgres", () => server.store()],
];

describe.each(stores)("on %s", (_, make) => {
  const opened = async (
    payloads: readonly unknown[],
    partitions = 2,
  ): Promise<{ rheo: Rheo; store: TestStore } & AsyncDisposable> => {
    const store = await make();
    const rheo = await Rheo.open({ backend: store.open() });
    await rheo.ensureStream("orders", { partitions });
    await rheo.ensureGroup("orders", "g", { maxAttempts: 2, retry: { minMs: 5, maxMs: 5 } });
    await fill(rheo, payloads);
    return {
      rheo,
      store,
      [Symbol.asyncDispose]: async () => {
        await rheo.close();
        await store.dispose();
      },
    };
  };

  test("two members share a group: each event is worked on once", async () => {
    await using scene = await opened([]);
    const { rheo, store } = scene;
    await rheo.appendMany(
      "orders",
      numbers(400).map((n) => ({ payload: n, key: `k${n % 9}` })),
    );
    const other = await Rheo.open({ backend: store.open(), name: "other" });
    const seen: unknown[] = [];
    const members = [rheo, other].map((member) =>
      pipeline<number>({
        rheo: member,
        stream: "orders",
        group: "g",
        maxDemand: 40,
        partitionBy: ({ key }) => key,
        processors: { handle: async () => undefined },
        batchers: {
          default: {
            size: 10,
            waitMs: 5,
            concurrency: 2,
            handle: (messages) => void seen.push(...messages.map(({ data }) => data)),
          },
        },
      }),
    );
    await rheo.whenCaughtUp("orders", "g");
    await Promise.all(members.map((member) => member.stop()));
    expect(seen.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers(400));
    expect(await sequencesOf(rheo)).toEqual([]);
    await other.close();
  });

  test("failures are retried, and end as dead letters with their reason", async () => {
    await using scene = await opened(numbers(30));
    const { rheo } = scene;
    const attempts: number[] = [];
    await using running = pipeline<number>({
      rheo,
      stream: "orders",
      group: "g",
      processors: {
        handle: async ({ data, attempt }) => {
          attempts.push(attempt);
          if (data % 10 === 0) throw new Error(`no ${data}`);
        },
      },
    });
    await until("all is settled", async () => (await lagOf(rheo)) === 0);
    expect(
      (await rheo.deadLetters("orders", "g")).map(({ reason, attempts: count }) => `${reason}, ${count}`).toSorted(),
    ).toEqual(["no 0, 2", "no 10, 2", "no 20, 2"]);
    expect([attempts.filter((attempt) => attempt === 2).length, running.stats().acked]).toEqual([3, 27]);
  });

  test("a loop that breaks has given back what it held", async () => {
    await using scene = await opened(numbers(30), 1);
    const { rheo } = scene;
    for await (const lease of consume(rheo, "orders", "g", { maxDemand: 20 })) {
      void lease.ack();
      if (lease.sequence === 5) break;
    }
    expect([await sequencesOf(rheo), await lagOf(rheo)]).toEqual([[], 25]);
    expect((await rheo.fetch("orders", "g", { limit: 30 })).map(({ attempt }) => attempt)).toEqual(new Array(25).fill(1));
  });

  test("a stream gives every event, and a wake-up or a poll brings what is appended later", async () => {
    await using scene = await opened(numbers(20), 1);
    const { rheo, store } = scene;
    const other = await Rheo.open({ backend: store.open(), name: "other" });
    const leases = consume(rheo, "orders", "g", { maxDemand: 8 });
    const stream = leases.toReadable({ highWaterMark: 4 });
    const seen: unknown[] = [];
    for await (const lease of stream) {
      seen.push(lease.event.payload);
      await lease.ack();
      if (seen.length === 20) await fill(other, [20]);
      if (seen.length === 21) break;
    }
    expect([seen, await lagOf(rheo)]).toEqual([numbers(21), 0]);
    await other.close();
  });

  test("an ack in a transaction of the caller's commits and rolls back with it", async () => {
    await using scene = await opened(numbers(3), 1);
    const { rheo, store } = scene;
    const { notes } = store;
    if (notes === null) return expect(rheo.capabilities.transactions).toBe(false);
    const leases = consume(rheo, "orders", "g", { maxDemand: 3 });
    const [first, second] = [(await leases.next()).value, (await leases.next()).value];
    await notes.transact(async (transaction, note) => {
      await note("first");
      await first?.ack({ transaction });
    });
    expect(await lagOf(rheo)).toBe(2);
    await expect(first?.nack()).rejects.toMatchObject({ code: "stale_lease", details: { why: "settled" } });
    const rolledBack = notes.transact(async (transaction, note) => {
      await note("second");
      await second?.ack({ transaction });
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    expect([await notes.all(), await lagOf(rheo)]).toEqual([["first"], 2]);
    await leases.close();
    return undefined;
  });

  test("an ack in a transaction that is open when the iteration closes is left to that", async () => {
    await using scene = await opened(numbers(1), 1);
    const { rheo, store } = scene;
    const { notes } = store;
    if (notes === null) return expect(rheo.capabilities.transactions).toBe(false);
    const leases = consume(rheo, "orders", "g");
    const { value } = await leases.next();
    await notes.transact(async (transaction, note) => {
      const acked = value?.ack({ transaction });
      await leases.close();
      await acked;
      await note("acked");
    });
    expect([await lagOf(rheo), await notes.all(), leases.held]).toEqual([0, ["acked"], 0]);
    return undefined;
  });

  test("a lease is not renewed while its ack in a transaction is under way, which would wait for that", async () => {
    const store = await make();
    if (store.notes === null) return store.dispose();
    const clock = new FrozenClock();
    const meddling: Meddling = {};
    const rheo = await openOrders({
      backend: meddled(store.open(), meddling),
      clock,
      payloads: numbers(2),
      group: { leaseMs: 3_000 },
    });
    const leases = consume(rheo, "orders", "g");
    const { value } = await leases.next();
    const renewed: (readonly number[])[] = [];
    await store.notes.transact(async (transaction) => {
      const under = gate();
      let isUnderWay = false;
      meddling.exchange = async (call) => {
        isUnderWay = true;
        await under.promise;
        return call();
      };
      const acked = value?.ack({ transaction });
      await until("it is under way", () => isUnderWay);
      meddling.renew = async (_, { items }) => {
        renewed.push(...items.map(({ sequences }) => sequences));
        return { expiresAtMs: clock.now() + 3_000, stale: items.map(({ sequences }) => sequences.map(() => null)) };
      };
      await pass(clock, 1_000, 100);
      meddling.exchange = undefined;
      under.open();
      await acked;
    });
    expect(renewed).toEqual([[2]]);
    meddling.renew = undefined;
    await leases.close();
    expect(await lagOf(rheo)).toBe(1);
    await rheo.close();
    await store.dispose();
    return undefined;
  });

  test("a batch that settles in its own transaction is written once, though it is rolled back and run again", async () => {
    await using scene = await opened(numbers(20));
    const { rheo, store } = scene;
    const { notes } = store;
    if (notes === null) return expect(rheo.capabilities.transactions).toBe(false);
    let batches = 0;
    await using running = pipeline<number>({
      rheo,
      stream: "orders",
      group: "g",
      processors: { handle: () => undefined },
      batchers: {
        default: {
          size: 5,
          waitMs: 5,
          handle: (messages) =>
            notes.transact(async (transaction, note) => {
              for (const { data } of messages) await note(String(data));
              const answers = await rheo.settle(
                messages.map((lease) => ({ lease, outcome: ack() })),
                { transaction },
              );
              if (++batches === 2 || answers.some(({ status }) => status !== "settled")) throw new Error("rolled back");
            }),
        },
      },
    });
    await rheo.whenCaughtUp("orders", "g");
    await until("nothing is held", () => running.stats().held === 0);
    expect((await notes.all()).map(Number).toSorted((a, b) => a - b)).toEqual(numbers(20));
    expect(running.stats()).toMatchObject({ retrying: 5, stale: 20, dead: 0 });
    return undefined;
  });

  test("a stale lease throws inside the transaction", async () => {
    await using scene = await opened(numbers(2), 1);
    const { rheo, store } = scene;
    const { notes } = store;
    if (notes === null) return expect(rheo.capabilities.transactions).toBe(false);
    const leases = consume(rheo, "orders", "g");
    const { value } = await leases.next();
    await rheo.replay("orders", "g", { from: new Date(0) });
    const settled = notes.transact(async (transaction, note) => {
      await note("never");
      await value?.ack({ transaction });
    });
    await expect(settled).rejects.toMatchObject({ code: "stale_lease" });
    expect(await notes.all()).toEqual([]);
    await leases.close();
    return undefined;
  });
});
