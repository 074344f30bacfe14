/** Ordering (G9): what of a key, or of a partition, is never leased before what came earlier. */
import type { Lease, Ordering } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, numberOf, placesOf, refusal, sequencesOf, upTo } from "./expectations.ts";
import { GROUP, STREAM, type World } from "./world.ts";

/** More events of one key than a fetch looks past. */
const HOT = 1_200;
/** Of which so many are worked off. */
const WORKED_OFF = 60;

/** Appends one event per letter, keyed by it, to partition 0; "-" stands for no key. */
const appendKeys = async (world: World, letters: string, partition = 0): Promise<void> => {
  await world.rheo.appendMany(
    STREAM,
    letters.split("").map((key, index) => ({ payload: { n: index + 1 }, key: key === "-" ? null : key, partition })),
  );
};

/** The sequences that reached a handler, in order, when each fetch is worked off before the next. */
const workOff = async (world: World, rounds = 50): Promise<number[]> => {
  const seen: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const leases = round % 2 === 0 ? await world.take(10) : await world.peerTake(10);
    for (const lease of leases) await world.rheo.ack(lease);
    seen.push(...sequencesOf(leases));
  }
  return seen;
};

const byKey = (leases: readonly Lease[]): string => leases.map((lease) => `${lease.event.key ?? "-"}${lease.sequence}`).join(" ");

