/**
 * Groups: where they start, what a fetch gives, and in what preference; pausing, filters and bounds (G1–G8). Ordering (G9) is in
 * ordering.ts.
 */
import type { CreateGroupOptions, Lease } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, numberOf, placesOf, refusal, refusals, rising, sequencesOf, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

const LIMIT_OF_FETCH = 10_000;
const DEFAULT_FETCH_BYTES = 8_388_608;

/** A stream of two partitions: 6 events in the first, 4 in the second, event n of each at second n. */
const history = async (world: World): Promise<void> => {
  await world.rheo.createStream(STREAM, { partitions: 2 });
  for (const [partition, count] of [
    [0, 6],
    [1, 4],
  ] as const) {
    await world.rheo.appendMany(
      STREAM,
      upTo(count).map((n) => ({ payload: { n }, partition, timestamp: new Date(n * 1_000) })),
    );
  }
};

const starts: readonly (readonly [title: string, start: CreateGroupOptions["start"], first: readonly number[]])[] = [
  ["by default at the earliest event", undefined, [0, 0]],
  ["at the earliest event", "earliest", [0, 0]],
  ["at the latest", "latest", [6, 4]],
  ["after a sequence", { after: 3 }, [3, 3]],
  ["after a sequence per partition, where absent means the first", { after: { 1: 2 } }, [0, 2]],
  ["after a sequence beyond the end, which is the end", { after: 5 }, [5, 4]],
  ["at the first event of a time or later", { at: new Date(3_000) }, [2, 2]],
  ["at a time between two events", { at: new Date(3_001) }, [3, 3]],
  ["at a time later than every event of one partition", { at: new Date(5_000) }, [4, 4]],
];

const beginnings: readonly ContractCase[] = [
  ...starts.map(([title, start, frontiers]) =>
    rule("G1 O07", `a group starts ${title}: its frontier too, so that its lag reaches 0`, async (world) => {
      await history(world);
      await world.rheo.createGroup(STREAM, GROUP, start === undefined ? {} : { start });
      const { partitions, lag } = await world.peer.lag(STREAM, GROUP);
      expect(partitions.map(({ frontier }) => frontier)).toEqual(frontiers);
      const [first = 0, second = 0] = frontiers;
      expect(lag).toBe(10 - first - second);
      const expected = [
        ...upTo(6)
          .slice(first)
          .map((n) => `0/${n}`),
        ...upTo(4)
          .slice(second)
          .map((n) => `1/${n}`),
      ];
      expect(placesOf(await world.drain()).sort()).toEqual(expected);
      expect(await world.lag()).toBe(0);
      await world.append(1, { partition: 1 });
      expect(placesOf(await world.drain())).toEqual(["1/5"]);
    }),
  ),
  rule("G1 O08", "a start time later than every event means latest, not the beginning", async (world) => {
    await history(world);
    await world.rheo.createGroup(STREAM, GROUP, { start: { at: new Date(world.clock.now() + 86_400_000) } });
    expect(await world.lag()).toBe(0);
    expect(await world.take()).toEqual([]);
    await world.append(1);
    expect(placesOf(await world.drain())).toEqual(["0/7"]);
  }),
  rule("G1", "a group that starts beyond the end waits for no event that is not there", async (world) => {
    await history(world);
    await world.rheo.createGroup(STREAM, GROUP, { start: { after: 1_000 } });
    await world.append(2, { partition: 1 });
    expect(placesOf(await world.drain())).toEqual(["1/5", "1/6"]);
    expect(await world.lag()).toBe(0);
  }),
  rule("G1 B19", "a second creation is refused and moves nothing; ensureGroup returns the group unchanged", async (world) => {
    await history(world);
    await world.rheo.createGroup(STREAM, GROUP, { start: { after: 2 }, maxAttempts: 3 });
    const before = await world.snapshot();
    await refusal(world.peer.createGroup(STREAM, GROUP, { start: "latest" }), "already_exists");
    const ensured = await world.peer.ensureGroup(STREAM, GROUP, { start: "earliest", maxAttempts: 9 });
    expect(ensured.options.maxAttempts).toBe(3);
    expect(await world.snapshot()).toEqual(before);
  }),
  rule("G1 B19", "of creations at the same time one decides the start, and nothing after it is missed", async (world) => {
    await world.rheo.createStream(STREAM);
    await world.append(5);
    const appends = async (): Promise<void> => {
      for (let n = 0; n < 30; n++) await world.append(1);
    };
    const create = (member: "rheo" | "peer", start: CreateGroupOptions["start"] & {}): Promise<unknown> =>
      world[member].createGroup(STREAM, GROUP, { start });
    const [, ...created] = await Promise.allSettled([
      appends(),
      create("rheo", "latest"),
      create("peer", { after: 2 }),
      create("rheo", "earliest"),
      create("peer", "latest"),
    ]);
    expect(created.filter((attempt) => attempt.status === "fulfilled")).toHaveLength(1);
    const start = await world.frontier();
    expect(sequencesOf(await world.drain())).toEqual(upTo(35).slice(start));
    expect(await world.lag()).toBe(0);
  }),
  rule("G1", "ensureGroup creates what is not there, from every member at once", async (world) => {
    await history(world);
    await Promise.all(upTo(6).map((n) => (n % 2 === 0 ? world.rheo : world.peer).ensureGroup(STREAM, GROUP)));
    expect((await world.peer.listGroups(STREAM)).map(({ name }) => name)).toEqual([GROUP]);
  }),
  rule("G1", "groups do not affect one another", async (world) => {
    await world.group();
    await world.group({ start: "earliest" }, "other");
    const leases = await world.lease(6);
    const before = await world.snapshot("other");
    await world.rheo.ack(at(leases, 0));
    await world.rheo.reject(at(leases, 1));
    await world.rheo.nack(at(leases, 2));
    await world.rheo.release(at(leases, 3));
    await world.rheo.resetGroup(STREAM, GROUP, { confirm: true });
    await world.rheo.pauseGroup(STREAM, GROUP);
    const after = await world.snapshot("other");
    expect(withoutOthers(after)).toEqual(withoutOthers(before));
    expect(sequencesOf(await world.drain("other"))).toEqual(upTo(6));
  }),
];

