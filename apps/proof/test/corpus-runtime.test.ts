/** Faults of those who work through a group, by the real runtime over a store of this process. Named by their ids. */
import { FrozenClock, type Lease, Rheo, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type Supervisor, supervise } from "@rheo/runtime";
import { handler, retry } from "@rheo/runtime/handler";
import { afterEach, describe, expect, test } from "vitest";
import { numbers, until } from "./corpus-stores.ts";

const LEASE_MS = 1_000;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const open = async (partitions: number, payloads: readonly unknown[], clock?: FrozenClock): Promise<Rheo> => {
  const rheo = await Rheo.open(clock === undefined ? { backend: memory() } : { backend: memory(), clock });
  ends.push(() => rheo.close());
  await rheo.createStream("s", { partitions });
  const events = payloads.map((payload, index) => ({ payload, partition: index % partitions }));
  for (let from = 0; from < events.length; from += 10_000) await rheo.appendMany("s", events.slice(from, from + 10_000));
  return rheo;
};

const turns = async (count = 20): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const caughtUp = (rheo: Rheo, group = "g"): Promise<void> =>
  until(`${group} has caught up`, async () => (await rheo.lag("s", group)).lag === 0);

/** Stops while nobody else moves the clock. */
const stopFrozen = async (app: Supervisor, clock: FrozenClock): Promise<void> => {
  let stopped = false;
  const stopping = app.stop().then(() => {
    stopped = true;
  });
  while (!stopped) {
    clock.advance(100);
    await turns(2);
  }
  await stopping;
};

describe("handlers", () => {
  test("B20 one that fails in one partition starts nothing over in the others, which run meanwhile", async () => {
    const rheo = await open(3, [0, 1, 2]);
    const runs = new Map<number, number>();
    let isOver = false;
    const work = handler(async (_, { partition }) => {
      runs.set(partition, (runs.get(partition) ?? 0) + 1);
      if (partition === 0) {
        if ((runs.get(0) ?? 0) < 4) throw new Error("not yet");
        isOver = true;
      }
      await until("partition 0 has failed three times", () => isOver);
    });
    const app = await supervise({
      rheo,
      consumers: [
        { stream: "s", group: "g", createGroup: { retry: { minMs: 0, maxMs: 0 } }, concurrency: 3, pollMs: 5, handler: work },
      ],
    });
    ends.push(() => app.stop());
    await caughtUp(rheo);
    expect([...runs].toSorted(([one], [other]) => one - other)).toEqual([
      [0, 4],
      [1, 1],
      [2, 1],
    ]);
  });

  test("B21 one that keeps its thread for longer than its lease: the second holder has a higher token, and the first one's ack is refused", async () => {
    const clock = new FrozenClock();
    const rheo = await open(1, ["work"], clock);
    const taken: Lease[] = [];
    const tokens: number[] = [];
    const work = handler(async (_, { token }) => {
      tokens.push(token);
      // no timer fires meanwhile: as if it computed
      clock.set(new Date(clock.now() + 4 * LEASE_MS));
      taken.push(...(await rheo.fetch("s", "g", { consumerId: "sibling" })));
    });
    const app = await supervise({
      rheo,
      logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      consumers: [{ stream: "s", group: "g", createGroup: { leaseMs: LEASE_MS }, handler: work }],
    });
    await until("it ran", () => taken.length > 0);
    for (const _ of numbers(10)) {
      clock.advance(50);
      await turns();
    }
    const [second] = taken;
    if (second === undefined) return expect.unreachable("nothing was taken over");
    expect(second.token).toBeGreaterThan(tokens[0] ?? Number.POSITIVE_INFINITY);
    // the first has ended and said so, and yet nothing is settled
    expect(app.children()[0]).toMatchObject({ details: { inflight: 0 } });
    expect([second.attempt, (await rheo.lag("s", "g")).lag, tokens.length]).toEqual([2, 1, 1]);
    await rheo.ack(second);
    expect((await rheo.lag("s", "g")).lag).toBe(0);
    await stopFrozen(app, clock);
  });

  test("B40 those of other groups touch nothing of a group whose only member is gone, however long they poll", async () => {
    const clock = new FrozenClock();
    const rheo = await open(1, numbers(3), clock);
    await rheo.createGroup("s", "abandoned", { leaseMs: LEASE_MS });
    const held = await rheo.fetch("s", "abandoned", { consumerId: "gone" });
    const app = await supervise({
      rheo,
      consumers: [{ stream: "s", group: "busy", createGroup: {}, pollMs: 50, handler: handler(() => undefined) }],
    });
    for (const _ of numbers(200)) {
      clock.advance(LEASE_MS / 2);
      await turns(2);
    }
    expect((await rheo.lag("s", "busy")).lag).toBe(0);
    expect(await rheo.groupInfo("s", "abandoned")).toMatchObject({ lag: 3, deadLetters: 0, retrying: 0 });
    const again = await rheo.fetch("s", "abandoned", { consumerId: "next" });
    expect([held.length, again.map(({ attempt }) => attempt)]).toEqual([3, [2, 2, 2]]);
    await stopFrozen(app, clock);
  });

  test("B130 twenty thousand tiny events in bursts never stall a group that may hold a hundred", async () => {
    const rheo = await open(4, numbers(10_000));
    let handled = 0;
    const work = handler((_, { sequence, attempt }) => {
      handled += 1;
      return sequence % 1_000 === 0 && attempt === 1 ? retry("again", { delayMs: 0 }) : undefined;
    });
    const app = await supervise({
      rheo,
      consumers: [{ stream: "s", group: "g", createGroup: {}, concurrency: 8, maxDemand: 100, pollMs: 60_000, handler: work }],
    });
    ends.push(() => app.stop());
    await caughtUp(rheo);
    for (const _ of numbers(10)) {
      await rheo.appendMany(
        "s",
        numbers(1_000).map((n) => ({ payload: n, partition: n % 4 })),
      );
      await turns(3);
    }
    await caughtUp(rheo);
    expect(handled).toBeGreaterThanOrEqual(20_000);
  });
});