const keyOrder: readonly ContractCase[] = [
  rule(
    "G9",
    "with ordering by key one delivery of a key is out at a time, over all members; other keys flow on",
    async (world) => {
      await world.group({ ordering: "key" });
      await appendKeys(world, "aabacb");
      const first = await world.take(10);
      expect(byKey(first)).toBe("a1 b3 c5");
      expect(await world.peerTake(10)).toEqual([]);
      await world.rheo.ack(at(first, 0));
      expect(byKey(await world.peerTake(10))).toBe("a2");
      await world.rheo.ack(at(first, 1));
      expect(byKey(await world.peerTake(10))).toBe("b6");
    },
  ),
  rule("G9", "everything is delivered, each key in order", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "abcabcaabbcca");
    const seen = await workOff(world);
    expect([...seen].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    for (const key of "abc") {
      const ofKey = sequencesOf(await world.peer.query(STREAM, { key }));
      expect(seen.filter((sequence) => ofKey.includes(sequence))).toEqual(ofKey);
    }
    expect(await world.lag()).toBe(0);
  }),
  rule("G9 B52", "a retry keeps its place: nothing of its key overtakes it, however long its delay", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "aabaa");
    const first = await world.take(10);
    expect(byKey(first)).toBe("a1 b3");
    await world.rheo.nack(at(first, 0), { delayMs: 60_000 });
    expect(await world.peerTake(10)).toEqual([]);
    await appendKeys(world, "ac");
    expect(byKey(await world.peerTake(10))).toBe("c7");
    world.clock.advance(59_999);
    expect((await world.take(10)).filter((lease) => lease.event.key === "a")).toEqual([]);
    world.clock.advance(1);
    const again = (await world.take(10)).filter((lease) => lease.event.key === "a");
    expect(again.map((lease) => [lease.sequence, lease.attempt])).toEqual([[1, 2]]);
    await world.rheo.ack(at(again, 0));
    expect((await workOff(world)).filter((sequence) => [2, 4, 5, 6].includes(sequence))).toEqual([2, 4, 5, 6]);
  }),
  rule("G9 B52", "a crash keeps its place: the next of the key waits for the takeover to be settled", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "aabb");
    expect(byKey(await world.take(10))).toBe("a1 b3");
    world.expire();
    const again = await world.peerTake(10);
    expect(byKey(again)).toBe("a1 b3");
    expect(again.map((lease) => lease.attempt)).toEqual([2, 2]);
    expect(await world.take(10)).toEqual([]);
    for (const lease of again) await world.peer.ack(lease);
    expect(byKey(await world.take(10))).toBe("a2 b4");
  }),
  rule("G9", "a release and a dead letter keep their places", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "aaa");
    await world.rheo.release(at(await world.take(10), 0));
    const again = await world.peerTake(10);
    expect(byKey(again)).toBe("a1");
    await world.peer.reject(at(again, 0));
    const second = await world.take(10);
    expect(byKey(second)).toBe("a2");
    await world.rheo.ack(at(second, 0));
    expect(byKey(await world.take(10))).toBe("a3");
  }),
  rule("G9 B52", "what is redriven goes before the later events of its key that are still open", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "aaab");
    const [first, other] = await world.take(10);
    await world.rheo.reject(first as Lease);
    await world.rheo.ack(other as Lease);
    await world.rheo.redrive(STREAM, GROUP, { all: true });
    expect(await workOff(world)).toEqual([1, 2, 3]);
    expect(await world.lag()).toBe(0);
  }),
  rule("G9", "what is redriven while a later event of its key is out waits for that one", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "aaa");
    await world.rheo.reject(at(await world.take(10), 0));
    const second = await world.take(10);
    expect(byKey(second)).toBe("a2");
    await world.rheo.redrive(STREAM, GROUP, { all: true });
    expect(await world.peerTake(10)).toEqual([]);
    await world.rheo.ack(at(second, 0));
    expect(byKey(await world.peerTake(10))).toBe("a1");
  }),
  rule("G9", "a replay starts the order again", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "abab");
    await workOff(world);
    for (const scope of [{ fromSequence: 0 }, { query: {} }]) {
      expect(await world.rheo.replay(STREAM, GROUP, scope)).toEqual({ reopened: 4 });
      const seen = await workOff(world);
      expect(seen.filter((sequence) => sequence % 2 === 1)).toEqual([1, 3]);
      expect(seen.filter((sequence) => sequence % 2 === 0)).toEqual([2, 4]);
    }
  }),
  rule("G9", "events without a key have no order among them", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "--a-a");
    expect(byKey(await world.take(10))).toBe("-1 -2 a3 -4");
  }),
  rule("G9", "the empty key is ordered like any other", async (world) => {
    await world.group({ ordering: "key" });
    await world.rheo.appendMany(STREAM, [
      { payload: 1, key: "" },
      { payload: 2, key: "" },
    ]);
    expect(sequencesOf(await world.take(10))).toEqual([1]);
    expect(await world.peerTake(10)).toEqual([]);
  }),
  rule("G9", "the order outlives a restart", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "aab");
    const [first, second] = await world.take(10);
    await world.rheo.ack(second as Lease);
    await world.reopen();
    expect(await world.take(10)).toEqual([]);
    await world.rheo.ack(first as Lease);
    expect(byKey(await world.take(10))).toBe("a2");
  }),
  rule("G9 G8", "a very hot key can hold up its own partition, never another, and is worked off in order", async (world) => {
    await world.group({ ordering: "key", partitions: 2 });
    await world.rheo.appendMany(
      STREAM,
      Array.from({ length: HOT }, (_, index) => ({ payload: { n: index + 1 }, key: "hot", partition: 0 })),
    );
    await world.rheo.append(STREAM, { payload: { n: 0 }, key: "late", partition: 0 });
    await world.rheo.append(STREAM, { payload: { n: 0 }, key: "cold", partition: 1 });
    const first = await world.take(10);
    expect(placesOf(first.filter((lease) => lease.event.key !== "late"))).toEqual(["0/1", "1/1"]);
    for (const lease of first) await world.rheo.ack(lease);
    const seen: unknown[] = [1];
    for (let round = 0; round < WORKED_OFF * 2 && seen.length < WORKED_OFF; round++) {
      for (const lease of await world.peerTake(10)) {
        if (lease.event.key === "hot") seen.push(numberOf(lease));
        await world.peer.ack(lease);
      }
    }
    expect(seen).toEqual(upTo(WORKED_OFF));
    expect(await world.frontier()).toBe(WORKED_OFF);
  }),
];

