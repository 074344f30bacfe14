/** Re-opening: replay, reset, redrive and purge, and what deletion leaves (T1, T7). */
import type { Lease, ReplayScope } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, numberOf, placesOf, refusal, sequencesOf, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

/** Two partitions of 6 events each at seconds 1–6 and 11–16, all acked. */
const drained = async (world: World): Promise<void> => {
  await world.group({ partitions: 2 });
  for (const partition of [0, 1]) {
    await world.rheo.appendMany(
      STREAM,
      upTo(6).map((n) => ({
        payload: { n },
        partition,
        type: n % 2 === 0 ? "even" : "odd",
        timestamp: new Date((partition * 10 + n) * 1_000),
      })),
    );
  }
  await world.drain();
};

const SCOPES: readonly (readonly [title: string, scope: ReplayScope, places: string])[] = [
  ["from a sequence, exclusive, in every partition", { fromSequence: 4 }, "0/5 0/6 1/5 1/6"],
  ["from a sequence in some partitions", { fromSequence: 4, partitions: [1] }, "1/5 1/6"],
  ["from the beginning", { fromSequence: 0, partitions: [0] }, "0/1 0/2 0/3 0/4 0/5 0/6"],
  ["from a time, which is another sequence in each partition", { from: new Date(5_000) }, "0/5 0/6 1/1 1/2 1/3 1/4 1/5 1/6"],
  ["from a time, in some partitions", { from: new Date(5_000), partitions: [0] }, "0/5 0/6"],
  ["from a time later than every event", { from: new Date(99_000) }, ""],
  ["what a query matches", { query: { type: "even" } }, "0/2 0/4 0/6 1/2 1/4 1/6"],
  ["what a query matches, in some partitions", { query: { type: "even" }, partitions: [1] }, "1/2 1/4 1/6"],
  ["what a query with a partition of its own matches", { query: { type: "odd", partition: 0 } }, "0/1 0/3 0/5"],
  [
    "what a query within sequences matches",
    { query: { afterSequence: { 0: 2, 1: 5 }, untilSequence: { 0: 4, 1: 6 } } },
    "0/3 0/4 1/6",
  ],
  [
    "what a query by payload and time matches",
    { query: { where: { "payload.n": { gte: 3 } }, from: new Date(4_000), to: new Date(14_000) } },
    "0/4 0/5 0/6 1/3",
  ],
  ["what a query that matches nothing matches", { query: { type: "none" } }, ""],
];

const EVERYTHING: readonly (readonly [way: string, scope: ReplayScope])[] = [
  ["by sequence", { fromSequence: 0 }],
  ["by time", { from: new Date(0) }],
  ["by query", { query: {} }],
];

