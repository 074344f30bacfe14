/** Looking at the log and at progress: queries, pages, tails, lists and histories. What they show is P-rules; that they show it all is here. */
import type { Event, Filter, Query } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, numberOf, placesOf, refusal, sequencesOf, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

/** 30 events over 3 partitions; event n is of second n, so that order by time crosses partitions. */
const spread = async (world: World): Promise<Event[]> => {
  await world.rheo.createStream(STREAM, { partitions: 3 });
  return world.rheo.appendMany(
    STREAM,
    upTo(30).map((n) => ({
      payload: { n, text: `t${n}`, tags: ["a", n], nested: { even: n % 2 === 0 } },
      partition: (n * 7) % 3,
      timestamp: new Date(n * 1_000),
      type: n % 5 === 0 ? "five" : "other",
      key: `k${n % 4}`,
      metadata: { correlationId: `c${n % 3}`, source: n },
    })),
  );
};

const numbers = (events: readonly Event[]): unknown[] => events.map(numberOf);
const where = (test: (n: number) => boolean): number[] => upTo(30).filter(test);

const FILTERS: readonly (readonly [title: string, filter: Filter, matches: (n: number) => boolean])[] = [
  ["eq by type", { "payload.n": 5 }, (n) => n === 5],
  ["eq is not text", { "payload.n": "5" }, () => false],
  ["ne holds for a missing value too", { "payload.missing": { ne: 1 } }, () => true],
  ["gt and lte", { "payload.n": { gt: 3, lte: 6 } }, (n) => n > 3 && n <= 6],
  ["gte and lt", { "payload.n": { gte: 28, lt: 30 } }, (n) => n === 28 || n === 29],
  ["comparison of different types is false", { "payload.text": { gt: 1 } }, () => false],
  ["texts compare by code point", { "payload.text": { gt: "t28", lt: "t3" } }, (n) => n === 29],
  ["in", { "payload.n": { in: [1, "2", 3] } }, (n) => n === 1 || n === 3],
  ["nin", { "payload.n": { nin: where((n) => n > 2) } }, (n) => n <= 2],
  ["exists", { "payload.missing": { exists: false }, "payload.n": { exists: true } }, () => true],
  ["startsWith", { "payload.text": { startsWith: "t2" } }, (n) => n === 2 || (n >= 20 && n < 30)],
  [
    "and, or, not",
    { or: [{ "payload.n": 1 }, { and: [{ type: "five" }, { not: { "payload.n": { gt: 10 } } }] }] },
    (n) => n === 1 || n === 5 || n === 10,
  ],
  ["a path into a list", { "payload.tags.1": 7 }, (n) => n === 7],
  ["a whole list, in order", { "payload.tags": ["a", 3] }, (n) => n === 3],
  ["a list is not its items", { "payload.tags": "a" }, () => false],
  ["a whole object", { "payload.nested": { eq: { even: true } } }, (n) => n % 2 === 0],
  ["metadata", { "metadata.source": { lt: 3 } }, (n) => n < 3],
  ["key and type", { key: "k1", type: "five" }, (n) => n % 4 === 1 && n % 5 === 0],
];