describe("what is stored and cannot be read", () => {
  /** A store that has lost the content of one event. */
  const broken = async (count: number, at: number): Promise<Rheo> => {
    const backend = memory();
    const spoil = (record: object): object =>
      Reflect.get(record, "sequence") === at ? { ...record, event: undefined, payload: "{broken" } : record;
    const spoiled = new Proxy(backend, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return async (...parts: unknown[]) => {
          const answer: unknown = await Reflect.apply(value, target, parts);
          if (name === "exchange") return spoilGrants(answer as { grants: { events: object[] }[] }, spoil); // what the port answers
          if (name === "deadLetters") return spoilLetters(answer as { event: object | null }[], spoil); // what the port answers
          return name === "read" ? (answer as object[]).map(spoil) : answer; // what the port answers
        };
      },
    });
    // a proxy that waits for every answer would make a promise of how to unsubscribe
    const rheo = await Rheo.open({
      backend: Object.assign(Object.create(spoiled), { subscribe: backend.subscribe.bind(backend) }),
    });
    ends.push(() => rheo.close());
    await rheo.createStream("s", { partitions: 1 });
    await rheo.createGroup("s", "g", { leaseMs: LEASE_MS });
    await rheo.appendMany(
      "s",
      numbers(count).map((payload) => ({ payload })),
    );
    return rheo;
  };

  test("B58 fails by itself: a fetch gives all, its delivery can be rejected, and its letter be looked at", async () => {
    const rheo = await broken(10, 3);
    const leases = await rheo.fetch("s", "g", { limit: 10 });
    const seen: unknown[] = [];
    for (const lease of leases) {
      try {
        seen.push(lease.event.payload);
        await rheo.ack(lease);
      } catch (error) {
        if (!RheoError.is(error, "invalid_payload")) throw error;
        await rheo.reject(lease, { reason: error.message });
      }
    }
    expect(seen).toEqual([1, 2, 4, 5, 6, 7, 8, 9, 10]);
    expect(await rheo.deadLetters("s", "g")).toMatchObject([{ sequence: 3, event: null }]);
    await expect(rheo.query("s")).rejects.toMatchObject({ code: "invalid_payload", details: { partition: 0, sequence: 3 } });
    expect((await rheo.lag("s", "g")).lag).toBe(0);
  });

  test("B47 one of a hundred whose leases ran out: the others are recovered, and it is told once", async () => {
    const rheo = await broken(100, 50);
    expect(await rheo.fetch("s", "g", { limit: 100, leaseMs: 1 })).toHaveLength(100);
    const failed: number[] = [];
    rheo.events.on("handler.failed", ({ sequence }) => failed.push(sequence));
    const app = await supervise({
      rheo,
      logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      consumers: [{ stream: "s", group: "g", pollMs: 10, handler: handler(() => undefined) }],
    });
    ends.push(() => app.stop());
    await caughtUp(rheo);
    expect(failed).toEqual([50]);
    expect(await rheo.deadLetters("s", "g")).toMatchObject([{ sequence: 50 }]);
  });
});

const spoilGrants = (answer: { grants: { events: object[] }[] }, spoil: (record: object) => object): object => ({
  ...answer,
  grants: answer.grants.map((grant) => ({ ...grant, events: grant.events.map(spoil) })),
});

const spoilLetters = (letters: readonly { event: object | null }[], spoil: (record: object) => object): object[] =>
  letters.map((letter) => ({ ...letter, event: letter.event === null ? null : spoil(letter.event) }));