const replays: readonly ContractCase[] = [
  ...SCOPES.map(([title, scope, places]) =>
    rule("T7 O10", `replay re-opens exactly what was offered and lies in its scope: ${title}`, async (world) => {
      await drained(world);
      const expected = places === "" ? [] : places.split(" ");
      expect(await world.peer.replay(STREAM, GROUP, { ...scope, dryRun: true })).toEqual({ reopened: expected.length });
      expect(await world.drain()).toEqual([]);
      expect(await world.rheo.replay(STREAM, GROUP, scope)).toEqual({ reopened: expected.length });
      const again = await world.drain();
      expect(placesOf(again).sort()).toEqual(expected);
      for (const lease of again) expect(lease.attempt).toBe(1);
      expect(await world.lag()).toBe(0);
    }),
  ),
  ...EVERYTHING.map(([way, scope]) =>
    rule(
      "T7 G1",
      `replay ${way} re-opens nothing from before the group's start, where nothing was offered to it`,
      async (world) => {
        await world.rheo.ensureStream(STREAM);
        await world.append(5, { partition: 0 });
        await world.group({ start: { after: 3 } });
        for (const lease of await world.take(10)) await world.rheo.ack(lease);
        expect(await world.rheo.replay(STREAM, GROUP, scope)).toEqual({ reopened: 2 });
        expect(placesOf(await world.drain())).toEqual(["0/4", "0/5"]);
        await world.rheo.resetGroup(STREAM, GROUP, { confirm: true, start: { after: 1 } });
        await world.drain();
        expect(await world.rheo.replay(STREAM, GROUP, scope)).toEqual({ reopened: 4 });
      },
    ),
  ),
  rule("T7 O09", "replay never skips what was not delivered yet", async (world) => {
    await world.group();
    await world.append(10);
    for (const lease of await world.take(3)) await world.rheo.ack(lease);
    expect(await world.rheo.replay(STREAM, GROUP, { fromSequence: 7 })).toEqual({ reopened: 0 });
    expect(await world.rheo.replay(STREAM, GROUP, { from: new Date(world.clock.now() + 1_000) })).toEqual({ reopened: 0 });
    expect(await world.rheo.replay(STREAM, GROUP, { query: { afterSequence: 5 } })).toEqual({ reopened: 0 });
    expect(await world.rheo.replay(STREAM, GROUP, { fromSequence: 2 })).toEqual({ reopened: 1 });
    expect(sequencesOf(await world.drain())).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
  }),
  rule("T7", "replay from beyond the end of every partition in scope is refused; an empty one within is 0", async (world) => {
    await drained(world);
    await world.append(3, { partition: 1 });
    const before = await world.snapshot();
    await refusal(world.rheo.replay(STREAM, GROUP, { fromSequence: 10 }), "nothing_to_replay");
    await refusal(world.rheo.replay(STREAM, GROUP, { fromSequence: 7, partitions: [0] }), "nothing_to_replay");
    expect(await world.rheo.replay(STREAM, GROUP, { fromSequence: 7 })).toEqual({ reopened: 0 });
    expect(await world.rheo.replay(STREAM, GROUP, { fromSequence: 6, partitions: [0] })).toEqual({ reopened: 0 });
    expect(await world.snapshot()).toEqual(before);
  }),
  rule("T7 O11", "a replayed dead letter starts from no attempts and is listed dead no more", async (world) => {
    for (const [group, scope] of [
      ["by-sequence", { fromSequence: 0 }],
      ["by-query", { query: {} }],
      ["by-time", { from: new Date(0) }],
    ] as const) {
      await world.group({ maxAttempts: 2 }, group);
      if (group === "by-sequence") await world.append(1);
      const fetch = (): Promise<Lease[]> => world.rheo.fetch(STREAM, group);
      await world.rheo.nack(at(await fetch(), 0), { delayMs: 0 });
      await world.rheo.nack(at(await fetch(), 0));
      expect(await world.peer.deadLetters(STREAM, group)).toHaveLength(1);
      expect(await world.rheo.replay(STREAM, group, scope)).toEqual({ reopened: 1 });
      expect(await world.peer.deadLetters(STREAM, group)).toEqual([]);
      const lease = at(await fetch(), 0);
      expect(lease.attempt).toBe(1);
      expect(await world.rheo.nack(lease, { delayMs: 0 })).toEqual({ state: "retrying" });
    }
  }),
  ...(["sequence", "query"] as const).map((by) =>
    rule("T7 T1", `replay by ${by} re-opens leased, retrying, pending and dead deliveries alike, each once`, async (world) => {
      await world.group();
      const leases = await world.lease(6);
      await world.rheo.nack(at(leases, 1), { delayMs: 86_400_000 });
      await world.rheo.release(at(leases, 2));
      await world.rheo.reject(at(leases, 3));
      await world.rheo.ack(at(leases, 4));
      const scope: ReplayScope = by === "sequence" ? { fromSequence: 0 } : { query: {} };
      expect(await world.peer.replay(STREAM, GROUP, scope)).toEqual({ reopened: 6 });
      expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ inflight: 0, retrying: 0, deadLetters: 0, lag: 6 });
      const again = await world.take(10);
      expect(again.map(({ sequence, attempt }) => [sequence, attempt])).toEqual(upTo(6).map((n) => [n, 1]));
      expect(await world.peerTake(10)).toEqual([]);
    }),
  ),
  rule("T7", "replay re-opens only what the group's filter lets through", async (world) => {
    await world.group({ filter: { "payload.n": { gt: 2 } } });
    await world.append(5);
    await world.drain();
    expect(await world.rheo.replay(STREAM, GROUP, { fromSequence: 0 })).toEqual({ reopened: 3 });
    expect((await world.drain()).map(numberOf)).toEqual([3, 4, 5]);
    expect(await world.rheo.replay(STREAM, GROUP, { query: {} })).toEqual({ reopened: 3 });
    expect((await world.drain()).map(numberOf)).toEqual([3, 4, 5]);
    expect(await world.lag()).toBe(0);
  }),
  rule("T7", "replay of one group leaves the others alone, and asks for one scope", async (world) => {
    await drained(world);
    await world.group({}, "other");
    await world.drain("other");
    await world.rheo.replay(STREAM, GROUP, { fromSequence: 0 });
    expect(await world.lag("other")).toBe(0);
    await refusal(world.rheo.replay(STREAM, GROUP, {} as never), "invalid_option");
    await refusal(world.rheo.replay(STREAM, GROUP, { fromSequence: 0, query: {} }), "invalid_option");
    await refusal(world.rheo.replay(STREAM, GROUP, { fromSequence: -1 }), "invalid_option");
    await refusal(world.rheo.replay(STREAM, GROUP, { fromSequence: 0, partitions: [2] }), "invalid_partition");
    await refusal(world.rheo.replay(STREAM, GROUP, { query: { where: { bad: 1 } } }), "invalid_query");
  }),
  rule("T7 F2", "a replay that races with acks loses nothing and double-counts nothing", async (world) => {
    await world.group();
    for (let round = 0; round < 10; round++) {
      const leases = await world.lease(8);
      const [replayed, ...acks] = await Promise.allSettled([
        world.peer.replay(STREAM, GROUP, { fromSequence: round * 8 + 4 }),
        ...leases.map((lease) => world.rheo.ack(lease)),
      ]);
      expect(replayed.status).toBe("fulfilled");
      for (const ack of acks.slice(0, 4)) expect(ack.status).toBe("fulfilled");
      expect(sequencesOf(await world.drain())).toEqual(upTo(4).map((n) => round * 8 + 4 + n));
      expect(await world.lag()).toBe(0);
    }
  }),
];

