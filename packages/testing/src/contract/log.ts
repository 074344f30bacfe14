/**
 * The log: sequences, immutability, routing, ids, batches, conditions, trim (L1–L6, L10). What an append refuses because of its
 * content, sizes and names is in errors.ts (L7–L9); appends in the caller's transaction are in transactions.ts.
 */
import { type Event, type EventInput, RheoError } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, numberOf, placesOf, refusal, sequencesOf, stale, upTo } from "./expectations.ts";
import { GROUP, STREAM, type World } from "./world.ts";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Kafka's own test vectors: the hash of a key, before its sign is cleared. */
const MURMUR2: readonly (readonly [key: string, hash: number])[] = [
  ["21", -973_932_308],
  ["foobar", -790_332_482],
  ["a-little-bit-long-string", -985_981_536],
  ["a-little-bit-longer-string", -1_486_304_829],
  ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971],
  ["abc", 479_470_107],
];

const stream = (world: World, partitions: number, name: string = STREAM): Promise<unknown> =>
  world.rheo.createStream(name, { partitions });

const stored = (world: World, name: string = STREAM): Promise<Event[]> => world.peer.query(name, { limit: 10_000 });

/** An append that must change nothing: what is stored before and after is compared. */
const unchanged = async (world: World, attempt: () => Promise<unknown>): Promise<void> => {
  const before = await stored(world);
  await attempt();
  expect(await stored(world)).toEqual(before);
};

const sequences: readonly ContractCase[] = [
  rule("L1", "each partition counts from 1 without gaps, by itself", async (world) => {
    await stream(world, 3);
    for (const partition of [0, 1, 0, 2, 1, 0]) await world.rheo.append(STREAM, { payload: null, partition });
    expect(placesOf(await stored(world)).sort()).toEqual(["0/1", "0/2", "0/3", "1/1", "1/2", "2/1"]);
  }),
  rule("L1 B07", "appends made at the same time get distinct consecutive sequences", async (world) => {
    await stream(world, 1);
    const appended = await Promise.all(
      upTo(50).map((n) => (n % 2 === 0 ? world.rheo : world.peer).append(STREAM, { payload: n })),
    );
    expect(sequencesOf(appended).sort((a, b) => a - b)).toEqual(upTo(50));
    expect(sequencesOf(await stored(world))).toEqual(upTo(50));
    for (const event of appended) expect(await world.peer.getEvent(STREAM, event.id)).toEqual(event);
  }),
  rule("L1 O01 B01 B03", "a group that reads while two members append is given every event, in order", async (world) => {
    await world.group();
    const write = async (who: "rheo" | "peer"): Promise<void> => {
      for (let n = 1; n <= 40; n++) await world[who].append(STREAM, { payload: n });
    };
    const seen: number[] = [];
    const read = async (): Promise<void> => {
      for (let round = 0; round < 200; round++) {
        const leases = await world.peerTake(7);
        for (const lease of leases) await world.peer.ack(lease);
        seen.push(...sequencesOf(leases));
      }
    };
    await Promise.all([write("rheo"), write("peer"), read()]);
    seen.push(...sequencesOf(await world.drain()));
    expect(seen).toEqual(upTo(80));
    expect(await world.lag()).toBe(0);
  }),
  rule("L1 O02 B04", "appends that fail leave no gap and hold nothing up", async (world) => {
    await world.group();
    const first = await world.rheo.append(STREAM, { payload: 1 });
    for (let attempt = 0; attempt < 10; attempt++) {
      await refusal(world.rheo.append(STREAM, { payload: "other", id: first.id }), "id_conflict");
      await refusal(world.rheo.append(STREAM, { payload: 2, expectedSequence: 7 }), "sequence_conflict");
      await refusal(world.rheo.appendMany(STREAM, [{ payload: 3 }, { payload: "other", id: first.id }]), "id_conflict");
    }
    const second = await world.rheo.append(STREAM, { payload: 2 });
    expect([first.sequence, second.sequence]).toEqual([1, 2]);
    expect(sequencesOf(await world.drain())).toEqual([1, 2]);
    expect(await world.lag()).toBe(0);
  }),
  rule("L1 O23", "sequences go on after the store was closed and opened again", async (world) => {
    await stream(world, 2);
    await world.append(3);
    await world.reopen();
    const [event] = await world.append(1);
    expect(event?.sequence).toBe(4);
    expect(sequencesOf(await stored(world))).toEqual([1, 2, 3, 4]);
  }),
  rule("L1", "what is appended by one member is at once seen by the other", async (world) => {
    await stream(world, 2);
    const event = await world.rheo.append(STREAM, {
      payload: { a: 1 },
      type: "t",
      key: "k",
      metadata: { m: 1 },
      timestamp: new Date(5),
    });
    expect(await world.peer.getEvent(STREAM, event.id)).toEqual(event);
    expect(await world.peer.query(STREAM)).toEqual([event]);
  }),
  rule("L1", "an append whose signal is aborted writes nothing", async (world) => {
    await stream(world, 1);
    await refusal(world.rheo.append(STREAM, { payload: 1 }, { signal: AbortSignal.abort() }), "aborted");
    const event = await world.rheo.append(STREAM, { payload: 2 });
    expect(event.sequence).toBe(1);
  }),
];