/** A snapshot holds every group's view of the events; only the first group's is compared. */
const withoutOthers = (snapshot: unknown): unknown => ({ ...(snapshot as object), histories: null });

const fetching: readonly ContractCase[] = [
  rule("G2 O05", "members that fetch at the same time never hold the same delivery", async (world) => {
    await world.group({ partitions: 3 });
    for (const partition of [0, 1, 2]) await world.append(20, { partition });
    const batches = await Promise.all(
      upTo(12).map((n) => (n % 2 === 0 ? world.rheo : world.peer).fetch(STREAM, GROUP, { limit: 7, consumerId: `m${n}` })),
    );
    const places = placesOf(batches.flat());
    expect(new Set(places).size).toBe(places.length);
    expect(places).toHaveLength(60);
    expect(await world.take(100)).toEqual([]);
  }),
  rule("G2", "a lease holds until its expiry and not a millisecond longer", async (world) => {
    await world.group({ leaseMs: 1_000 });
    const [lease] = await world.lease(1);
    expect(lease?.expiresAt.getTime()).toBe(world.clock.now() + 1_000);
    expect(lease?.leasedAt.getTime()).toBe(world.clock.now());
    world.clock.advance(999);
    expect(await world.peerTake()).toEqual([]);
    world.clock.advance(1);
    expect(sequencesOf(await world.peerTake())).toEqual([1]);
  }),
  rule("G2", "a fetch may ask for another length of lease", async (world) => {
    await world.group({ leaseMs: 1_000 });
    await world.append(2);
    const long = await world.takeOne({ leaseMs: 5_000 });
    const short = await world.takeOne();
    world.clock.advance(4_999);
    expect(sequencesOf(await world.peerTake())).toEqual([short.sequence]);
    world.clock.advance(1);
    expect(sequencesOf(await world.peerTake())).toContain(long.sequence);
  }),
  rule("G3 B103", "a fetch leases what it returns, at most its limit, and nothing besides", async (world) => {
    await world.group({ partitions: 3 });
    for (const partition of [0, 1, 2]) await world.append(10, { partition });
    for (const limit of [1, 2, 5, 7]) {
      const held = (await world.peer.leases(STREAM, GROUP)).length;
      const leases = await world.take(limit);
      expect(leases).toHaveLength(limit);
      expect((await world.peer.leases(STREAM, GROUP)).length).toBe(held + limit);
    }
    expect(await world.take(100)).toHaveLength(15);
    expect(await world.take(100)).toEqual([]);
  }),
  rule("G3", "leases come by partition and sequence, with their event and their place", async (world) => {
    await world.group({ partitions: 3 });
    for (const partition of [2, 0, 1]) await world.append(3, { partition });
    const leases = await world.take(9);
    expect(placesOf(leases)).toEqual(["0/1", "0/2", "0/3", "1/1", "1/2", "1/3", "2/1", "2/2", "2/3"]);
    for (const lease of leases) {
      expect(lease).toMatchObject({
        stream: STREAM,
        group: GROUP,
        consumerId: "a",
        attempt: 1,
        partition: lease.event.partition,
        sequence: lease.event.sequence,
      });
      expect(lease.event).toEqual(await world.peer.getEvent(STREAM, lease.event.id));
    }
  }),
  rule("G3 O22", "no partition starves while others have a backlog", async (world) => {
    await world.group({ partitions: 4 });
    for (const partition of [0, 1, 2, 3]) await world.append(20, { partition });
    const given = new Map<number, number>();
    for (let fetch = 0; fetch < 16; fetch++) {
      const lease = await (fetch % 2 === 0 ? world.takeOne() : world.peerTakeOne());
      given.set(lease.partition, (given.get(lease.partition) ?? 0) + 1);
      await world.rheo.ack(lease);
    }
    expect(rising(given.keys())).toEqual([0, 1, 2, 3]);
    for (const count of given.values()) expect(count).toBeGreaterThanOrEqual(2);
  }),
  rule("G3", "a fetch may be limited to some partitions, which must be there", async (world) => {
    await world.group({ partitions: 3 });
    for (const partition of [0, 1, 2]) await world.append(2, { partition });
    expect(placesOf(await world.take(10, { partitions: [1] }))).toEqual(["1/1", "1/2"]);
    expect(await world.take(10, { partitions: [1] })).toEqual([]);
    await refusal(world.take(10, { partitions: [3] }), "invalid_partition");
    await refusal(world.take(10, { partitions: [] }), "invalid_option");
    expect(placesOf(await world.take(10, { partitions: [2, 0] }))).toEqual(["0/1", "0/2", "2/1", "2/2"]);
  }),
  rule("G3 B89", "a fetch stops before it exceeds maxBytes, but gives at least one event", async (world) => {
    await world.group({ partitions: 2 });
    const text = "x".repeat(1_000);
    for (const partition of [0, 1])
      await world.rheo.appendMany(
        STREAM,
        upTo(10).map(() => ({ payload: text, partition })),
      );
    const some = await world.take(100, { maxBytes: 3_500 });
    expect(some.length).toBeGreaterThanOrEqual(2);
    expect(some.length).toBeLessThanOrEqual(3);
    expect(await world.take(100, { maxBytes: 1 })).toHaveLength(1);
    for (const lease of some) await world.rheo.release(lease);
    expect((await world.take(100, { maxBytes: 3_500 })).length).toBeLessThanOrEqual(3);
    world.expire();
    expect((await world.peerTake(100, { maxBytes: 3_500 })).length).toBeLessThanOrEqual(3);
  }),
  rule("G3 B89", "maxBytes counts bytes of UTF-8, not characters", async (world) => {
    await world.group();
    await world.rheo.appendMany(
      STREAM,
      upTo(10).map(() => ({ payload: "\u20ac".repeat(1_000) })),
    );
    expect((await world.take(100, { maxBytes: 7_000 })).length).toBeLessThanOrEqual(2);
  }),
  rule(
    "G3 G5 G6 T1",
    "idle groups that are fetched from at once are each given what has become claimable, unless none has",
    async (world) => {
      const names = ["retried", "abandoned", "idle", "paused", "deleted", "ordered"];
      for (const name of names) await world.group({ partitions: 2, ordering: name === "ordered" ? "key" : "none" }, name);
      await world.append(1);
      const fetchAll = (partitions: readonly number[]): Promise<Lease[]>[] =>
        names.map((name) => world.rheo.fetch(STREAM, name, { limit: 10, consumerId: "a", partitions }));
      const places = async (fetches: readonly Promise<Lease[]>[]): Promise<string[]> =>
        (await Promise.all(fetches)).map((leases) => leases.map(({ partition, sequence }) => `${partition}/${sequence}`).join());
      const [retried, , idle, paused, deleted, ordered] = (await Promise.all(fetchAll([0, 1]))).flat();
      for (const lease of [retried, paused, ordered])
        if (lease !== undefined) await world.rheo.nack(lease, { delayMs: LEASE_MS });
      for (const lease of [idle, deleted]) if (lease !== undefined) await world.rheo.ack(lease);
      await world.peer.pauseGroup(STREAM, "paused");
      for (let poll = 0; poll < 3; poll++) expect(await places(fetchAll([0, 1]))).toEqual(["", "", "", "", "", ""]);
      world.expire();
      expect(await places(fetchAll([1]))).toEqual(["", "", "", "", "", ""]);
      expect(await places(fetchAll([0]))).toEqual(["0/1", "0/1", "", "", "", "0/1"]);
      await world.append(1, { partition: 1 });
      expect(await places(fetchAll([0]))).toEqual(["", "", "", "", "", ""]);
      expect(await places(fetchAll([1]))).toEqual(["1/1", "1/1", "1/1", "", "1/1", "1/1"]);
      await world.peer.deleteGroup(STREAM, "deleted", { confirm: true });
      for (let poll = 0; poll < 2; poll++) {
        const fetches = fetchAll([0, 1]);
        const [failing] = fetches.splice(names.indexOf("deleted"), 1);
        await Promise.all([places(fetches), refusal(Promise.resolve(failing), "group_not_found")]);
      }
    },
  ),
  rule("G3 B89", "by default a fetch is bounded by 8 MiB", async (world) => {
    await world.group();
    const text = "x".repeat(1_000_000);
    for (let n = 0; n < 12; n++) await world.rheo.append(STREAM, { payload: text });
    const leases = await world.take(100);
    expect(leases.length).toBeGreaterThanOrEqual(7);
    expect(leases.length * 1_000_000).toBeLessThanOrEqual(DEFAULT_FETCH_BYTES);
  }),
];