const queries: readonly ContractCase[] = [
  rule("P4 O19", "a query without an order gives each partition in sequence order, partitions merged by time", async (world) => {
    await spread(world);
    expect(numbers(await world.peer.query(STREAM))).toEqual(upTo(30));
    expect(numbers(await world.peer.query(STREAM, { order: "desc", limit: 4 }))).toEqual([30, 29, 28, 27]);
    await world.rheo.append(STREAM, {
      payload: { n: 31 },
      partition: 0,
      timestamp: new Date(Date.UTC(1999, 11, 31, 23, 59, 59, 999)),
    });
    await world.rheo.append(STREAM, { payload: { n: 32 }, partition: 1, timestamp: new Date(Date.UTC(2000, 0, 1)) });
    expect(numbers(await world.peer.query(STREAM, { order: "desc", limit: 2 }))).toEqual([32, 31]);
  }),
  ...FILTERS.map(([title, filter, matches]) =>
    rule("P4 O21", `a filter means the same on every backend: ${title}`, async (world) => {
      await spread(world);
      expect(numbers(await world.peer.query(STREAM, { where: filter }))).toEqual(where(matches));
      await world.rheo.createGroup(STREAM, GROUP, { filter });
      expect((await world.drain()).map(numberOf).sort((a, b) => Number(a) - Number(b))).toEqual(where(matches));
      expect(await world.lag()).toBe(0);
    }),
  ),
  rule("P4", "a query is bounded by time, sequence, partition, type, key and correlation", async (world) => {
    const events = await spread(world);
    const placesWhere = (test: (event: Event) => boolean): unknown[] => numbers(events.filter(test));
    const queried = async (query: Query): Promise<unknown[]> => numbers(await world.peer.query(STREAM, query));
    expect(await queried({ from: new Date(5_000), to: new Date(8_000) })).toEqual([5, 6, 7]);
    expect(await queried({ partition: 1 })).toEqual(placesWhere((event) => event.partition === 1));
    expect(await queried({ afterSequence: 8 })).toEqual(placesWhere((event) => event.sequence > 8));
    expect(await queried({ afterSequence: { 0: 8 }, untilSequence: 9 })).toEqual(
      placesWhere((event) => event.sequence <= 9 && (event.partition !== 0 || event.sequence > 8)),
    );
    expect(await queried({ type: "five" })).toEqual([5, 10, 15, 20, 25, 30]);
    expect(await queried({ key: "k0" })).toEqual(where((n) => n % 4 === 0));
    expect(await queried({ correlationId: "c1", type: "five" })).toEqual([10, 25]);
    expect(await queried({ limit: 3 })).toEqual([1, 2, 3]);
  }),
  ...(["asc", "desc"] as const).flatMap((order) =>
    [1, 4, 7].map((limit) =>
      rule(
        "P4 O18",
        `pages of ${limit} in ${order === "asc" ? "rising" : "falling"} order neither skip nor repeat, over partitions and while events are appended`,
        async (world) => {
          await spread(world);
          const query: Query = { order, limit, where: { "payload.n": { ne: 13 } } };
          const seen: unknown[] = [];
          let cursor: string | null = null;
          for (let page = 0; page < 100; page++) {
            const found: { events: Event[]; nextCursor: string | null } = await world.peer.queryPage(STREAM, {
              ...query,
              cursor,
            });
            expect(found.events.length).toBeLessThanOrEqual(limit);
            seen.push(...numbers(found.events));
            cursor = found.nextCursor;
            if (cursor === null) break;
            if (page < 5)
              await world.rheo.append(STREAM, {
                payload: { n: 100 + page },
                partition: page % 3,
                timestamp: new Date(1_000_000 + page),
              });
          }
          const old = seen.filter((n) => Number(n) < 100);
          const expected = where((n) => n !== 13);
          expect(old).toEqual(order === "asc" ? expected : expected.reverse());
          expect(new Set(seen).size).toBe(seen.length);
          if (order === "asc") expect(seen.length).toBe(29 + (limit === 7 ? seen.length - 29 : 5));
        },
      ),
    ),
  ),
  rule("P4 O18", "a cursor is good for its own query only", async (world) => {
    await spread(world);
    const { nextCursor } = await world.peer.queryPage(STREAM, { limit: 5, type: "other" });
    expect(typeof nextCursor).toBe("string");
    await refusal(world.peer.queryPage(STREAM, { limit: 5, type: "five", cursor: nextCursor }), "invalid_query");
    await refusal(world.peer.queryPage(STREAM, { limit: 5, type: "other", order: "desc", cursor: nextCursor }), "invalid_query");
    for (const cursor of ["nonsense", "", 7])
      await refusal(world.peer.queryPage(STREAM, { type: "other", cursor: cursor as never }), "invalid_query"); // the types forbid 7
    expect((await world.peer.queryPage(STREAM, { limit: 9, type: "other", cursor: nextCursor })).events).toHaveLength(9);
  }),
  rule("P4", "a scan gives every match once, in order", async (world) => {
    await spread(world);
    const seen: Event[] = [];
    for await (const event of world.peer.scan(STREAM, { where: { "payload.nested.even": true } })) seen.push(event);
    expect(numbers(seen)).toEqual(where((n) => n % 2 === 0));
    for await (const event of world.peer.scan(STREAM)) {
      expect(numberOf(event)).toBe(1);
      break;
    }
  }),
  rule("P4", "a tail gives history and then what is appended, until it is aborted", async (world) => {
    await spread(world);
    const controller = new AbortController();
    const seen: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const event of world.peer.tail(STREAM, { afterSequence: 9, signal: controller.signal })) {
        seen.push(numberOf(event));
        if (seen.length === 3) await world.rheo.append(STREAM, { payload: { n: 31 } });
        if (seen.length === 4) await world.rheo.append(STREAM, { payload: { n: 32 } });
        if (seen.length === 5) controller.abort();
      }
    };
    await world.pump(read());
    expect(seen).toEqual([28, 29, 30, 31, 32]);
  }),
  rule("P4", "a query that makes no sense is invalid_query with the place of the fault", async (world) => {
    await spread(world);
    const odd: readonly Filter[] = [
      { nonsense: 1 },
      { "payload.n": { like: 1 } } as never,
      { or: [] },
      { "payload.n": {} },
      { "payload.n": { gt: true } } as never,
      { "payload.n": { in: 5 } } as never,
      { "payload.n": { exists: "yes" } } as never,
      { metadata: 1 },
      { "type.x": 1 },
    ];
    for (const filter of odd)
      expect((await refusal(world.peer.query(STREAM, { where: filter }), "invalid_query")).details.path).toMatch(/^where/);
  }),
];