const partitionOrder: readonly ContractCase[] = [
  rule("G9", "with ordering by partition one delivery of a partition is out at a time; others flow on", async (world) => {
    await world.group({ ordering: "partition", partitions: 2 });
    await appendKeys(world, "ab-", 0);
    await appendKeys(world, "ab", 1);
    const first = await world.take(10);
    expect(placesOf(first)).toEqual(["0/1", "1/1"]);
    expect(await world.peerTake(10)).toEqual([]);
    await world.rheo.ack(at(first, 1));
    expect(placesOf(await world.peerTake(10))).toEqual(["1/2"]);
  }),
  rule("G9 B52", "with ordering by partition retries, crashes and redrives keep their places", async (world) => {
    await world.group({ ordering: "partition", maxAttempts: 10 });
    await world.append(4);
    const seen: number[] = [];
    const next = async (): Promise<Lease> => {
      const lease = await world.takeOne();
      expect(await world.peerTake(10)).toEqual([]);
      seen.push(lease.sequence);
      return lease;
    };
    await world.rheo.nack(await next(), { delayMs: 5_000 });
    expect(await world.peerTake(10)).toEqual([]);
    world.clock.advance(5_000);
    await world.rheo.ack(await next());
    await next();
    world.expire();
    await world.rheo.reject(await next());
    await world.rheo.redrive(STREAM, GROUP, { all: true });
    for (let n = 0; n < 3; n++) await world.rheo.ack(await next());
    expect(seen).toEqual([1, 1, 2, 2, 2, 3, 4]);
    expect(await world.lag()).toBe(0);
  }),
];

const rules: readonly ContractCase[] = [
  rule("G9", "without an order a delivery that is out holds nobody up", async (world) => {
    await world.group();
    await appendKeys(world, "aaa");
    expect(byKey(await world.take(2))).toBe("a1 a2");
    expect(byKey(await world.peerTake(2))).toBe("a3");
  }),
  ...(["none", "key", "partition"] satisfies Ordering[]).map((ordering) =>
    rule("G9", `the ordering "${ordering}" of a group is fixed at its creation`, async (world) => {
      await world.group({ ordering });
      const other = ordering === "none" ? "key" : "none";
      await refusal(world.rheo.updateGroup(STREAM, GROUP, { ordering: other }), "invalid_option");
      await world.peer.updateGroup(STREAM, GROUP, { ordering, maxAttempts: 7 });
      const [group] = await world.peer.listGroups(STREAM);
      expect(group?.options).toMatchObject({ ordering, maxAttempts: 7 });
    }),
  ),
];

const attempts = (leases: readonly Lease[]): string => leases.map(({ sequence, attempt }) => `${sequence}/${attempt}`).join(" ");