const preference: readonly ContractCase[] = [
  rule("G4", "due retries and expired leases come before new events", async (world) => {
    await world.group();
    const [first, second] = await world.lease(2);
    await world.rheo.nack(at([first], 0) as Lease, { delayMs: 10 });
    await world.append(5);
    world.clock.advance(10);
    const retried = await world.takeOne();
    expect([retried.sequence, retried.attempt]).toEqual([1, 2]);
    world.expire();
    const expired = await world.peerTakeOne();
    expect([1, second?.sequence]).toContain(expired.sequence);
  }),
  rule("G4", "deliveries that fail again and again do not starve new events", async (world) => {
    await world.group({ maxAttempts: 1_000 });
    for (const lease of await world.lease(5)) await world.rheo.nack(lease, { delayMs: 0 });
    await world.append(5);
    const fresh = new Set<number>();
    for (let round = 0; round < 60 && fresh.size < 5; round++) {
      const lease = await world.takeOne();
      if (lease.sequence > 5) {
        fresh.add(lease.sequence);
        await world.rheo.ack(lease);
      } else await world.rheo.nack(lease, { delayMs: 0 });
    }
    expect(rising(fresh)).toEqual([6, 7, 8, 9, 10]);
  }),
  rule("G4", "a stream of new events does not starve a retry", async (world) => {
    await world.group();
    await world.rheo.nack(at(await world.lease(1), 0), { delayMs: 5 });
    const rounds: number[] = [];
    for (let round = 0; round < 20; round++) {
      await world.append(3);
      world.clock.advance(1);
      rounds.push(...sequencesOf(await world.take(3)));
    }
    expect(rounds.indexOf(1)).toBeGreaterThanOrEqual(0);
    expect(rounds.indexOf(1)).toBeLessThan(30);
  }),
  rule("G4 O06 B39", "an expired lease behind a page of deliveries that cannot be claimed is found at once", async (world) => {
    await world.group({ maxInflight: 5_000 });
    await world.append(1_200);
    for (const lease of await world.take(600)) await world.rheo.nack(lease, { delayMs: 86_400_000 });
    await world.take(599, { leaseMs: 86_400_000 });
    const last = await world.takeOne({ leaseMs: 1_000 });
    world.clock.advance(1_000);
    const taken = await world.peerTake(10);
    expect(sequencesOf(taken)).toEqual([last.sequence]);
    expect(taken[0]?.attempt).toBe(2);
  }),
  rule("G4 O22", "expired leases of one partition do not keep other partitions from being served", async (world) => {
    await world.group({ partitions: 2, maxAttempts: 1_000 });
    await world.append(3, { partition: 0 });
    await world.take(3);
    await world.append(3, { partition: 1 });
    const served = new Set<string>();
    for (let round = 0; round < 20; round++) {
      world.expire();
      for (const lease of await world.peerTake(1)) {
        if (lease.partition === 0) continue;
        served.add(`${lease.partition}/${lease.sequence}`);
        await world.peer.ack(lease);
      }
    }
    expect([...served].sort()).toEqual(["1/1", "1/2", "1/3"]);
  }),
];