const resets: readonly ContractCase[] = [
  rule("T7", "reset needs confirm: true, and changes nothing without", async (world) => {
    await drained(world);
    const before = await world.snapshot();
    for (const options of [{}, { confirm: false }, { confirm: "yes" }, { confirm: 1 }]) {
      await refusal(world.rheo.resetGroup(STREAM, GROUP, options as never), "confirm_required"); // the types forbid it too
    }
    expect(await world.snapshot()).toEqual(before);
  }),
  rule("T7", "reset starts the group anew: everything pending, dead letters gone, old leases stale", async (world) => {
    await world.group();
    const leases = await world.lease(5);
    await world.rheo.reject(at(leases, 0));
    await world.rheo.ack(at(leases, 1));
    await world.rheo.nack(at(leases, 2), { delayMs: 86_400_000 });
    expect(await world.peer.resetGroup(STREAM, GROUP, { confirm: true })).toEqual({ reopened: 5 });
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 5, deadLetters: 0, retrying: 0, inflight: 0 });
    expect((await world.drain()).map(({ sequence, attempt }) => [sequence, attempt])).toEqual(upTo(5).map((n) => [n, 1]));
  }),
  rule("T7 O07 B67", "wherever a reset goes, lag is what lies beyond, and reaches 0", async (world) => {
    await world.group();
    const leases = await world.lease(10);
    for (const sequence of [2, 4, 6]) await world.rheo.ack(at(leases, sequence - 1));
    for (const [after, lag] of [
      [0, 10],
      [5, 5],
      [10, 0],
      [3, 7],
      [99, 0],
      [8, 2],
    ] as const) {
      await world.rheo.resetGroup(STREAM, GROUP, { confirm: true, start: { after } });
      expect(await world.lag()).toBe(lag);
      expect(await world.frontier()).toBe(10 - lag);
    }
    expect(sequencesOf(await world.drain())).toEqual([9, 10]);
    expect(await world.lag()).toBe(0);
  }),
  rule(
    "T7 B13",
    "a reset forward over what was acked out of order leaves nothing behind that could hold the frontier",
    async (world) => {
      await world.group();
      const leases = await world.lease(9);
      for (const sequence of [5, 7]) await world.rheo.ack(at(leases, sequence - 1));
      await world.append(6);
      await world.rheo.resetGroup(STREAM, GROUP, { confirm: true, start: { after: 10 } });
      const rest = await world.take(10);
      expect(sequencesOf(rest)).toEqual([11, 12, 13, 14, 15]);
      for (const [index, lease] of rest.entries()) {
        await world.rheo.ack(lease);
        expect(await world.frontier()).toBe(11 + index);
      }
      expect(await world.peer.leases(STREAM, GROUP)).toEqual([]);
    },
  ),
  rule("T7 O08", "a reset takes every start that a creation takes", async (world) => {
    await drained(world);
    const lagAfter = async (start: Parameters<typeof world.rheo.resetGroup>[2]["start"] & {}): Promise<number> => {
      await world.rheo.resetGroup(STREAM, GROUP, { confirm: true, start });
      return world.lag();
    };
    expect(await lagAfter("earliest")).toBe(12);
    expect(await lagAfter("latest")).toBe(0);
    expect(await lagAfter({ after: 4 })).toBe(4);
    expect(await lagAfter({ after: { 1: 2 } })).toBe(10);
    expect(await lagAfter({ at: new Date(5_000) })).toBe(8);
    expect(await lagAfter({ at: new Date(99_000) })).toBe(0);
  }),
  rule("T7 B68", "what was prefetched before a reset is fenced, and nothing after the new start is missed", async (world) => {
    await world.group();
    const buffered = await world.lease(50);
    for (const lease of buffered.slice(0, 40)) await world.rheo.ack(lease);
    await world.peer.resetGroup(STREAM, GROUP, { confirm: true, start: { after: 30 } });
    for (const lease of buffered.slice(40)) await refusal(world.rheo.ack(lease), "stale_lease");
    expect(sequencesOf(await world.drain())).toEqual(upTo(50).slice(30));
    expect(await world.lag()).toBe(0);
  }),
];