const immutability: readonly ContractCase[] = [
  rule("L2", "settling, replay, redrive and reset leave the log as it was", async (world) => {
    await world.group({ maxAttempts: 1 });
    const leases = await world.lease(4);
    const before = await stored(world);
    await world.rheo.ack(at(leases, 0));
    await world.rheo.nack(at(leases, 1));
    await world.rheo.reject(at(leases, 2));
    await world.rheo.release(at(leases, 3));
    await world.rheo.redrive(STREAM, GROUP, { all: true });
    await world.rheo.replay(STREAM, GROUP, { fromSequence: 0 });
    await world.rheo.resetGroup(STREAM, GROUP, { confirm: true });
    expect(await stored(world)).toEqual(before);
  }),
  rule(
    "L2 B85",
    "an event shares nothing with the object that was appended, and cannot be changed by its readers",
    async (world) => {
      await world.group();
      const payload = { list: [1, { deep: true }] };
      const metadata: Record<string, string> = { source: "a" };
      const event = await world.rheo.append(STREAM, { payload, metadata });
      payload.list.push(2);
      metadata.source = "b";
      const lease = await world.peerTakeOne();
      for (const found of [event, lease.event, await world.rheo.getEvent(STREAM, event.id)]) {
        expect(found?.payload).toEqual({ list: [1, { deep: true }] });
        expect(found?.metadata).toEqual({ source: "a" });
        expect(() => Object.assign(found?.payload as object, { list: 0 })).toThrow(TypeError); // an object, as just compared
      }
      expect((await world.peer.getEvent(STREAM, event.id))?.payload).toEqual({ list: [1, { deep: true }] });
    },
  ),
];

