/** Finding events: filters, counts, indexes, lineage. One meaning on every backend. */
import { caused, type Event, type Filter, lineage, type Query } from "@rheo/core";
import { compileFilter } from "@rheo/core/internal";
import fc from "fast-check";
import { expect } from "vitest";
import { content, filter } from "../arbitraries.ts";
import { firstSeed } from "../environment.ts";
import { type ContractCase, rule } from "./case.ts";
import { at, placesOf, refusal, sequencesOf, upTo } from "./expectations.ts";
import { STREAM, type World } from "./world.ts";

const EVENTS = 60;
const FILTERS = 120;

/** Events of random content over three partitions, with what core's evaluator is asked about them. */
const scatter = async (world: World, seed: number): Promise<Event[]> => {
  await world.rheo.ensureStream(STREAM, { partitions: 3 });
  const contents = fc.sample(content, { seed, numRuns: EVENTS });
  return world.rheo.appendMany(
    STREAM,
    contents.map(({ type, key, metadata, payload }, index) => ({
      type,
      key,
      metadata: JSON.parse(metadata),
      payload: JSON.parse(payload),
      partition: index % 3,
      timestamp: new Date(1_000 * (index + 1)),
    })),
  );
};

/** A filter reads events as parsed. */
const passing = (events: readonly Event[], wanted: Filter): string[] => {
  const matches = compileFilter(wanted);
  return placesOf(
    events.filter((event) => matches(STREAM, { ...event, timestampMs: 0, metadata: "", payload: "", event })),
  ).sort();
};