const lookups: readonly ContractCase[] = [
  rule("G5", "the stream is looked up before the group", async (world) => {
    await world.group();
    const { rheo } = world;
    const calls: readonly ((stream: string, group: string) => Promise<unknown>)[] = [
      (stream, group) => rheo.fetch(stream, group),
      (stream, group) => rheo.updateGroup(stream, group, { maxAttempts: 2 }),
      (stream, group) => rheo.pauseGroup(stream, group),
      (stream, group) => rheo.resumeGroup(stream, group),
      (stream, group) => rheo.deleteGroup(stream, group, { confirm: true }),
      (stream, group) => rheo.replay(stream, group, { fromSequence: 0 }),
      (stream, group) => rheo.resetGroup(stream, group, { confirm: true }),
      (stream, group) => rheo.redrive(stream, group, { all: true }),
      (stream, group) => rheo.purgeDeadLetters(stream, group, { all: true, confirm: true }),
      (stream, group) => rheo.lag(stream, group),
      (stream, group) => rheo.groupInfo(stream, group),
      (stream, group) => rheo.explainLag(stream, group),
      (stream, group) => rheo.deadLetters(stream, group),
      (stream, group) => rheo.leases(stream, group),
      (stream, group) => rheo.whenCaughtUp(stream, group),
    ];
    for (const call of calls) {
      await refusal(call("missing", "missing"), "stream_not_found");
      await refusal(call("missing", GROUP), "stream_not_found");
      const error = await refusal(call(STREAM, "missing"), "group_not_found");
      expect(error.details).toMatchObject({ stream: STREAM, group: "missing" });
    }
    const inNoStream = [
      rheo.createGroup("missing", GROUP),
      rheo.ensureGroup("missing", GROUP),
      rheo.listGroups("missing"),
      rheo.append("missing", { payload: 1 }),
      rheo.query("missing"),
      rheo.getEvent("missing", "x"),
      rheo.eventHistory("missing", "x"),
      rheo.streamInfo("missing"),
      rheo.deleteStream("missing", { confirm: true }),
      rheo.trim("missing", { keepLast: 0 }),
    ];
    for (const error of await refusals(inNoStream, "stream_not_found")) expect(error.details.stream).toBe("missing");
  }),
  rule("G5", "a call names the group that it did not find, also after a restart", async (world) => {
    await world.group();
    await world.rheo.deleteGroup(STREAM, GROUP, { confirm: true });
    await world.reopen();
    await refusal(world.take(), "group_not_found");
    await world.rheo.deleteStream(STREAM, { confirm: true });
    await refusal(world.take(), "stream_not_found");
  }),
];