const routing: readonly ContractCase[] = [
  rule(
    "L3",
    "a key goes to murmur2(key) modulo the number of partitions, as Kafka's default partitioner has it",
    async (world) => {
      for (const partitions of [1, 3, 7, 1_024]) {
        await stream(world, partitions, `s${partitions}`);
        for (const [key, hash] of MURMUR2) {
          const event = await world.rheo.append(`s${partitions}`, { payload: null, key });
          expect(event.partition, key).toBe((hash & 0x7fff_ffff) % partitions);
        }
      }
    },
  ),
  rule("L3", "the same key goes to the same partition from every member and after a restart", async (world) => {
    await stream(world, 8);
    const keys = upTo(20).map((n) => `clé-${n}-\u{1f511}`);
    const route = async (who: "rheo" | "peer"): Promise<number[]> => {
      const events = await Promise.all(keys.map((key) => world[who].append(STREAM, { payload: null, key })));
      return events.map((event) => event.partition);
    };
    const first = await route("rheo");
    expect(new Set(first).size).toBeGreaterThan(2);
    expect(await route("peer")).toEqual(first);
    await world.reopen();
    expect(await route("peer")).toEqual(first);
  }),
  rule("L3", "an explicit partition overrides the key; one that is not there is refused", async (world) => {
    await stream(world, 3);
    const events = await Promise.all(
      [0, 1, 2].map((partition) => world.rheo.append(STREAM, { payload: null, key: "abc", partition })),
    );
    expect(events.map((event) => event.partition)).toEqual([0, 1, 2]);
    await unchanged(world, () => refusal(world.rheo.append(STREAM, { payload: null, partition: 3 }), "invalid_partition"));
  }),
  rule("L3", "events without a key are spread over all partitions, one partition per call in turn", async (world) => {
    await stream(world, 4);
    const calls: Event[][] = [];
    for (let call = 0; call < 8; call++) calls.push(await world.rheo.appendMany(STREAM, [{ payload: 1 }, { payload: 2 }]));
    for (const events of calls) expect(new Set(events.map((event) => event.partition)).size).toBe(1);
    const perPartition = [0, 1, 2, 3].map((partition) => calls.filter((events) => events[0]?.partition === partition).length);
    expect(perPartition).toEqual([2, 2, 2, 2]);
  }),
  rule("L3 B95", "an empty key is a key: it has one partition, and is not the same as none", async (world) => {
    await stream(world, 5);
    const events: Event[] = [];
    for (let n = 0; n < 6; n++)
      events.push(await (n % 2 === 0 ? world.rheo : world.peer).append(STREAM, { payload: n, key: "" }));
    expect(new Set(events.map((event) => event.partition)).size).toBe(1);
    expect(new Set(events.map((event) => event.key))).toEqual(new Set([""]));
    const none = await world.rheo.append(STREAM, { payload: 0 });
    expect(none.key).toBeNull();
    expect((await world.peer.getEvent(STREAM, none.id))?.key).toBeNull();
  }),
  rule("L3 B84", "keys that look alike stay different", async (world) => {
    await stream(world, 1);
    const keys = ["é", "e\u0301", "A", "a", "a ", " a", "ab", "a\ufffdb", "0", "00", "null", "ß", "ss", "ＡＢ"];
    for (const key of keys) await world.rheo.append(STREAM, { payload: key, key });
    for (const key of keys) {
      const found = await world.peer.query(STREAM, { key });
      expect(found.map((event) => [event.key, event.payload])).toEqual([[key, key]]);
    }
  }),
];