const searching: readonly ContractCase[] = [
  rule(
    "G7",
    `${FILTERS} random filters find the same of ${EVENTS} random events as core's evaluator, up and down`,
    async (world) => {
      const seed = firstSeed(11);
      const events = await scatter(world, seed);
      let found = 0;
      for (const [index, given] of fc.sample(filter, { seed, numRuns: FILTERS }).entries()) {
        const where = JSON.parse(JSON.stringify(given)) as Filter; // as it would be stored
        const expected = passing(events, where);
        const order = index % 2 === 0 ? "asc" : "desc";
        const answer = await world.peer.query(STREAM, { where, order, limit: EVENTS });
        expect(placesOf(answer).sort(), `seed ${seed}: ${JSON.stringify(where)}`).toEqual(expected);
        found += expected.length;
      }
      expect(found).toBeGreaterThan(EVENTS); // filters that find nothing prove nothing
    },
  ),

  rule("L1", "pages of rare matches neither skip nor repeat, up and down, while appends go on", async (world) => {
    await world.rheo.ensureStream(STREAM, { partitions: 2 });
    const append = (from: number, count: number): Promise<Event[]> =>
      world.rheo.appendMany(
        STREAM,
        Array.from({ length: count }, (_, index) => ({
          payload: { n: from + index },
          type: (from + index) % 97 === 0 ? "rare" : "common",
          partition: index % 2,
        })),
      );
    await append(1, 3_000);
    for (const order of ["asc", "desc"] as const) {
      const query: Query = { where: { type: "rare", "payload.n": { lte: 3_000 } }, order, limit: 7 };
      const seen: Event[] = [];
      let cursor: string | null = null;
      do {
        const page: { events: Event[]; nextCursor: string | null } = await world.peer.queryPage(STREAM, { ...query, cursor });
        seen.push(...page.events);
        cursor = page.nextCursor;
        await append(10_000 + seen.length * 100, 100);
      } while (cursor !== null);
      expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
      expect(seen).toHaveLength(30);
      for (const partition of [0, 1]) {
        const sequences = sequencesOf(seen.filter((event) => event.partition === partition));
        expect(sequences).toEqual([...sequences].sort((a, b) => (order === "asc" ? a - b : b - a)));
      }
    }
  }),

  rule("L1", "a scan of many pages of matches, frequent or rare, finds each event once, up and down", async (world) => {
    await world.rheo.ensureStream(STREAM);
    await world.rheo.appendMany(
      STREAM,
      upTo(5_000).map((n) => ({ payload: { n }, type: n % 701 === 0 ? "rare" : "common" })),
    );
    for (const order of ["asc", "desc"] as const) {
      for (const [type, expected] of [
        ["common", upTo(5_000).filter((n) => n % 701 !== 0)],
        ["rare", upTo(7).map((n) => n * 701)],
      ] as const) {
        const found: number[] = [];
        for await (const event of world.peer.scan(STREAM, { type, order })) found.push(event.sequence);
        expect(found).toEqual(order === "asc" ? expected : [...expected].reverse());
      }
    }
  }),

  rule("L1", "a query within times and sequences finds what lies in both, by partition", async (world) => {
    const events = await scatter(world, 1);
    const within = (event: Event): boolean =>
      event.timestamp >= new Date(10_000) &&
      event.timestamp < new Date(50_000) &&
      event.sequence > (event.partition === 1 ? 8 : 2) &&
      event.sequence <= 15;
    const query: Query = { from: new Date(10_000), to: new Date(50_000), afterSequence: { 0: 2, 1: 8, 2: 2 }, untilSequence: 15 };
    for (const order of ["asc", "desc"] as const)
      expect(placesOf(await world.peer.query(STREAM, { ...query, order })).sort()).toEqual(
        placesOf(events.filter(within)).sort(),
      );
    expect(await world.peer.count(STREAM, query)).toEqual({ count: events.filter(within).length, isExact: true });
  }),

  rule("P4", "count says how many match, and when it stopped counting", async (world) => {
    await world.rheo.ensureStream(STREAM, { partitions: 2 });
    const events = Array.from({ length: 40 }, (_, n) => ({ payload: { n }, partition: n % 2 }));
    await world.rheo.appendMany(STREAM, events);
    await world.rheo.trim(STREAM, { beforeSequence: 4, partitions: [0], force: true });
    const count = (query: Parameters<World["peer"]["count"]>[1]): Promise<unknown> => world.peer.count(STREAM, query);
    expect(await count({})).toEqual({ count: 37, isExact: true });
    expect(await count({ partition: 1, afterSequence: 5, untilSequence: 1_000 })).toEqual({ count: 15, isExact: true });
    expect(await count({ where: { "payload.n": { gte: 30 } } })).toEqual({ count: 10, isExact: true });
    expect(await count({ where: { "payload.n": { gte: 10 } }, most: 10 })).toEqual({ count: 10, isExact: false });
    expect(await count({ where: { "payload.n": { gte: 30 } }, most: 10 })).toEqual({ count: 10, isExact: true });
    await refusal(world.peer.count(STREAM, { most: 0 }), "invalid_option");
    await refusal(world.peer.count(STREAM, { limit: 5 } as never), "invalid_option"); // the types forbid it
  }),

  rule("P4", "an index changes nothing but the speed, or is refused where there are none", async (world) => {
    const events = await scatter(world, 2);
    const paths = ["payload.a", "type", "correlationId"];
    const answers = async (): Promise<string[][]> => {
      const found: string[][] = [];
      for (const path of paths)
        for (const condition of [{ eq: "a" }, { exists: true }, { gte: 1 }, { in: ["a", 1, null] }])
          found.push(placesOf(await world.peer.query(STREAM, { where: { [path]: condition } as Filter, limit: EVENTS })));
      return found;
    };
    const before = await answers();
    const made = await world.rheo.createIndex(STREAM, "type").then(
      () => true,
      (error: unknown) => error,
    );
    if (made !== true) {
      expect(made).toMatchObject({ code: "unsupported" });
      expect(await world.peer.listIndexes(STREAM)).toEqual([]);
      return;
    }
    for (const path of [...paths, ...paths]) await world.rheo.createIndex(STREAM, path);
    expect(await world.peer.listIndexes(STREAM)).toEqual([...paths].sort());
    expect(await answers()).toEqual(before);
    expect(placesOf(await world.peer.query(STREAM, { limit: EVENTS }))).toHaveLength(events.length);
    expect(await world.peer.dropIndex(STREAM, "type")).toBe(true);
    expect(await world.peer.dropIndex(STREAM, "type")).toBe(false);
    expect(await world.peer.listIndexes(STREAM)).toEqual(["correlationId", "payload.a"]);
    await refusal(world.rheo.createIndex(STREAM, "nothing.here"), "invalid_query");
    await refusal(world.rheo.createIndex("missing", "type"), "stream_not_found");
  }),

  rule(
    "L4",
    "lineageOf finds what led to an event and what followed, across streams, however metadata goes in circles",
    async (world) => {
      await world.rheo.ensureStream(STREAM, { partitions: 2 });
      await world.rheo.ensureStream("invoices");
      const order = await world.rheo.append(STREAM, { payload: "order" });
      const invoice = await world.rheo.append("invoices", { payload: "invoice", metadata: caused(order) });
      const mail = await world.rheo.append(STREAM, { payload: "mail", metadata: caused(invoice) });
      const paid = await world.rheo.append("invoices", { payload: "paid", metadata: caused(invoice) });
      await world.rheo.append(STREAM, { payload: "other" });
      const found = await world.peer.lineageOf("invoices", paid.id);
      expect(found?.causes.map(({ id }) => id)).toEqual([invoice.id, order.id]);
      expect(found).toMatchObject({ event: { id: paid.id }, truncated: false });
      expect(found?.roots).toHaveLength(1);
      const root = at(found?.roots ?? [], 0);
      expect(root.event.id).toBe(order.id);
      expect(root.effects.map(({ event }) => event.id)).toEqual([invoice.id]);
      expect(
        at(root.effects, 0)
          .effects.map(({ event }) => event.id)
          .sort(),
      ).toEqual([mail.id, paid.id].sort());
      expect((await world.peer.lineageOf(STREAM, order.id, { streams: [STREAM] }))?.roots).toHaveLength(2);
      expect((await world.peer.lineageOf(STREAM, order.id, { limit: 2 }))?.truncated).toBe(true);
      expect(await world.peer.lineageOf(STREAM, "nothing")).toBeNull();
      const circle = { correlationId: "round" };
      await world.rheo.append(STREAM, { id: "x", payload: 1, metadata: lineage({ ...circle, causationId: "y" }) });
      await world.rheo.append(STREAM, { id: "y", payload: 2, metadata: lineage({ ...circle, causationId: "x" }) });
      expect((await world.peer.lineageOf(STREAM, "x"))?.roots.map(({ event }) => event.id).sort()).toEqual(["x", "y"]);
    },
  ),
];

export const searchingCases: readonly ContractCase[] = searching;