const pausing: readonly ContractCase[] = [
  rule("G6", "a paused group is given nothing, on every member, and goes on when resumed", async (world) => {
    await world.group();
    const [lease] = await world.lease(3);
    await world.rheo.pauseGroup(STREAM, GROUP);
    await world.append(3);
    world.expire();
    expect(await world.take()).toEqual([]);
    expect(await world.peerTake()).toEqual([]);
    expect((await world.peer.groupInfo(STREAM, GROUP)).paused).toBe(true);
    await world.reopen();
    expect(await world.take()).toEqual([]);
    await world.rheo.ack(lease as Lease);
    await world.peer.resumeGroup(STREAM, GROUP);
    expect(rising(sequencesOf(await world.take()))).toEqual([2, 3, 4, 5, 6]);
  }),
  rule("G6", "settles and renewals work while the group is paused", async (world) => {
    await world.group({ maxAttempts: 2 });
    const leases = await world.lease(5);
    await world.peer.pauseGroup(STREAM, GROUP);
    await world.rheo.ack(at(leases, 0));
    await world.rheo.nack(at(leases, 1), { delayMs: 0 });
    await world.rheo.reject(at(leases, 2));
    await world.rheo.release(at(leases, 3));
    world.clock.advance(1_000);
    await world.rheo.renew(at(leases, 4));
    expect(await Promise.all(upTo(5).map((n) => world.state(n)))).toEqual(["acked", "retrying", "dead", "pending", "leased"]);
    expect(await world.take()).toEqual([]);
  }),
];