const ids: readonly ContractCase[] = [
  rule("L4", "an event without an id is given a UUIDv7, and they rise", async (world) => {
    await stream(world, 1);
    const given = (await world.append(20)).map((event) => event.id);
    for (const id of given) expect(id).toMatch(UUID_V7);
    expect([...given].sort()).toEqual(given);
    expect(new Set(given).size).toBe(20);
  }),
  ...(
    [
      ["twice in a row", async () => undefined],
      ["with 1,000 events between", (world: World) => world.append(1_000)],
      ["after a restart", (world: World) => world.reopen()],
    ] as const
  ).map(([when, between]) =>
    rule("L4 B09 O20", `an id that is stored already writes nothing and gives the stored event: ${when}`, async (world) => {
      await stream(world, 3);
      const input = { payload: { a: 1, b: [2] }, type: "t", key: "k", metadata: { m: true }, id: "order-1" };
      const first = await world.rheo.append(STREAM, input);
      await between(world);
      const before = await stored(world);
      world.clock.advance(5);
      for (const who of [world.rheo, world.peer]) expect(await who.append(STREAM, input)).toEqual(first);
      expect(await stored(world)).toEqual(before);
    }),
  ),
  rule("L4 B09", "an id that is stored already writes nothing, whatever partition is asked for", async (world) => {
    await stream(world, 3);
    const first = await world.rheo.append(STREAM, { payload: 1, id: "x", partition: 0 });
    expect(await world.peer.append(STREAM, { payload: 1, id: "x", partition: 2 })).toEqual(first);
    expect(placesOf(await stored(world))).toEqual(["0/1"]);
  }),
  rule(
    "L4 B09",
    "a repeated append under a condition gives the stored event, before the condition is looked at",
    async (world) => {
      await stream(world, 1);
      const first = await world.rheo.append(STREAM, { payload: 1, id: "x", expectedSequence: 0 });
      await world.append(3);
      expect(await world.peer.append(STREAM, { payload: 1, id: "x", expectedSequence: 0 })).toEqual(first);
      expect(sequencesOf(await stored(world))).toEqual(upTo(4));
    },
  ),
  rule("L4 B09", "an id given twice inside one batch is stored once", async (world) => {
    await stream(world, 2);
    const events = await world.rheo.appendMany(STREAM, [
      { payload: 1, id: "x", partition: 0 },
      { payload: 2, id: "y", partition: 0 },
      { payload: 1, id: "x", partition: 0 },
      { payload: 1, id: "x", partition: 1 },
    ]);
    expect(placesOf(events)).toEqual(["0/1", "0/2", "0/1", "0/1"]);
    expect(placesOf(await stored(world))).toEqual(["0/1", "0/2"]);
  }),
  rule("L4 B08", "a batch that was stored can be appended again as a whole", async (world) => {
    await stream(world, 2);
    const batch = upTo(10).map((n) => ({ payload: n, id: `e${n}`, partition: n % 2 }));
    const first = await world.rheo.appendMany(STREAM, batch);
    expect(await world.peer.appendMany(STREAM, batch)).toEqual(first);
    expect(await stored(world)).toHaveLength(10);
  }),
  ...(
    [
      ["type", { type: "other" }],
      ["key", { key: "other" }],
      ["payload", { payload: { a: "1" } }],
      ["metadata", { metadata: { m: 2 } }],
    ] satisfies [string, Partial<EventInput>][]
  ).map(([part, change]) =>
    rule("L4", `an id that is stored with another ${part} is refused as id_conflict, and nothing changes`, async (world) => {
      await stream(world, 2);
      const input = { payload: { a: 1 }, type: "t", key: "k", metadata: { m: 1 }, id: "x" };
      const first = await world.rheo.append(STREAM, input);
      await unchanged(world, async () => {
        const error = await refusal(world.peer.append(STREAM, { ...input, ...change }), "id_conflict");
        expect(error.details).toMatchObject({ stream: STREAM, id: "x", partition: first.partition, sequence: first.sequence });
        await refusal(world.rheo.appendMany(STREAM, [{ payload: 0 }, { ...input, ...change }]), "id_conflict");
      });
    }),
  ),
  rule("L4", "the same content with its fields in another order is the same content", async (world) => {
    await stream(world, 1);
    const first = await world.rheo.append(STREAM, {
      payload: { a: 1, b: { c: [1, 2], d: null } },
      metadata: { x: 1, y: "2" },
      id: "x",
    });
    const again = await world.peer.append(STREAM, {
      payload: { b: { d: null, c: [1, 2] }, a: 1 },
      metadata: { y: "2", x: 1 },
      id: "x",
    });
    expect(again).toEqual(first);
    await refusal(
      world.peer.append(STREAM, { payload: { a: 1, b: { c: [2, 1], d: null } }, metadata: { x: 1, y: "2" }, id: "x" }),
      "id_conflict",
    );
  }),
  rule("L4", "of one id appended at the same time by two members, one is stored and both get it", async (world) => {
    await stream(world, 2);
    const appended = await Promise.all(
      upTo(20).map((n) => (n % 2 === 0 ? world.rheo : world.peer).append(STREAM, { payload: "same", id: "x", partition: n % 2 })),
    );
    expect(new Set(placesOf(appended)).size).toBe(1);
    expect(await stored(world)).toHaveLength(1);
  }),
  rule("L4 O20", "ids belong to their stream: another stream's event is neither found nor in the way", async (world) => {
    await stream(world, 1, "one");
    await stream(world, 1, "two");
    await world.rheo.createGroup("two", GROUP);
    await world.rheo.append("one", { payload: "first", id: "x" });
    await world.rheo.append("two", { payload: "second", id: "x" });
    expect((await world.peer.getEvent("one", "x"))?.payload).toBe("first");
    expect((await world.peer.getEvent("two", "x"))?.payload).toBe("second");
    const [lease] = await world.peer.fetch("two", GROUP);
    expect(lease?.event.payload).toBe("second");
    await world.rheo.deleteStream("one", { confirm: true });
    expect((await world.peer.getEvent("two", "x"))?.payload).toBe("second");
  }),
  rule("L4", "an id that is given is kept as it is", async (world) => {
    await stream(world, 1);
    const given = [
      "x",
      "X",
      "x ",
      "é",
      "e\u0301",
      "'; drop table events; --",
      "%",
      "__proto__",
      "constructor",
      "a:b",
      "*",
      "\u{1f600}".repeat(63),
    ];
    for (const id of given) await world.rheo.append(STREAM, { payload: id, id });
    for (const id of given) expect((await world.peer.getEvent(STREAM, id))?.payload).toBe(id);
    expect((await stored(world)).map((event) => event.id)).toEqual(given);
    expect(await world.peer.getEvent(STREAM, "y")).toBeNull();
  }),
];