const runs: readonly ContractCase[] = [
  rule("G9", "a fetch of runs gets so many of a key together, by sequence; what is behind them waits for all", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "abaabaa-");
    const run = await world.take(10, { runLimit: 3 });
    expect(byKey(run)).toBe("a1 b2 a3 a4 b5 -8");
    expect(new Set(run.map(({ token }) => token)).size).toBe(1);
    await appendKeys(world, "ac");
    expect(byKey(await world.peerTake(10, { runLimit: 3 }))).toBe("c10");
    for (const lease of run.filter(({ event }) => event.key === "a").slice(0, 2)) await world.rheo.ack(lease);
    expect(await world.peerTake(10, { runLimit: 3 })).toEqual([]);
    await world.rheo.ack(at(run, 3));
    expect(byKey(await world.peerTake(10, { runLimit: 3 }))).toBe("a6 a7 a9");
  }),
  rule("G9", "a run of a partition is its next events; what is behind them waits for all", async (world) => {
    await world.group({ ordering: "partition" });
    await appendKeys(world, "abcabc");
    const run = await world.take(10, { runLimit: 4 });
    expect(sequencesOf(run)).toEqual([1, 2, 3, 4]);
    for (const lease of run.slice(0, 3)) await world.rheo.ack(lease);
    expect(await world.peerTake(10, { runLimit: 4 })).toEqual([]);
    await world.rheo.ack(at(run, 3));
    expect(sequencesOf(await world.peerTake(10, { runLimit: 4 }))).toEqual([5, 6]);
  }),
  rule("G9", "a run that failed half way goes on where it failed, and the rest of it follows uncharged", async (world) => {
    for (const ordering of ["key", "partition"] as const) {
      const group = `failing-${ordering}`;
      await world.group({ ordering }, group);
      if (ordering === "key") await appendKeys(world, "aaaa");
      const take = (runLimit: number): Promise<Lease[]> =>
        world.rheo.fetch(STREAM, group, { limit: 10, runLimit, consumerId: "a" });
      const run = await take(4);
      expect(sequencesOf(run)).toEqual([1, 2, 3, 4]);
      await world.rheo.ack(at(run, 0));
      await world.rheo.nack(at(run, 1), { delayMs: 5_000 });
      await world.rheo.release(at(run, 2));
      await world.rheo.release(at(run, 3));
      expect(await take(4)).toEqual([]);
      world.clock.advance(5_000);
      const again = await take(2);
      expect(attempts(again)).toBe("2/2 3/1");
      for (const lease of again) await world.rheo.ack(lease);
      expect(attempts(await take(4))).toBe("4/1");
    }
  }),
  rule("G9 T5", "the run of a member that died is given out one at a time", async (world) => {
    for (const ordering of ["key", "partition"] as const) {
      const group = `dying-${ordering}`;
      await world.group({ ordering }, group);
      if (ordering === "key") await appendKeys(world, "aaa");
      const take = (consumerId: string): Promise<Lease[]> =>
        world.peer.fetch(STREAM, group, { limit: 10, runLimit: 5, consumerId });
      expect(sequencesOf(await take("dies"))).toEqual([1, 2, 3]);
      world.expire();
      const seen: string[] = [];
      for (let round = 0; round < 3; round++) {
        const leases = await take("b");
        seen.push(attempts(leases));
        for (const lease of leases) await world.peer.ack(lease);
      }
      expect(seen).toEqual(["1/2", "2/2", "3/2"]);
    }
  }),
  rule(
    "G3 G9",
    "a run is bounded by the limit and the bytes of its fetch, and what did not fit comes after it",
    async (world) => {
      await world.group({ ordering: "key" });
      await appendKeys(world, "aaaaaaaa");
      const first = await world.take(2, { runLimit: 5 });
      expect(sequencesOf(first)).toEqual([1, 2]);
      expect(await world.peerTake(10, { runLimit: 5 })).toEqual([]);
      for (const lease of first) await world.rheo.ack(lease);
      const second = await world.take(10, { runLimit: 5, maxBytes: 1 });
      expect(sequencesOf(second)).toEqual([3]);
      await world.rheo.ack(at(second, 0));
      expect(sequencesOf(await world.take(10, { runLimit: 5 }))).toEqual([4, 5, 6, 7, 8]);
    },
  ),
  rule("G9", "everything is delivered in runs, each key in order, by members that take turns", async (world) => {
    await world.group({ ordering: "key" });
    await appendKeys(world, "abcabcaabbccaabbbbbca");
    const seen: number[] = [];
    for (let round = 0; round < 30; round++) {
      const leases = await (round % 2 === 0 ? world.take(4, { runLimit: 3 }) : world.peerTake(10, { runLimit: 2 }));
      seen.push(...sequencesOf(leases));
      for (const lease of leases) await world.rheo.ack(lease);
    }
    for (const key of "abc") {
      const ofKey = sequencesOf(await world.peer.query(STREAM, { key }));
      expect(seen.filter((sequence) => ofKey.includes(sequence))).toEqual(ofKey);
    }
    expect([seen.length, await world.lag()]).toEqual([21, 0]);
  }),
  rule("G7 G9", "however far apart the events are that a filter lets through, one is out at a time", async (world) => {
    for (const ordering of ["partition", "key"] as const) await world.group({ ordering, filter: { type: "x" } }, ordering);
    const isLet = (n: number): boolean => n === 500 || n === 600; // the last of a page that a store may look at, and one beyond
    const inputs = upTo(700).map((n) => ({ payload: n, key: "a", partition: 0, type: isLet(n) ? "x" : "y" }));
    await world.rheo.appendMany(STREAM, inputs);
    for (const group of ["partition", "key"]) {
      const first = await world.rheo.fetch(STREAM, group, { limit: 10, consumerId: "a" });
      expect([sequencesOf(first), await world.peer.fetch(STREAM, group, { limit: 10, consumerId: "b" })]).toEqual([[500], []]);
      await world.rheo.ack(at(first, 0));
      expect(sequencesOf(await world.peer.fetch(STREAM, group, { limit: 10, consumerId: "b" }))).toEqual([600]);
    }
  }),
  rule("G9", "without an order a run limit changes nothing; it is a number from 1", async (world) => {
    await world.group();
    await appendKeys(world, "aaa");
    expect(sequencesOf(await world.take(10, { runLimit: 1 }))).toEqual([1, 2, 3]);
    for (const runLimit of [0, -1, 1.5, 10_001, "2"])
      await refusal(world.take(10, { runLimit: runLimit as number }), "invalid_option");
  }),
];

export const orderingCases: readonly ContractCase[] = [...keyOrder, ...partitionOrder, ...runs, ...rules];