const filtering: readonly ContractCase[] = [
  rule("G7", "a group with a filter is given what matches, and the rest counts as settled", async (world) => {
    await world.group({ filter: { type: "order", "payload.amount": { gt: 10 } } });
    const amounts = [5, 11, 12, 7, 99, 1];
    for (const amount of amounts) await world.rheo.append(STREAM, { type: "order", payload: { amount } });
    await world.rheo.append(STREAM, { type: "other", payload: { amount: 100 } });
    const leases = await world.peerTake();
    expect(sequencesOf(leases)).toEqual([2, 3, 5]);
    await world.rheo.ack(at(leases, 1));
    expect(await world.frontier()).toBe(1);
    await world.rheo.ack(at(leases, 0));
    expect(await world.frontier()).toBe(4);
    await world.rheo.ack(at(leases, 2));
    expect(await world.peerTake()).toEqual([]);
    expect(await world.lag()).toBe(0);
  }),
  rule("G7 O21", 'a filter compares values by type: 1 is not "1"', async (world) => {
    await world.group({ filter: { "payload.v": 1 } });
    for (const v of ["1", 1, true, [1], null, 1.5, { v: 1 }]) await world.rheo.append(STREAM, { payload: { v } });
    expect(sequencesOf(await world.drain())).toEqual([2]);
    expect(await world.lag()).toBe(0);
  }),
  rule("G7", "retries, takeovers and redrives of a filtered group work as those of any other", async (world) => {
    await world.group({ filter: { "payload.n": { nin: [2, 4] } }, maxAttempts: 3 });
    await world.append(6);
    const leases = await world.take();
    expect(leases.map(numberOf)).toEqual([1, 3, 5, 6]);
    await world.rheo.nack(at(leases, 0), { delayMs: 0 });
    await world.rheo.reject(at(leases, 1));
    expect(sequencesOf(await world.peerTake())).toEqual([1]);
    world.expire();
    expect(rising(sequencesOf(await world.drain()))).toEqual([1, 5, 6]);
    expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 1 });
    expect(sequencesOf(await world.drain())).toEqual([3]);
    expect(await world.lag()).toBe(0);
  }),
  rule("G7", "a match behind more events that do not match than one look covers is found", async (world) => {
    await world.group({ filter: { type: "rare" } });
    for (let n = 0; n < 3; n++)
      await world.rheo.appendMany(
        STREAM,
        upTo(5_000).map(() => ({ payload: 0 })),
      );
    await world.rheo.append(STREAM, { type: "rare", payload: 1 });
    const leases = [...(await world.take()), ...(await world.take()), ...(await world.take())];
    expect(sequencesOf(leases)).toEqual([15_001]);
  }),
  rule("G7", "a new filter holds for events not yet offered", async (world) => {
    await world.group();
    await world.append(2);
    const leases = await world.take();
    await world.peer.updateGroup(STREAM, GROUP, { filter: { "payload.n": { gt: 3 } } });
    await world.append(3);
    expect((await world.take()).map(numberOf)).toEqual([4, 5]);
    await world.rheo.nack(at(leases, 0), { delayMs: 0 });
    expect(sequencesOf(await world.take())).toEqual([1]);
    await refusal(world.rheo.updateGroup(STREAM, GROUP, { filter: { nonsense: 1 } }), "invalid_query");
  }),
];