const batches: readonly ContractCase[] = [
  rule("L5 B82", "a batch with one bad event is refused whole, and the error names its index", async (world) => {
    await stream(world, 3);
    await world.rheo.append(STREAM, { payload: "old", id: "taken" });
    const batch = (bad: EventInput): EventInput[] => upTo(100).map((n) => (n === 51 ? bad : { payload: n, partition: n % 3 }));
    const bad: readonly (readonly [EventInput, RheoError["code"]])[] = [
      [{ payload: "\ud800" }, "invalid_payload"],
      [{ payload: { n: Number.NaN } }, "invalid_payload"],
      [{ payload: "new", id: "taken" }, "id_conflict"],
      [{ payload: 1, expectedSequence: 1_000 }, "sequence_conflict"],
      [{ payload: "x".repeat(1_048_577) }, "event_too_large"],
    ];
    for (const [event, code] of bad) {
      await unchanged(world, async () => {
        const error = await refusal(world.rheo.appendMany(STREAM, batch(event)), code);
        expect(error.details.index, code).toBe(50);
      });
    }
    await unchanged(world, () =>
      refusal(world.rheo.appendMany(STREAM, batch({ payload: 1, partition: 3 })), "invalid_partition"),
    );
  }),
  rule("L5", "a batch is answered in its own order and stored in it", async (world) => {
    await stream(world, 2);
    const events = await world.append(6, { partition: 1 });
    const mixed = await world.rheo.appendMany(STREAM, [
      { payload: "a", partition: 1 },
      { payload: "b", partition: 0 },
      { payload: "c", partition: 1 },
    ]);
    expect(sequencesOf(events)).toEqual(upTo(6));
    expect(placesOf(mixed)).toEqual(["1/7", "0/1", "1/8"]);
    expect(mixed.map((event) => event.payload)).toEqual(["a", "b", "c"]);
  }),
  rule("L5", "an empty batch is nothing", async (world) => {
    await stream(world, 1);
    expect(await world.rheo.appendMany(STREAM, [])).toEqual([]);
    expect(await stored(world)).toEqual([]);
  }),
  rule("L5", "calls made at the same time each get their own answer, whatever becomes of the others", async (world) => {
    await stream(world, 1);
    await world.rheo.append(STREAM, { payload: "old", id: "taken" });
    const calls = await Promise.allSettled([
      world.rheo.append(STREAM, { payload: "a" }),
      world.rheo.append(STREAM, { payload: "new", id: "taken" }),
      world.rheo.append(STREAM, { payload: "b" }),
      world.rheo.append("missing", { payload: "c" }),
      world.rheo.appendMany(STREAM, [{ payload: "d" }, { payload: "e", expectedSequence: 99 }]),
      world.rheo.append(STREAM, { payload: "f" }),
    ]);
    const answers = calls.map((call) =>
      call.status === "fulfilled" ? "ok" : RheoError.is(call.reason) ? call.reason.code : "?",
    );
    expect(answers).toEqual(["ok", "id_conflict", "ok", "stream_not_found", "sequence_conflict", "ok"]);
    expect((await stored(world)).map((event) => event.payload)).toEqual(["old", "a", "b", "f"]);
  }),
  rule(
    "L5",
    "calls made one after the other without waiting keep their order, small and large, over many writes",
    async (world) => {
      await stream(world, 1);
      const calls = [1, 700, 2, 900, 1_000, 1, 1, 1_200, 600, 3].map((size, call) =>
        world.rheo.appendMany(
          STREAM,
          upTo(size).map(() => ({ payload: call })),
        ),
      );
      const answered = (await Promise.all(calls)).flat();
      expect(sequencesOf(answered)).toEqual(upTo(answered.length));
      const read = await world.peer.query(STREAM, { limit: 10_000 });
      expect(read.map(({ payload }) => payload)).toEqual(answered.map(({ payload }) => payload));
    },
  ),
];