const lists: readonly ContractCase[] = [
  rule("P4", "streams and groups are listed by name, page by page", async (world) => {
    const names = ["a", "b", "B", "c.1", "c-1", "c_1", "z", "0"];
    for (const name of names) await world.rheo.createStream(name, { partitions: 2 });
    const sorted = [...names].sort();
    expect((await world.peer.listStreams()).map(({ name }) => name)).toEqual(sorted);
    expect((await world.peer.listStreams({ after: "B", limit: 3 })).map(({ name }) => name)).toEqual(sorted.slice(2, 5));
    for (const name of names) await world.rheo.createGroup("a", name);
    expect((await world.peer.listGroups("a", { limit: 2 })).map(({ name }) => name)).toEqual(sorted.slice(0, 2));
    expect((await world.peer.listGroups("a", { after: "c_1" })).map(({ name }) => name)).toEqual(["z"]);
    expect(await world.peer.listGroups("b")).toEqual([]);
    expect((await world.peer.listStreams())[0]).toEqual({ name: "0", partitions: 2, createdAt: new Date(world.clock.now()) });
  }),
  rule("P4", "a stream tells its partitions and how many events they hold", async (world) => {
    await spread(world);
    const info = await world.peer.streamInfo(STREAM);
    expect(info).toMatchObject({ name: STREAM, events: 30 });
    expect(info.partitions).toEqual(
      [0, 1, 2].map((partition) => ({ partition, firstSequence: 1, highWatermark: 10, events: 10 })),
    );
  }),
  rule("P4", "a group keeps its options, with every default filled in, across a restart", async (world) => {
    await world.rheo.createStream(STREAM);
    const retry = { minMs: 5, maxMs: 50, factor: 3, jitter: 0 };
    await world.rheo.createGroup(STREAM, GROUP, {
      maxAttempts: 7,
      leaseMs: 1_234,
      retry,
      ordering: "key",
      filter: { type: "x" },
      maxInflight: 99,
    });
    await world.rheo.createGroup(STREAM, "plain");
    await world.reopen();
    const { options } = await world.peer.groupInfo(STREAM, GROUP);
    expect(options).toEqual({ maxAttempts: 7, leaseMs: 1_234, retry, ordering: "key", filter: { type: "x" }, maxInflight: 99 });
    expect((await world.peer.groupInfo(STREAM, "plain")).options).toMatchObject({
      maxAttempts: 5,
      leaseMs: LEASE_MS,
      ordering: "none",
      filter: null,
      maxInflight: null,
    });
    await world.rheo.updateGroup(STREAM, GROUP, { leaseMs: 99, filter: null });
    expect((await world.peer.groupInfo(STREAM, GROUP)).options).toEqual({
      maxAttempts: 7,
      leaseMs: 99,
      retry,
      ordering: "key",
      filter: null,
      maxInflight: 99,
    });
    expect(at(await world.rheo.append(STREAM, { payload: 1, key: "k" }).then(() => world.take()), 0).expiresAt.getTime()).toBe(
      world.clock.now() + 99,
    );
  }),
  rule("P4 B73", "members are listed with their leases and when they were last seen", async (world) => {
    await world.group();
    await world.append(5);
    await world.take(2);
    world.clock.advance(1_000);
    const [mine] = await world.peerTake(3);
    const members = async (): Promise<unknown[]> =>
      [...(await world.peer.groupInfo(STREAM, GROUP)).members].sort((a, b) => (a.consumerId < b.consumerId ? -1 : 1));
    expect(await members()).toEqual([
      { consumerId: "a", leases: 2, lastSeenAt: new Date(world.clock.now() - 1_000) },
      { consumerId: "b", leases: 3, lastSeenAt: new Date(world.clock.now()) },
    ]);
    world.clock.advance(LEASE_MS - 1_000);
    if (mine !== undefined) await world.peer.ack(mine);
    expect(await members()).toMatchObject([
      { consumerId: "a", leases: 0 },
      { consumerId: "b", leases: 2 },
    ]);
  }),
  rule("P4", "leases are listed by place, with token, holder, attempt and times", async (world) => {
    await world.group({ partitions: 2 });
    for (const partition of [1, 0]) await world.append(2, { partition });
    const leases = await world.take();
    const listed = await world.peer.leases(STREAM, GROUP);
    expect(listed).toEqual(leases.map(({ event: _event, ...lease }) => lease));
    expect(placesOf(await world.peer.leases(STREAM, GROUP, { limit: 3 }))).toEqual(["0/1", "0/2", "1/1"]);
  }),
  rule("P4", "dead letters are listed by place, page by page, and by filter", async (world) => {
    await world.group({ partitions: 2 });
    for (const partition of [1, 0]) await world.append(4, { partition });
    for (const lease of (await world.take()).reverse()) await world.rheo.reject(lease);
    const all = await world.peer.deadLetters(STREAM, GROUP);
    expect(placesOf(all)).toEqual(["0/1", "0/2", "0/3", "0/4", "1/1", "1/2", "1/3", "1/4"]);
    const first = await world.peer.deadLetters(STREAM, GROUP, { limit: 3 });
    const second = await world.peer.deadLetters(STREAM, GROUP, { limit: 3, after: at(first, -1).eventId });
    const third = await world.peer.deadLetters(STREAM, GROUP, { limit: 3, after: at(second, -1).eventId });
    expect([...first, ...second, ...third]).toEqual(all);
    expect(placesOf(await world.peer.deadLetters(STREAM, GROUP, { where: { "payload.n": { lt: 3 } } }))).toEqual(["1/1", "1/2"]);
    await refusal(world.peer.deadLetters(STREAM, GROUP, { after: "unknown" }), "cursor_not_found");
    await refusal(world.peer.deadLetters(STREAM, GROUP, { where: { bad: 1 } }), "invalid_query");
  }),
  rule("P4", "the history of an event tells where every group stands with it", async (world) => {
    await world.group();
    await world.group({ filter: { type: "other" } }, "filtered");
    await world.group({ start: "latest" }, "late");
    const [event] = await world.append(1, { partition: 0, type: "t" });
    await world.group({ start: "latest" }, "later");
    const lease = await world.takeOne();
    await world.drain("filtered");
    const history = await world.peer.eventHistory(STREAM, event?.id ?? "");
    expect(history?.event).toEqual(event);
    expect(history?.groups.map(({ group, state }) => [group, state])).toEqual([
      [GROUP, "leased"],
      ["filtered", "acked"],
      ["late", "pending"],
      ["later", "acked"],
    ]);
    expect(history?.groups[0]).toMatchObject({ attempt: 1, consumerId: lease.consumerId, until: lease.expiresAt });
    expect(await world.peer.eventHistory(STREAM, "unknown")).toBeNull();
  }),
  rule("P1", "whenCaughtUp resolves when the lag is 0 and not before", async (world) => {
    await world.group();
    await world.rheo.whenCaughtUp(STREAM, GROUP);
    const leases = await world.lease(2);
    let done = false;
    const waiting = world.peer.whenCaughtUp(STREAM, GROUP).then(() => {
      done = true;
    });
    await world.rheo.ack(at(leases, 0));
    for (let step = 0; step < 5; step++) {
      world.clock.advance(200);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(done).toBe(false);
    await world.rheo.ack(at(leases, 1));
    await world.pump(waiting);
    expect(done).toBe(true);
    expect(sequencesOf(await world.peer.leases(STREAM, GROUP))).toEqual([]);
  }),
];

export const inspectionCases: readonly ContractCase[] = [...queries, ...lists];