const bounds: readonly ContractCase[] = [
  rule("G8 B17 B127", "maxInflight bounds the leases of all members and partitions together", async (world) => {
    await world.group({ partitions: 3, maxInflight: 10 });
    for (const partition of [0, 1, 2]) await world.append(20, { partition });
    const mine = await world.take(7);
    const theirs = await world.peerTake(7);
    expect([mine.length, theirs.length]).toEqual([7, 3]);
    expect(await world.peerTake(7)).toEqual([]);
    await world.rheo.ack(at(mine, 0));
    await world.rheo.nack(at(mine, 1), { delayMs: 86_400_000 });
    expect(await world.peerTake(7)).toHaveLength(2);
    expect((await world.peer.groupInfo(STREAM, GROUP)).inflight).toBe(10);
  }),
  rule("G8 B17", "leases that ran out no longer count, so a crashed member holds nobody up", async (world) => {
    await world.group({ maxInflight: 10 });
    await world.append(30);
    expect(await world.take(10)).toHaveLength(10);
    expect(await world.peerTake(10)).toEqual([]);
    world.expire();
    const given = await world.peerTake(100);
    expect(given.length).toBeGreaterThan(0);
    expect(given.length).toBeLessThanOrEqual(10);
    for (const lease of given) await world.peer.ack(lease);
    await drainPatiently(world);
    expect(await world.lag()).toBe(0);
  }),
  rule("G8 B17", "a bound lowered below what is out gives nothing until enough has been settled", async (world) => {
    await world.group({ maxInflight: 10 });
    const leases = await world.lease(10);
    await world.append(10);
    await world.peer.updateGroup(STREAM, GROUP, { maxInflight: 5 });
    for (const lease of leases.slice(0, 5)) {
      expect(await world.peerTake(10)).toEqual([]);
      await world.rheo.ack(lease);
    }
    await world.rheo.ack(at(leases, 5));
    expect(await world.peerTake(10)).toHaveLength(1);
  }),
  rule("G8", "by default a group holds at most 10,000 leases per partition", async (world) => {
    await world.group();
    for (let n = 0; n < 2; n++)
      await world.rheo.appendMany(
        STREAM,
        upTo(5_010).map(() => ({ payload: 0 })),
      );
    const leases = await world.take(LIMIT_OF_FETCH);
    expect(leases).toHaveLength(10_000);
    expect(await world.peerTake(100)).toEqual([]);
    await world.rheo.ack(at(leases, 5_000));
    expect(sequencesOf(await world.peerTake(100))).toEqual([10_001]);
  }),
];

/** Drains although members hold leases that have yet to run out. */
const drainPatiently = async (world: World): Promise<void> => {
  for (let round = 0; round < 20 && (await world.lag()) > 0; round++) {
    await world.drain();
    world.expire();
  }
};

export const groupCases: readonly ContractCase[] = [
  ...beginnings,
  ...fetching,
  ...preference,
  ...lookups,
  ...pausing,
  ...filtering,
  ...bounds,
];