const conditions: readonly ContractCase[] = [
  rule(
    "L6",
    "an append under a condition is stored only where the partition's high watermark is the expected one",
    async (world) => {
      await stream(world, 2);
      await world.append(2, { partition: 1 });
      const first = await world.rheo.append(STREAM, { payload: 1, partition: 0, expectedSequence: 0 });
      expect(first.sequence).toBe(1);
      await unchanged(world, async () => {
        for (const expectedSequence of [0, 2, 3]) {
          const error = await refusal(
            world.peer.append(STREAM, { payload: 2, partition: 0, expectedSequence }),
            "sequence_conflict",
          );
          expect(error.details).toMatchObject({ stream: STREAM, partition: 0, sequence: 1 });
        }
      });
      expect((await world.peer.append(STREAM, { payload: 2, partition: 1, expectedSequence: 2 })).sequence).toBe(3);
    },
  ),
  rule("L6", "within a batch each condition sees the events before it", async (world) => {
    await stream(world, 1);
    const chain = upTo(3).map((n) => ({ payload: n, expectedSequence: n - 1 }));
    expect(sequencesOf(await world.rheo.appendMany(STREAM, chain))).toEqual([1, 2, 3]);
    await unchanged(world, () =>
      refusal(
        world.rheo.appendMany(STREAM, [
          { payload: 4, expectedSequence: 3 },
          { payload: 5, expectedSequence: 3 },
        ]),
        "sequence_conflict",
      ),
    );
  }),
  rule("L6", "of many appends that expect the same sequence at the same time exactly one is stored", async (world) => {
    await stream(world, 1);
    const calls = await Promise.allSettled(
      upTo(20).map((n) => (n % 2 === 0 ? world.rheo : world.peer).append(STREAM, { payload: n, expectedSequence: 0 })),
    );
    expect(calls.filter((call) => call.status === "fulfilled")).toHaveLength(1);
    expect(await stored(world)).toHaveLength(1);
  }),
];

const partitionOf = async (world: World, partition = 0, group: string = GROUP): Promise<Record<string, number>> => ({
  ...(await world.peer.lag(STREAM, group)).partitions[partition],
});