/** Six deliveries of one partition, all dead. */
const allDead = async (world: World, maxAttempts = 5): Promise<Lease[]> => {
  await world.group({ maxAttempts });
  const leases = await world.lease(6);
  for (const lease of leases) await world.rheo.reject(lease, { reason: `bad ${lease.sequence}` });
  return leases;
};

const redrives: readonly ContractCase[] = [
  rule("T7 O11", "redrive by ids, by a filter or of all re-opens those, each with no attempts", async (world) => {
    const leases = await allDead(world);
    const ids = [at(leases, 0), at(leases, 3)].map(({ event }) => event.id);
    expect(await world.rheo.redrive(STREAM, GROUP, { eventIds: [...ids, "unknown", ids[0] ?? ""] })).toEqual({ reopened: 2 });
    expect(sequencesOf(await world.peer.deadLetters(STREAM, GROUP))).toEqual([2, 3, 5, 6]);
    expect((await world.drain()).map(({ sequence, attempt }) => [sequence, attempt])).toEqual([
      [1, 1],
      [4, 1],
    ]);
    expect(await world.rheo.redrive(STREAM, GROUP, { where: { "payload.n": { in: [2, 6] } } })).toEqual({ reopened: 2 });
    expect(sequencesOf(await world.drain())).toEqual([2, 6]);
    expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 2 });
    expect(sequencesOf(await world.drain())).toEqual([3, 5]);
    expect(await world.peer.deadLetters(STREAM, GROUP)).toEqual([]);
  }),
  rule("T7 B65", "redrives at the same time by two members re-open each once", async (world) => {
    await allDead(world);
    const answers = await Promise.all([
      world.rheo.redrive(STREAM, GROUP, { all: true }),
      world.peer.redrive(STREAM, GROUP, { all: true }),
      world.rheo.redrive(STREAM, GROUP, { where: {} }),
    ]);
    expect(answers.reduce((sum, { reopened }) => sum + reopened, 0)).toBe(6);
    expect(await world.take(20)).toHaveLength(6);
    expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 0 });
    expect(await world.peerTake(20)).toEqual([]);
  }),
  rule("T7 B65", "what dies again after a redrive is listed once, with its own attempts", async (world) => {
    await allDead(world, 2);
    for (let round = 0; round < 3; round++) {
      await world.rheo.redrive(STREAM, GROUP, { all: true });
      for (const lease of await world.take(10)) await world.rheo.nack(lease, { delayMs: 0 });
      for (const lease of await world.peerTake(10)) await world.peer.nack(lease, { reason: `round ${round}` });
      const letters = await world.peer.deadLetters(STREAM, GROUP);
      expect(letters.map(({ sequence, attempts, reason }) => [sequence, attempts, reason])).toEqual(
        upTo(6).map((n) => [n, 2, `round ${round}`]),
      );
    }
    expect(await world.lag()).toBe(0);
  }),
  rule("T7 B64", "with nothing to do redrive, replay and reset say 0, and work when there is something", async (world) => {
    await world.group();
    for (let time = 0; time < 2; time++) {
      expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 0 });
      expect(await world.rheo.redrive(STREAM, GROUP, { eventIds: [] })).toEqual({ reopened: 0 });
      expect(await world.rheo.replay(STREAM, GROUP, { fromSequence: 0 })).toEqual({ reopened: 0 });
      expect(await world.rheo.replay(STREAM, GROUP, { query: {} })).toEqual({ reopened: 0 });
      expect(await world.rheo.resetGroup(STREAM, GROUP, { confirm: true })).toEqual({ reopened: 0 });
    }
    await world.rheo.reject(at(await world.lease(1), 0));
    expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 1 });
    expect(sequencesOf(await world.drain())).toEqual([1]);
  }),
  rule("T7 B63", "redrives again and again never move the frontier above the log, and nothing new is missed", async (world) => {
    await world.group({ maxAttempts: 1 });
    await world.append(10);
    for (let round = 0; round < 5; round++) {
      for (const lease of await world.take(20)) await world.rheo.nack(lease);
      await world.rheo.redrive(STREAM, GROUP, { all: true });
    }
    await world.drain();
    expect([await world.frontier(), await world.lag()]).toEqual([10, 0]);
    await world.reopen();
    await world.append(10);
    expect(await world.lag()).toBe(10);
    expect(sequencesOf(await world.drain())).toEqual(upTo(20).slice(10));
  }),
  rule(
    "T7",
    "purge needs confirm: true; it removes dead letters for good, their events stay, nothing is re-opened",
    async (world) => {
      const leases = await allDead(world);
      await refusal(world.rheo.purgeDeadLetters(STREAM, GROUP, { all: true } as never), "confirm_required"); // the types forbid it too
      expect(await world.rheo.purgeDeadLetters(STREAM, GROUP, { eventIds: [at(leases, 1).event.id], confirm: true })).toEqual({
        purged: 1,
      });
      expect(await world.rheo.purgeDeadLetters(STREAM, GROUP, { where: { "payload.n": { gt: 4 } }, confirm: true })).toEqual({
        purged: 2,
      });
      expect(sequencesOf(await world.peer.deadLetters(STREAM, GROUP))).toEqual([1, 3, 4]);
      expect(await world.peerTake()).toEqual([]);
      expect(await world.peer.query(STREAM)).toHaveLength(6);
      expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 0, deadLetters: 3 });
      expect(await world.rheo.purgeDeadLetters(STREAM, GROUP, { all: true, confirm: true })).toEqual({ purged: 3 });
      expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 0 });
    },
  ),
  rule("T7", "what is redriven outlives a restart", async (world) => {
    await allDead(world);
    await world.rheo.redrive(STREAM, GROUP, { all: true });
    await world.reopen();
    expect(sequencesOf(await world.drain())).toEqual(upTo(6));
    expect(await world.peer.deadLetters(STREAM, GROUP)).toEqual([]);
  }),
];

