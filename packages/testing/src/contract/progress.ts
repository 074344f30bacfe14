/** Progress: lag is the truth, is never negative, can be explained, and looking changes nothing (P1–P4). */
import type { Lease } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, sequencesOf, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

/** Six deliveries, one in each state: 1 leased, 2 expired, 3 retrying, 4 pending, 5 dead, 6 acked; 7 was never offered. */
const everyState = async (world: World): Promise<readonly Lease[]> => {
  await world.group({ maxAttempts: 4 });
  const leases = await world.lease(6);
  await world.rheo.nack(at(leases, 2), { reason: "busy", delayMs: 86_400_000 });
  await world.rheo.release(at(leases, 3));
  await world.rheo.reject(at(leases, 4), { reason: "bad" });
  await world.rheo.ack(at(leases, 5));
  world.clock.advance(LEASE_MS / 2);
  await world.rheo.renew(at(leases, 0));
  world.clock.advance(LEASE_MS / 2);
  await world.append(1);
  return leases;
};

const STATES = ["leased", "expired", "retrying", "pending", "dead", "acked", "pending"] as const;

const truth: readonly ContractCase[] = [
  rule(
    "P1 B10",
    "leased, expired, delayed and released deliveries all hold the frontier; only acked and dead ones do not",
    async (world) => {
      const leases = await everyState(world);
      expect(await Promise.all(upTo(7).map((n) => world.state(n)))).toEqual(STATES);
      const settle = [
        () => world.rheo.ack(at(leases, 0)),
        () => world.rheo.ack(at(leases, 1)),
        async () => {
          world.clock.advance(86_400_000);
          for (const lease of await world.peerTake(10)) await world.peer.ack(lease);
        },
      ];
      const frontiers = [await world.frontier()];
      for (const step of settle) {
        await step();
        frontiers.push(await world.frontier());
      }
      expect(frontiers).toEqual([0, 1, 2, 7]);
      expect(await world.lag()).toBe(0);
    },
  ),
  rule("P1", "a crashed member's event stays in the lag until somebody settles it", async (world) => {
    await world.group();
    await world.append(3);
    const [, second, third] = await world.take();
    await world.rheo.ack(second as Lease);
    await world.rheo.ack(third as Lease);
    for (let day = 0; day < 3; day++) {
      expect(await world.lag()).toBe(3);
      world.clock.advance(86_400_000);
    }
    await world.reopen();
    expect(await world.lag()).toBe(3);
    await world.drain();
    expect(await world.lag()).toBe(0);
  }),
  rule("P1 B142", "lag is high watermark minus frontier in each partition, and their sum", async (world) => {
    await world.group({ partitions: 3 });
    for (const [partition, count] of [
      [0, 4],
      [1, 2],
      [2, 1],
    ] as const)
      await world.append(count, { partition });
    for (const lease of await world.take(2, { partitions: [0] })) await world.rheo.ack(lease);
    const { lag, partitions } = await world.peer.lag(STREAM, GROUP);
    expect(lag).toBe(5);
    expect(partitions).toEqual([
      { partition: 0, frontier: 2, highWatermark: 4, lag: 2, firstSequence: 1, skipped: 0 },
      { partition: 1, frontier: 0, highWatermark: 2, lag: 2, firstSequence: 1, skipped: 0 },
      { partition: 2, frontier: 0, highWatermark: 1, lag: 1, firstSequence: 1, skipped: 0 },
    ]);
    expect((await world.peer.groupInfo(STREAM, GROUP)).lag).toBe(5);
  }),
  rule("P1 B144 O28", "in flight are the unexpired leases only; retrying and dead ones are counted apart", async (world) => {
    await everyState(world);
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ inflight: 1, retrying: 1, deadLetters: 1, lag: 7 });
    world.clock.advance(LEASE_MS * 2);
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ inflight: 0, retrying: 1, deadLetters: 1, lag: 7 });
    expect(sequencesOf(await world.peer.leases(STREAM, GROUP))).toEqual([1, 2]);
  }),
  rule("P1", "the oldest unsettled event is told, and none when the group has caught up", async (world) => {
    await world.group({ partitions: 2 });
    const oldest = async (): Promise<Date | null> => (await world.peer.groupInfo(STREAM, GROUP)).oldestUnsettledAt;
    expect(await oldest()).toBeNull();
    const dates: Date[] = [];
    for (let n = 0; n < 4; n++) {
      const [event] = await world.append(1, { partition: n % 2 });
      dates.push(event?.timestamp ?? new Date(0));
      world.clock.advance(1_000);
    }
    expect(await oldest()).toEqual(dates[0]);
    const leases = await world.take();
    await world.rheo.ack(
      at(
        leases.filter(({ partition }) => partition === 0),
        0,
      ),
    );
    expect(await oldest()).toEqual(dates[1]);
    await world.rheo.ack(
      at(
        leases.filter(({ partition }) => partition === 1),
        0,
      ),
    );
    expect(await oldest()).toEqual(dates[2]);
    world.expire();
    await world.drain();
    expect(await oldest()).toBeNull();
  }),
  rule("P2 B142", "under two members at work lag is never negative and a caught-up group has none", async (world) => {
    await world.group({ partitions: 2 });
    const samples: number[] = [];
    let done = false;
    const write = async (): Promise<void> => {
      for (let n = 0; n < 60; n++) await world.append(1, { partition: n % 2 });
    };
    const read = async (take: () => Promise<Lease[]>): Promise<void> => {
      for (let round = 0; round < 60; round++) for (const lease of await take()) await world.peer.ack(lease);
    };
    const sample = async (): Promise<void> => {
      while (!done) {
        const { lag, partitions } = await world.rheo.lag(STREAM, GROUP);
        samples.push(lag, ...partitions.map((part) => part.highWatermark - part.frontier));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const work = Promise.all([write(), read(() => world.take(3)), read(() => world.peerTake(3))]).finally(() => {
      done = true;
    });
    await Promise.all([sample(), work]);
    await world.drain();
    expect(Math.min(...samples)).toBeGreaterThanOrEqual(0);
    expect(await world.lag()).toBe(0);
  }),
  rule("P2", "after replay, redrive and reset the lag rises by what was re-opened below the frontier", async (world) => {
    await world.group();
    const leases = await world.lease(10);
    for (const lease of leases) await (lease.sequence === 8 ? world.rheo.reject(lease) : world.rheo.ack(lease));
    expect(await world.lag()).toBe(0);
    await world.rheo.redrive(STREAM, GROUP, { all: true });
    expect(await world.lag()).toBe(3);
    await world.drain();
    await world.rheo.replay(STREAM, GROUP, { fromSequence: 6 });
    expect(await world.lag()).toBe(4);
    await world.rheo.replay(STREAM, GROUP, { query: { untilSequence: 3, afterSequence: 2 } });
    expect(await world.lag()).toBe(8);
    await world.drain();
    expect(await world.lag()).toBe(0);
    await world.rheo.resetGroup(STREAM, GROUP, { confirm: true });
    expect(await world.lag()).toBe(10);
    await world.rheo.resetGroup(STREAM, GROUP, { confirm: true, start: "latest" });
    expect(await world.lag()).toBe(0);
  }),
];

const explanations: readonly ContractCase[] = [
  rule(
    "P3",
    "explainLag names what holds the frontier: sequence, state, holder, attempt, since when and the last error",
    async (world) => {
      await world.group({ maxAttempts: 5 });
      expect(await world.peer.explainLag(STREAM, GROUP)).toEqual([]);
      await world.append(2);
      const holder = async (): Promise<unknown> => at(await world.peer.explainLag(STREAM, GROUP), 0);
      expect(await holder()).toMatchObject({
        partition: 0,
        sequence: 1,
        state: "pending",
        attempt: 0,
        consumerId: null,
        frontier: 0,
        highWatermark: 2,
        lag: 2,
      });
      const first = await world.takeOne();
      expect(await holder()).toMatchObject({
        sequence: 1,
        state: "leased",
        attempt: 1,
        consumerId: "a",
        since: first.leasedAt,
        until: first.expiresAt,
        lastError: null,
      });
      world.clock.advance(1_000);
      await world.rheo.nack(first, { reason: "no route", delayMs: 9_000 });
      expect(await holder()).toMatchObject({
        sequence: 1,
        state: "retrying",
        attempt: 1,
        since: new Date(world.clock.now()),
        until: new Date(world.clock.now() + 9_000),
        lastError: "no route",
      });
      world.clock.advance(9_000);
      const second = await world.peerTakeOne();
      expect(await holder()).toMatchObject({ state: "leased", attempt: 2, consumerId: "b", lastError: "no route" });
      world.expire();
      expect(await holder()).toMatchObject({
        state: "leased",
        expired: true,
        attempt: 2,
        consumerId: "b",
        since: second.expiresAt,
      });
      await world.peer.release(second);
      expect(await holder()).toMatchObject({ state: "pending", attempt: 1, lastError: "no route" });
      await world.rheo.reject(await world.takeOne());
      expect(await holder()).toMatchObject({ sequence: 2, state: "pending", frontier: 1, lag: 1 });
      await world.drain();
      expect(await world.peer.explainLag(STREAM, GROUP)).toEqual([]);
    },
  ),
  rule("P3", "each partition with lag is explained by itself", async (world) => {
    await world.group({ partitions: 3 });
    for (const partition of [0, 2]) await world.append(2, { partition });
    const [lease] = await world.take(1, { partitions: [2] });
    const holders = await world.peer.explainLag(STREAM, GROUP);
    expect(holders.map(({ partition, sequence, state }) => [partition, sequence, state])).toEqual([
      [0, 1, "pending"],
      [2, 1, "leased"],
    ]);
    expect(holders[1]?.consumerId).toBe(lease?.consumerId);
  }),
  rule("P3", "a delivery that waits for its key says so, and the one it waits for holds the frontier", async (world) => {
    await world.group({ ordering: "key" });
    await world.append(3, { partition: 0, key: "k" });
    await world.takeOne();
    expect((await world.peer.explainLag(STREAM, GROUP)).map(({ sequence, state }) => [sequence, state])).toEqual([[1, "leased"]]);
    expect(await world.delivery(2)).toMatchObject({ state: "pending", attempt: 0, consumerId: null });
  }),
];

const inspection: readonly ContractCase[] = [
  rule(
    "P4 O24",
    "looking changes nothing: neither what is seen, nor what can be claimed, nor under which token",
    async (world) => {
      await everyState(world);
      world.clock.advance(LEASE_MS * 4);
      const before = await world.snapshot();
      for (let look = 0; look < 3; look++) expect(await world.snapshot()).toEqual(before);
      await world.peer.listGroups(STREAM);
      await world.peer.streamInfo(STREAM);
      await world.rheo.ping();
      expect(await world.snapshot()).toEqual(before);
      const taken = await world.peerTake(10);
      expect(sequencesOf(taken)).toContain(1);
      expect(sequencesOf(taken)).not.toContain(3);
    },
  ),
  rule("P4", "a fetch that finds nothing changes nothing", async (world) => {
    await world.group();
    const [lease] = await world.lease(2);
    await world.rheo.ack(lease as Lease);
    const before = await world.snapshot();
    for (let poll = 0; poll < 5; poll++) expect([...(await world.take()), ...(await world.peerTake())]).toEqual([]);
    expect(await world.snapshot()).toEqual(before);
  }),
];

export const progressCases: readonly ContractCase[] = [...truth, ...explanations, ...inspection];