const trimming: readonly ContractCase[] = [
  rule("L10", "trim never passes the frontier of the slowest group, and says how much it held back", async (world) => {
    await world.group();
    await world.group({}, "slow");
    const leases = await world.lease(10);
    for (const lease of leases.slice(0, 6)) await world.rheo.ack(lease);
    const slow = await world.peer.fetch(STREAM, "slow", { limit: 3 });
    for (const lease of slow) await world.peer.ack(lease);
    expect(await world.rheo.trim(STREAM, { beforeSequence: 9 })).toEqual({ removed: 3, heldBack: 5 });
    expect(sequencesOf(await stored(world))).toEqual([4, 5, 6, 7, 8, 9, 10]);
    expect(sequencesOf(await world.drain("slow"))).toEqual([4, 5, 6, 7, 8, 9, 10]);
    expect(await partitionOf(world)).toMatchObject({ frontier: 6, lag: 4, skipped: 0, firstSequence: 4 });
  }),
  rule("L10", "without groups a trim removes what it says: by sequence, by age, or to a number kept", async (world) => {
    await stream(world, 1);
    const timestamps = upTo(10).map((n) => ({ payload: n, timestamp: new Date(n * 1_000) }));
    await world.rheo.appendMany(STREAM, timestamps);
    expect(await world.rheo.trim(STREAM, { beforeSequence: 3 })).toEqual({ removed: 2, heldBack: 0 });
    expect(await world.rheo.trim(STREAM, { before: new Date(5_000) })).toEqual({ removed: 2, heldBack: 0 });
    expect(sequencesOf(await stored(world))).toEqual([5, 6, 7, 8, 9, 10]);
    expect(await world.rheo.trim(STREAM, { keepLast: 2 })).toEqual({ removed: 4, heldBack: 0 });
    expect(await world.rheo.trim(STREAM, { keepLast: 2 })).toEqual({ removed: 0, heldBack: 0 });
    expect(sequencesOf(await stored(world))).toEqual([9, 10]);
    expect(await world.peer.getEvent(STREAM, "none")).toBeNull();
  }),
  rule("L10", "a dry run says what would go and what would be held back, and removes nothing", async (world) => {
    await world.group();
    await world.append(10);
    for (const lease of await world.take(3)) await world.rheo.ack(lease);
    const before = await partitionOf(world);
    expect(await world.rheo.trim(STREAM, { keepLast: 2, dryRun: true })).toEqual({ removed: 3, heldBack: 5 });
    expect(await world.rheo.trim(STREAM, { keepLast: 2, force: true, dryRun: true })).toEqual({ removed: 8, heldBack: 0 });
    expect([await partitionOf(world), sequencesOf(await stored(world))]).toEqual([before, upTo(10)]);
    expect(await world.rheo.trim(STREAM, { keepLast: 2 })).toEqual({ removed: 3, heldBack: 5 });
  }),
  rule("L10", "a trim of more than a step of the store removes all of it, in every partition", async (world) => {
    await world.group({ partitions: 2 });
    const large = Array.from({ length: 1_000 }, (_, n) => ({ payload: n, partition: 0 }));
    for (let n = 0; n < 11; n++) await world.rheo.appendMany(STREAM, large);
    await world.append(20, { partition: 1 });
    const told: number[] = [];
    world.rheo.events.on("stream.trimmed", ({ removed }) => told.push(removed));
    expect(await world.rheo.trim(STREAM, { keepLast: 5, force: true })).toEqual({ removed: 11_010, heldBack: 0 });
    expect(told.reduce((sum, removed) => sum + removed, 0)).toBe(11_010);
    expect([await partitionOf(world), await partitionOf(world, 1)]).toMatchObject([
      { firstSequence: 10_996, frontier: 10_995, lag: 5, skipped: 10_995 },
      { firstSequence: 16, frontier: 15, lag: 5, skipped: 15 },
    ]);
  }),
  rule("L10", "sequences go on after everything was trimmed", async (world) => {
    await stream(world, 1);
    await world.append(3);
    await world.rheo.trim(STREAM, { keepLast: 0 });
    expect(await stored(world)).toEqual([]);
    expect((await world.rheo.streamInfo(STREAM)).partitions).toEqual([
      { partition: 0, firstSequence: 4, highWatermark: 3, events: 0 },
    ]);
    await world.reopen();
    expect(sequencesOf(await world.append(1))).toEqual([4]);
  }),
  rule("L10 B69", "a trim of one partition leaves the others, other streams and other groups alone", async (world) => {
    await world.group({ partitions: 2 });
    await world.append(4, { partition: 0 });
    await world.append(4, { partition: 1 });
    await world.rheo.createStream("other");
    await world.rheo.createGroup("other", GROUP);
    await world.rheo.appendMany("other", [{ payload: 1 }, { payload: 2 }]);
    await world.rheo.fetch("other", GROUP, { limit: 1 });
    const before = [await partitionOf(world, 1), await world.peer.lag("other", GROUP), await world.peer.leases("other", GROUP)];
    await world.rheo.trim(STREAM, { keepLast: 0, force: true, partitions: [0] });
    expect([await partitionOf(world, 1), await world.peer.lag("other", GROUP), await world.peer.leases("other", GROUP)]).toEqual(
      before,
    );
    expect(placesOf(await stored(world))).toEqual(["1/1", "1/2", "1/3", "1/4"]);
  }),
  rule(
    "L10 B74 B143",
    "a forced trim lets a slow group go on at the first retained event and counts what it skipped",
    async (world) => {
      await world.group();
      const leases = await world.lease(15);
      for (const lease of leases.slice(0, 10)) await world.rheo.ack(lease);
      await world.append(5);
      await world.rheo.trim(STREAM, { beforeSequence: 18, force: true });
      expect(await partitionOf(world)).toMatchObject({ frontier: 17, lag: 3, skipped: 7, firstSequence: 18 });
      await world.reopen();
      expect(sequencesOf(await world.drain())).toEqual([18, 19, 20]);
      expect(await partitionOf(world)).toMatchObject({ lag: 0, skipped: 7 });
    },
  ),
  rule("L10 B143", "when everything is trimmed the lag is 0, not what was lost", async (world) => {
    await world.group();
    await world.append(30);
    for (const lease of await world.take(10)) await world.rheo.ack(lease);
    await world.rheo.trim(STREAM, { keepLast: 0, force: true });
    expect(await partitionOf(world)).toMatchObject({ frontier: 30, lag: 0, skipped: 20 });
    expect(await world.take()).toEqual([]);
  }),
  rule(
    "L10 B16",
    "a forced trim takes leased and retrying deliveries away: settles say gone, and nothing is left in flight",
    async (world) => {
      await world.group();
      const leases = await world.lease(7);
      await world.rheo.ack(at(leases, 0));
      await world.rheo.nack(at(leases, 2));
      await world.rheo.trim(STREAM, { beforeSequence: 6, force: true });
      await stale(world.rheo.ack(at(leases, 1)), "gone");
      await stale(world.rheo.renew(at(leases, 3)), "gone");
      await world.rheo.ack(at(leases, 5));
      await world.rheo.ack(at(leases, 6));
      world.clock.advance(600_000);
      expect(await world.take()).toEqual([]);
      expect(await world.rheo.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 0, inflight: 0, retrying: 0 });
      expect(await partitionOf(world)).toMatchObject({ frontier: 7, skipped: 4 });
    },
  ),
  rule(
    "L10 B74",
    "a dead letter outlives its event: it is listed without it, and a redrive cannot bring it back",
    async (world) => {
      await world.group();
      for (const lease of await world.lease(3)) await world.rheo.reject(lease, { reason: "bad" });
      await world.rheo.trim(STREAM, { beforeSequence: 3 });
      expect(
        (await world.peer.deadLetters(STREAM, GROUP)).map((letter) => [letter.sequence, letter.event?.sequence ?? null]),
      ).toEqual([
        [1, null],
        [2, null],
        [3, 3],
      ]);
      expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 1 });
      expect(sequencesOf(await world.drain())).toEqual([3]);
      expect(await world.rheo.purgeDeadLetters(STREAM, GROUP, { all: true, confirm: true })).toEqual({ purged: 2 });
      expect(await world.peer.deadLetters(STREAM, GROUP)).toEqual([]);
    },
  ),
  rule("L10", "a group created after a trim starts at the first retained event, wherever it asked to", async (world) => {
    await stream(world, 1);
    await world.append(5);
    await world.rheo.trim(STREAM, { beforeSequence: 4 });
    await world.rheo.createGroup(STREAM, GROUP, { start: { after: 1 } });
    await world.rheo.createGroup(STREAM, "early");
    for (const group of [GROUP, "early"]) {
      expect(await partitionOf(world, 0, group)).toMatchObject({ frontier: 3, lag: 2, skipped: 0 });
      expect((await world.drain(group)).map((lease) => numberOf(lease))).toEqual([4, 5]);
    }
  }),
  rule("L10", "a trim asks for exactly one measure and for a stream that is there", async (world) => {
    await stream(world, 1);
    await refusal(world.rheo.trim("missing", { keepLast: 1 }), "stream_not_found");
    await refusal(world.rheo.trim(STREAM, { keepLast: 1, beforeSequence: 1 } as never), "invalid_option"); // the types forbid it too
    await refusal(world.rheo.trim(STREAM, {} as never), "invalid_option");
  }),
];

export const logCases: readonly ContractCase[] = [
  ...sequences,
  ...immutability,
  ...routing,
  ...ids,
  ...batches,
  ...conditions,
  ...trimming,
];