const deletions: readonly ContractCase[] = [
  rule("T7 B72", "a deleted group is gone after a restart, and the next of its name starts clean", async (world) => {
    await world.group();
    const leases = await world.lease(6);
    await world.rheo.ack(at(leases, 0));
    await world.rheo.reject(at(leases, 1));
    await world.rheo.nack(at(leases, 2), { delayMs: 86_400_000 });
    await refusal(world.rheo.deleteGroup(STREAM, GROUP, {} as never), "confirm_required"); // the types forbid it too
    await world.rheo.deleteGroup(STREAM, GROUP, { confirm: true });
    await refusal(world.rheo.deleteGroup(STREAM, GROUP, { confirm: true }), "group_not_found");
    await world.reopen();
    expect(await world.peer.listGroups(STREAM)).toEqual([]);
    await world.group();
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 6, deadLetters: 0, retrying: 0, inflight: 0 });
    expect((await world.drain()).map(({ sequence, attempt }) => [sequence, attempt])).toEqual(upTo(6).map((n) => [n, 1]));
  }),
  rule("T7 B72 B69", "a deleted stream takes its groups and events with it, and nothing else", async (world) => {
    await world.group();
    await world.lease(3);
    await world.rheo.createStream("other");
    await world.rheo.createGroup("other", GROUP);
    await world.rheo.append("other", { payload: "stays" });
    await refusal(world.rheo.deleteStream(STREAM, {} as never), "confirm_required"); // the types forbid it too
    await world.rheo.deleteStream(STREAM, { confirm: true });
    await world.reopen();
    expect((await world.peer.listStreams()).map(({ name }) => name)).toEqual(["other"]);
    await world.rheo.createStream(STREAM, { partitions: 3 });
    expect(await world.peer.listGroups(STREAM)).toEqual([]);
    expect(await world.peer.query(STREAM)).toEqual([]);
    expect(sequencesOf(await world.append(1, { partition: 2 }))).toEqual([1]);
    expect((await world.peer.fetch("other", GROUP)).map((lease) => lease.event.payload)).toEqual(["stays"]);
  }),
  rule("T7", "a member that knew the old stream routes by the new one's partitions", async (world) => {
    await world.rheo.createStream(STREAM, { partitions: 8 });
    await world.rheo.append(STREAM, { payload: 1, key: "k7" });
    await world.peer.append(STREAM, { payload: 1, key: "k7" });
    await world.peer.deleteStream(STREAM, { confirm: true });
    await world.peer.createStream(STREAM, { partitions: 2 });
    const events = [
      await world.rheo.append(STREAM, { payload: 2, key: "k7" }),
      await world.peer.append(STREAM, { payload: 2, key: "k7" }),
    ];
    expect(new Set(events.map((event) => event.partition)).size).toBe(1);
    expect(sequencesOf(events)).toEqual([1, 2]);
  }),
  rule("T7 B70", "a member that waits for events ends with a clear error when its group or stream is deleted", async (world) => {
    for (const remove of ["group", "stream"] as const) {
      await world.group();
      const waiting = refusal(
        world.peerTake(10, { waitMs: LEASE_MS * 10 }),
        remove === "group" ? "group_not_found" : "stream_not_found",
      );
      const removing =
        remove === "group"
          ? world.rheo.deleteGroup(STREAM, GROUP, { confirm: true })
          : world.rheo.deleteStream(STREAM, { confirm: true });
      await Promise.all([world.pump(waiting), removing]);
    }
  }),
];

export const reopeningCases: readonly ContractCase[] = [...replays, ...resets, ...redrives, ...deletions];
