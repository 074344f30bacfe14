/** What is refused, and how: payloads, sizes and names (L7–L9), options, and the codes of the error list. */
import { type EventInput, Rheo, RheoError, type RheoErrorCode } from "@rheo/core";
import { LIMITS } from "@rheo/core/internal";
import fc from "fast-check";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, refusal, refusals, sequencesOf, stale, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

const JSON_SAMPLES = 200;
const JSON_SEED = 20_260_101;

/** Appends, reads back through the other member and through a fetch, and gives what came. */
const roundTrip = async (world: World, input: EventInput): Promise<{ payload: unknown; metadata: unknown }> => {
  const appended = await world.rheo.append(STREAM, input);
  const read = await world.peer.getEvent(STREAM, appended.id);
  const lease = at(await world.peerTake(1), 0);
  await world.peer.ack(lease);
  expect(read).toEqual(appended);
  expect(lease.event).toEqual(appended);
  return { payload: lease.event.payload, metadata: lease.event.metadata };
};

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

const circular = (): unknown => {
  const value: Record<string, unknown> = {};
  value.list = [{ value }];
  return value;
};

/** What comes back is what went in. */
const KEPT: readonly (readonly [name: string, value: unknown])[] = [
  ["null, true and false", [null, true, false]],
  [
    "numbers at the edges of their range",
    [
      0,
      1,
      -1,
      0.1,
      1.5e-7,
      1e21,
      5e-324,
      1.7976931348623157e308,
      2 ** 53,
      2 ** 53 - 1,
      -(2 ** 53) + 1,
      123_456_789_012_345_680_000,
    ],
  ],
  [
    "texts of every plane",
    [
      "",
      " ",
      "\u00e9",
      "e\u0301",
      "\u2028\u2029",
      "\ufffd\ufffe\uffff",
      "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
      "\u{10ffff}",
      "\u0001\u001f\u007f",
      "\t\r\n\\\"'/",
    ],
  ],
  ["empty objects and lists", { a: {}, b: [], c: [[], {}] }],
  [
    "names that mean something elsewhere",
    JSON.parse(
      '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1,"hasOwnProperty":2,"length":3,"":4,"a.b":5,"$set":6}',
    ),
  ],
  ["nesting 128 deep", nested(128)],
  ["a text of half a megabyte", "x\u00e9".repeat(200_000)],
  ["a bare text", "just text"],
  ["a bare number", 42],
];

/** What is written down differently, as JSON.stringify does. */
const NORMALISED: readonly (readonly [name: string, value: unknown, stored: unknown])[] = [
  ["undefined fields are dropped", { a: undefined, b: [{ c: undefined, d: 1 }] }, { b: [{ d: 1 }] }],
  ["minus zero is zero", { a: -0, b: [-0] }, { a: 0, b: [0] }],
  [
    "toJSON is honoured",
    { at: new Date(0), own: { toJSON: () => ({ x: 1 }) } },
    { at: "1970-01-01T00:00:00.000Z", own: { x: 1 } },
  ],
  [
    "an instance is its own fields",
    new (class Point {
      x = 1;
      y = 2;
      get sum(): number {
        return this.x + this.y;
      }
    })(),
    { x: 1, y: 2 },
  ],
  ["an object without a prototype is an object", Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
];

/** What JSON would alter without a word. */
const REFUSED: readonly (readonly [name: string, value: unknown, path: string])[] = [
  ["NaN", { a: [1, Number.NaN] }, "payload.a[1]"],
  ["Infinity", { a: Number.POSITIVE_INFINITY }, "payload.a"],
  ["-Infinity", [Number.NEGATIVE_INFINITY], "payload[0]"],
  ["a BigInt", { n: 1n }, "payload.n"],
  ["a function", { f: () => 1 }, "payload.f"],
  ["a symbol", [Symbol("s")], "payload[0]"],
  ["a Map", { m: new Map([[1, 2]]) }, "payload.m"],
  ["a Set", { s: new Set([1]) }, "payload.s"],
  ["a typed array", { bytes: new Uint8Array(3) }, "payload.bytes"],
  ["a Buffer", { bytes: Buffer.from("abc") }, "payload.bytes"],
  ["undefined inside a list", { list: [1, undefined] }, "payload.list[1]"],
  ["a hole in a list", { list: Array(2) }, "payload.list[0]"],
  ["undefined itself", undefined, "payload"],
  ["a cycle", circular(), "payload.list[0].value"],
  ["nesting 129 deep", nested(129), ""],
  ["nesting 10,000 deep", nested(10_000), ""],
  ["U+0000 in a text", { t: "a\u0000b" }, "payload.t"],
  ["a lone surrogate", { t: ["\ud800"] }, "payload.t[0]"],
  ["a lone surrogate in a name", { "\udfff": 1 }, ""],
  [
    "a toJSON that throws",
    {
      t: {
        toJSON: () => {
          throw new Error("no");
        },
      },
    },
    "payload.t",
  ],
  ["an error", { e: new Error("x") }, "payload.e"],
];

const payloads: readonly ContractCase[] = [
  ...KEPT.map(([name, value]) =>
    rule("L7 B85 B86 B87", `a payload comes back deep-equal: ${name}`, async (world) => {
      await world.group();
      const before = structuredClone(value);
      expect((await roundTrip(world, { payload: value })).payload).toEqual(before);
      const [found] = await world.peer.query(STREAM);
      expect(JSON.stringify(sorted(found?.payload))).toBe(JSON.stringify(sorted(before)));
      expect(({} as Record<string, unknown>).x).toBeUndefined();
    }),
  ),
  ...NORMALISED.map(([name, value, expected]) =>
    rule("L7 B85", `a payload is normalised once, at append: ${name}`, async (world) => {
      await world.group();
      const { payload } = await roundTrip(world, { payload: value });
      expect(JSON.stringify(payload)).toBe(JSON.stringify(expected));
      expect(Object.is(payload, -0)).toBe(false);
    }),
  ),
  ...REFUSED.map(([name, value, path]) =>
    rule("L7 B85 B123", `a payload that JSON would alter is refused with its path: ${name}`, async (world) => {
      await world.rheo.createStream(STREAM);
      const error = await refusal(world.rheo.append(STREAM, { payload: value }), "invalid_payload");
      expect(error.details.path?.startsWith("payload")).toBe(true);
      if (path !== "") expect(error.details.path).toBe(path);
      expect(error.message.isWellFormed()).toBe(true);
      expect(await world.peer.query(STREAM)).toEqual([]);
    }),
  ),
  rule("L7", "any JSON value comes back as it is", async (world) => {
    await world.group();
    const values = fc.sample(fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }), { numRuns: JSON_SAMPLES, seed: JSON_SEED });
    const storable = values.filter((value) => !JSON.stringify(value).includes("\\u0000"));
    const events = await world.rheo.appendMany(
      STREAM,
      storable.map((payload) => ({ payload })),
    );
    const read = await world.peer.query(STREAM, { limit: 1_000 });
    expect(read).toEqual(events);
    for (const [index, value] of storable.entries()) expect(read[index]?.payload).toEqual(JSON.parse(JSON.stringify(value)));
  }),
  rule("L7", "metadata is a flat object of scalars and comes back as it is", async (world) => {
    await world.group();
    const metadata = { text: "\u2028", number: 1.5, yes: true, none: null, "": "empty", "a.b": 1 };
    expect((await roundTrip(world, { payload: 1, metadata })).metadata).toEqual(metadata);
    const own = JSON.parse('{"__proto__":"x","constructor":1}') as Record<string, string>; // written just here
    expect(Object.entries((await roundTrip(world, { payload: 1, metadata: own })).metadata as object)).toEqual(
      Object.entries(own),
    );
    expect((await roundTrip(world, { payload: 1 })).metadata).toEqual({});
    for (const bad of [{ a: {} }, { a: [1] }, [1], "text", 7, { a: Number.NaN }, { a: 1n }, { a: "\ud800" }]) {
      const error = await refusal(world.rheo.append(STREAM, { payload: 1, metadata: bad as never }), "invalid_payload"); // the types forbid some too
      expect(error.details.path).toMatch(/^metadata/);
    }
  }),
  rule("L7", "keys, types and ids that a store would alter are refused", async (world) => {
    await world.rheo.createStream(STREAM);
    for (const field of ["key", "type", "id"] as const) {
      for (const text of ["a\ud800b", "a\udc00b", "nul\u0000"])
        await refusal(world.rheo.append(STREAM, { payload: 1, [field]: text }), "invalid_payload");
      await refusal(world.rheo.append(STREAM, { payload: 1, [field]: 5 as never }), "invalid_option"); // the types forbid it too
    }
    expect(await world.peer.query(STREAM)).toEqual([]);
  }),
];

/** With names in order, so that only content is compared. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .map(([name, item]) => [name, sorted(item)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
};

const sizes: readonly ContractCase[] = [
  rule("L8 B89 B92", "an event has at most 1 MiB of UTF-8 by default, counted before any write", async (world) => {
    await world.group();
    const overhead = Buffer.byteLength('""{}id', "utf8");
    const fits = "é".repeat((LIMITS.eventBytes - overhead) / 2);
    const event = await world.rheo.append(STREAM, { payload: fits, id: "id" });
    expect((await world.peer.getEvent(STREAM, event.id))?.payload).toBe(fits);
    const error = await refusal(world.rheo.append(STREAM, { payload: `${fits}a`, id: "iD" }), "event_too_large");
    expect(error.details.index).toBe(0);
    expect(sequencesOf(await world.peer.query(STREAM))).toEqual([1]);
  }),
  rule("L8", "maxEventBytes may be lowered and raised, as far as the store takes it", async (world) => {
    await world.rheo.createStream(STREAM);
    const small = await world.instance({ maxEventBytes: 100 });
    await refusal(small.append(STREAM, { payload: "x".repeat(100) }), "event_too_large");
    const { maxEventBytes } = world.rheo.capabilities;
    const large = await world.instance({ maxEventBytes });
    const text = "x".repeat(maxEventBytes - 100);
    const event = await large.append(STREAM, { payload: text });
    expect((await world.peer.getEvent(STREAM, event.id))?.payload).toBe(text);
    await refusal(large.append(STREAM, { payload: "x".repeat(maxEventBytes) }), "event_too_large");
    await refusal(world.instance({ maxEventBytes: LIMITS.maxEventBytes + 1 }), "invalid_option");
    await refusal(world.instance({ maxEventBytes: 0 }), "invalid_option");
  }),
  ...(
    [
      ["key", LIMITS.keyBytes],
      ["id", LIMITS.idBytes],
      ["type", LIMITS.typeBytes],
    ] as const
  ).map(([field, limit]) =>
    rule("L8 B92", `a ${field} has at most ${limit} bytes of UTF-8, not characters`, async (world) => {
      await world.rheo.createStream(STREAM);
      const wide = "é".repeat(Math.floor(limit / 2));
      for (const text of ["a".repeat(limit), wide]) {
        const event = await world.rheo.append(STREAM, { payload: 1, [field]: text });
        expect((await world.peer.getEvent(STREAM, event.id))?.[field]).toBe(text);
      }
      for (const text of ["a".repeat(limit + 1), `${wide}éé`, "\u{1f600}".repeat(limit / 2)]) {
        await refusal(world.rheo.append(STREAM, { payload: 1, [field]: text }), "event_too_large");
      }
      expect(await world.peer.query(STREAM)).toHaveLength(2);
    }),
  ),
  rule("L8 B89", "a batch has at most 10,000 events and 16 MiB", async (world) => {
    await world.rheo.createStream(STREAM);
    const many = Array.from({ length: LIMITS.appendEvents + 1 }, (_, n) => ({ payload: n }));
    await refusal(world.rheo.appendMany(STREAM, many), "event_too_large");
    const large = { payload: "x".repeat(1_000_000) };
    await refusal(
      world.rheo.appendMany(
        STREAM,
        Array.from({ length: 17 }, () => large),
      ),
      "event_too_large",
    );
    expect(await world.peer.query(STREAM)).toEqual([]);
    expect(await world.rheo.appendMany(STREAM, many.slice(1))).toHaveLength(LIMITS.appendEvents);
    expect(
      await world.rheo.appendMany(
        STREAM,
        Array.from({ length: 16 }, () => large),
      ),
    ).toHaveLength(16);
    expect((await world.peer.streamInfo(STREAM)).events).toBe(LIMITS.appendEvents + 16);
  }),
];

const GOOD_NAMES = [
  "a",
  "7",
  "A",
  "a.b",
  "a-b",
  "a_b",
  "0.0",
  "constructor",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "prototype",
  "null",
  "select",
  "p0",
  "a".repeat(120),
];
const BAD_NAMES = [
  "",
  " ",
  "a b",
  " a",
  "a ",
  ".a",
  "-a",
  "_a",
  "__proto__",
  "a:b",
  "a/b",
  "a\\b",
  "a*",
  "a?",
  "[a]",
  "{a}",
  "a|b",
  "a\n",
  "é",
  "a\u0000",
  'a"b',
  "x'; DROP TABLE t;--",
  "\u{1f600}",
  "a".repeat(121),
  "ａ",
];

const names: readonly ContractCase[] = [
  rule("L9 B86 B90 B92", "names have 1–120 characters of A–Z a–z 0–9 . _ - and start with a letter or digit", async (world) => {
    for (const name of GOOD_NAMES) {
      await world.rheo.createStream(name);
      await world.rheo.createGroup(name, name);
      await world.rheo.append(name, { payload: name });
      const [lease] = await world.peer.fetch(name, name, { consumerId: name });
      expect(lease).toMatchObject({ stream: name, group: name, consumerId: name, event: { payload: name } });
    }
    const listed = (await world.peer.listStreams()).map(({ name }) => name);
    expect([...listed].sort()).toEqual([...GOOD_NAMES].sort());
    expect(({} as Record<string, unknown>).payload).toBeUndefined();
  }),
  rule("L9 O27 B90 B93", "any other name is refused, for streams, groups and members alike", async (world) => {
    await world.group();
    for (const name of BAD_NAMES) {
      await refusal(world.rheo.createStream(name), "invalid_name");
      await refusal(world.rheo.append(name, { payload: 1 }), "invalid_name");
      await refusal(world.rheo.createGroup(STREAM, name), "invalid_name");
      await refusal(world.rheo.fetch(STREAM, name), "invalid_name");
      await refusal(world.rheo.fetch(STREAM, GROUP, { consumerId: name }), "invalid_name");
      await refusal(world.rheo.lag(STREAM, name), "invalid_name");
    }
    for (const name of [1, null, undefined, {}, ["a"]]) {
      await refusal(world.rheo.createStream(name as never), "invalid_name"); // the types forbid it too
      await refusal(world.rheo.createGroup(STREAM, name as never), "invalid_name");
    }
    expect(await world.peer.listStreams()).toHaveLength(1);
  }),
  rule("L9 O27 B93", "names that are alike when joined do not collide", async (world) => {
    for (const [stream, group] of [
      ["a", "b.c"],
      ["a.b", "c"],
      ["a.b.c", "c"],
      ["a-b", "c"],
      ["a_b", "c"],
    ] as const) {
      await world.rheo.createStream(stream);
      await world.rheo.createGroup(stream, group);
      await world.rheo.append(stream, { payload: stream });
    }
    const [lease] = await world.peer.fetch("a", "b.c");
    expect(lease?.event.payload).toBe("a");
    await world.rheo.deleteStream("a", { confirm: true });
    expect((await world.peer.fetch("a.b", "c")).map((found) => found.event.payload)).toEqual(["a.b"]);
    expect((await world.peer.listGroups("a.b")).map(({ name }) => name)).toEqual(["c"]);
  }),
  rule("L9 B84 B96", "names that differ in case, at the end or by a wildcard's character are different", async (world) => {
    const alike = [
      "orders",
      "Orders",
      "ORDERS",
      "orders.",
      "orders.x",
      "orders_",
      "ordersX",
      "orders-",
      "orders0",
      `${"l".repeat(119)}1`,
      `${"l".repeat(119)}2`,
    ];
    for (const [index, name] of alike.entries()) {
      await world.rheo.createStream(name);
      await world.rheo.createGroup(name, GROUP);
      await world.rheo.appendMany(
        name,
        upTo(index + 1).map((n) => ({ payload: n })),
      );
    }
    for (const [index, name] of alike.entries()) {
      expect((await world.peer.lag(name, GROUP)).lag).toBe(index + 1);
      expect((await world.peer.streamInfo(name)).events).toBe(index + 1);
    }
    await world.rheo.deleteStream("orders_", { confirm: true });
    expect(await world.peer.listStreams()).toHaveLength(alike.length - 1);
    expect((await world.peer.lag("ordersX", GROUP)).lag).toBe(7);
  }),
];

/** Each call with an option that it does not know. */
const unknownOptions = (world: World): readonly (() => Promise<unknown>)[] => {
  const { rheo } = world;
  const odd = { nonsense: 1 } as never; // the types forbid it too
  return [
    () => rheo.createStream("s2", odd),
    () => rheo.ensureStream("s2", odd),
    () => rheo.append(STREAM, { payload: 1, nonsense: 1 } as never),
    () => rheo.append(STREAM, { payload: 1 }, odd),
    () => rheo.appendMany(STREAM, [{ payload: 1 }], odd),
    () => rheo.query(STREAM, odd),
    () => rheo.queryPage(STREAM, odd),
    () => rheo.trim(STREAM, odd),
    () => rheo.createGroup(STREAM, "g2", odd),
    () => rheo.ensureGroup(STREAM, "g2", odd),
    () => rheo.updateGroup(STREAM, GROUP, odd),
    () => rheo.deleteGroup(STREAM, GROUP, odd),
    () => rheo.deleteStream(STREAM, odd),
    () => rheo.fetch(STREAM, GROUP, odd),
    () => rheo.replay(STREAM, GROUP, odd),
    () => rheo.resetGroup(STREAM, GROUP, odd),
    () => rheo.redrive(STREAM, GROUP, odd),
    () => rheo.purgeDeadLetters(STREAM, GROUP, odd),
    () => rheo.deadLetters(STREAM, GROUP, odd),
    () => rheo.leases(STREAM, GROUP, odd),
    () => rheo.listStreams(odd),
    () => rheo.listGroups(STREAM, odd),
    () => rheo.whenCaughtUp(STREAM, GROUP, odd),
    () => Rheo.open(odd),
  ];
};

const OPTION_VALUES: readonly (readonly [
  name: string,
  call: (rheo: Rheo, value: never) => Promise<unknown>,
  values: readonly unknown[],
])[] = [
  ["partitions", (rheo, partitions) => rheo.createStream("s2", { partitions }), [0, -1, 1.5, 1_025, "4", Number.NaN]],
  ["limit of fetch", (rheo, limit) => rheo.fetch(STREAM, GROUP, { limit }), [0, -1, 1.5, 10_001, "4", Number.NaN]],
  [
    "leaseMs of fetch",
    (rheo, leaseMs) => rheo.fetch(STREAM, GROUP, { leaseMs }),
    [0, -1, 1.5, Number.POSITIVE_INFINITY, "4", 2 ** 53],
  ],
  ["maxBytes", (rheo, maxBytes) => rheo.fetch(STREAM, GROUP, { maxBytes }), [0, -1, "4"]],
  [
    "maxAttempts",
    (rheo, maxAttempts) => rheo.createGroup(STREAM, "g2", { maxAttempts }),
    [0, -1, 1.5, "4", Number.POSITIVE_INFINITY],
  ],
  ["leaseMs of a group", (rheo, leaseMs) => rheo.createGroup(STREAM, "g2", { leaseMs }), [0, -5, "4", 1e15]],
  ["maxInflight", (rheo, maxInflight) => rheo.createGroup(STREAM, "g2", { maxInflight }), [0, -5, "4"]],
  [
    "retry",
    (rheo, retry) => rheo.createGroup(STREAM, "g2", { retry }),
    [{ minMs: -1 }, { factor: 0 }, { jitter: 2 }, { minMs: 10, maxMs: 5 }, { nonsense: 1 }, "fast"],
  ],
  ["ordering", (rheo, ordering) => rheo.createGroup(STREAM, "g2", { ordering }), ["keys", true, 1]],
  [
    "start",
    (rheo, start) => rheo.createGroup(STREAM, "g2", { start }),
    ["begin", { after: -1 }, { after: "1" }, { at: "now" }, { at: new Date(Number.NaN) }, {}, { after: 1, at: new Date(0) }],
  ],
  ["timestamp", (rheo, timestamp) => rheo.append(STREAM, { payload: 1, timestamp }), ["now", 5, new Date(Number.NaN)]],
  [
    "expectedSequence",
    (rheo, expectedSequence) => rheo.append(STREAM, { payload: 1, expectedSequence }),
    [-1, 1.5, "0", Number.NaN],
  ],
  ["id", (rheo, id) => rheo.append(STREAM, { payload: 1, id }), [""]],
  ["limit of query", (rheo, limit) => rheo.query(STREAM, { limit }), [0, -1, "4"]],
  ["order", (rheo, order) => rheo.query(STREAM, { order }), ["up"]],
];

const options: readonly ContractCase[] = [
  rule("E1", "an option that a call does not know is invalid_option, and nothing is done", async (world) => {
    await world.group();
    const before = await world.snapshot();
    for (const call of unknownOptions(world)) {
      const error = await refusal(call(), "invalid_option");
      expect(error.message).toContain("nonsense");
    }
    expect(await world.snapshot()).toEqual(before);
    expect(await world.peer.listStreams()).toHaveLength(1);
  }),
  rule("E1", "an option of a lease call that it does not know is invalid_option, and the lease is untouched", async (world) => {
    await world.group();
    const [lease] = await world.lease(1);
    if (lease === undefined) expect.fail("no lease");
    const odd = { nonsense: 1 } as never; // the types forbid it too
    const { rheo } = world;
    const calls = [
      rheo.ack(lease, odd),
      rheo.nack(lease, odd),
      rheo.reject(lease, odd),
      rheo.renew(lease, odd),
      rheo.release(lease, odd),
      rheo.settle([], odd),
    ];
    await refusals(calls, "invalid_option");
    for (const bad of [
      null,
      undefined,
      7,
      {},
      { ...lease, token: 0 },
      { ...lease, token: "1" },
      { ...lease, sequence: 0 },
      { ...lease, partition: -1 },
    ]) {
      await refusal(rheo.ack(bad as never), "invalid_option");
      await refusal(rheo.renewMany([bad as never]), "invalid_option");
    }
    await refusal(rheo.settle([{ lease, outcome: "ack" as never }]), "invalid_option");
    await rheo.ack(lease);
  }),
  ...OPTION_VALUES.map(([name, call, values]) =>
    rule("E1", `a value out of range is invalid_option, and nothing is done: ${name}`, async (world) => {
      await world.group();
      for (const value of values) await refusal(call(world.rheo, value as never), "invalid_option"); // the types forbid most of them
      expect(await world.peer.listStreams()).toHaveLength(1);
      expect(await world.peer.listGroups(STREAM)).toHaveLength(1);
      expect(await world.peer.query(STREAM)).toEqual([]);
    }),
  ),
  rule("E1", "a partition that is not there is invalid_partition", async (world) => {
    await world.group({ partitions: 2 });
    const calls = [
      world.rheo.append(STREAM, { payload: 1, partition: 2 }),
      world.rheo.query(STREAM, { partition: 2 }),
      world.rheo.query(STREAM, { afterSequence: { 2: 1 } }),
      world.rheo.fetch(STREAM, GROUP, { partitions: [0, 2] }),
      world.rheo.replay(STREAM, GROUP, { fromSequence: 0, partitions: [2] }),
      world.rheo.trim(STREAM, { keepLast: 0, partitions: [2] }),
      world.rheo.createGroup(STREAM, "g2", { start: { after: { 2: 1 } } }),
    ];
    await refusals(calls, "invalid_partition");
  }),
];

const codes: readonly ContractCase[] = [
  rule("E1", "a stream that exists is already_exists; ensureStream returns it, unless its partitions differ", async (world) => {
    await world.rheo.createStream(STREAM, { partitions: 2 });
    await refusal(world.peer.createStream(STREAM, { partitions: 2 }), "already_exists");
    expect((await world.peer.ensureStream(STREAM, { partitions: 2 })).partitions).toHaveLength(2);
    expect((await world.peer.ensureStream(STREAM)).partitions).toHaveLength(2);
    await refusal(world.peer.ensureStream(STREAM, { partitions: 3 }), "already_exists");
    expect((await world.peer.streamInfo(STREAM)).partitions).toHaveLength(2);
  }),
  rule("E1 B125", "many creations of one stream at the same time make one", async (world) => {
    const calls = await Promise.allSettled(
      upTo(20).map((n) => (n % 2 === 0 ? world.rheo : world.peer).createStream(STREAM, { partitions: 3 })),
    );
    expect(calls.filter((call) => call.status === "fulfilled")).toHaveLength(1);
    await Promise.all(upTo(20).map((n) => (n % 2 === 0 ? world.rheo : world.peer).ensureStream(STREAM, { partitions: 3 })));
    expect((await world.peer.listStreams()).map(({ name, partitions }) => [name, partitions])).toEqual([[STREAM, 3]]);
  }),
  rule("E1 B76", "after close every call is closed, and closing again is harmless", async (world) => {
    await world.group();
    const [lease] = await world.lease(1);
    const rheo = await world.instance();
    await Promise.all([rheo.close(), rheo.close()]);
    await rheo.close();
    await rheo[Symbol.asyncDispose]();
    const calls: readonly (() => Promise<unknown>)[] = [
      () => rheo.append(STREAM, { payload: 1 }),
      () => rheo.fetch(STREAM, GROUP),
      () => rheo.lag(STREAM, GROUP),
      () => rheo.ping(),
      () => rheo.query(STREAM),
      () => rheo.createStream("s2"),
      () => rheo.ack(at([lease], 0) as never),
      () => rheo.listStreams(),
      () => rheo.migrate(),
    ];
    for (const call of calls) await refusal(call(), "closed");
    expect(await world.peer.listStreams()).toHaveLength(1);
    expect(await world.state(1)).toBe("leased");
  }),
  rule("E1 B76", "an append that was started before close is stored or refused, never lost without a word", async (world) => {
    await world.rheo.createStream(STREAM);
    const rheo = await world.instance();
    await rheo.append(STREAM, { payload: 0 });
    const pending = Promise.allSettled(upTo(10).map((n) => rheo.append(STREAM, { payload: n })));
    await rheo.close();
    const stored = (await pending).filter((call) => call.status === "fulfilled").length;
    expect(await world.peer.query(STREAM)).toHaveLength(stored + 1);
  }),
  rule("E1", "a call whose signal is aborted is aborted, before it starts and while it waits", async (world) => {
    await world.group();
    await refusal(world.take(1, { signal: AbortSignal.abort() }), "aborted");
    await refusal(world.rheo.whenCaughtUp(STREAM, GROUP, { signal: AbortSignal.abort() }), "aborted");
    const controller = new AbortController();
    const waiting = world.peerTake(1, { waitMs: 60_000, signal: controller.signal });
    const aborting = new Promise<void>((resolve) => setImmediate(resolve)).then(() => controller.abort());
    await refusal(world.pump(waiting), "aborted");
    await aborting;
  }),
  rule("E1 G3", "a fetch that waits is given what is appended meanwhile, and nothing when the time is over", async (world) => {
    await world.group();
    const waiting = world.peerTake(5, { waitMs: LEASE_MS });
    await new Promise((resolve) => setImmediate(resolve));
    await world.append(2);
    const given = await world.pump(waiting);
    expect(sequencesOf(given)).toEqual([1, 2]);
    for (const lease of given) await world.peer.ack(lease);
    expect(await world.pump(world.peerTake(5, { waitMs: 1_000 }))).toEqual([]);
  }),
  rule("E1", "a fetch that waits is given a retry when it falls due", async (world) => {
    await world.group();
    await world.rheo.nack(at(await world.lease(1), 0), { delayMs: 5_000 });
    const waiting = world.peerTake(5, { waitMs: 20_000 });
    expect((await world.pump(waiting)).map(({ attempt }) => attempt)).toEqual([2]);
  }),
  rule("E1", "what cannot be undone asks for confirm: true", async (world) => {
    await world.group();
    const before = await world.snapshot();
    const no = { confirm: false } as const;
    const calls = [
      world.rheo.deleteStream(STREAM, no),
      world.rheo.deleteGroup(STREAM, GROUP, no),
      world.rheo.resetGroup(STREAM, GROUP, no),
      world.rheo.purgeDeadLetters(STREAM, GROUP, { all: true, ...no }),
    ];
    await refusals(calls, "confirm_required");
    expect(await world.snapshot()).toEqual(before);
  }),
  rule("E1", "errors are RheoErrors with a code, details and a message that names what it is about", async (world) => {
    await world.group();
    const lease = at(await world.lease(1), 0);
    await world.rheo.ack(lease);
    await stale(world.rheo.ack(lease), "settled");
    const error = await refusal(world.rheo.ack(lease), "stale_lease");
    expect(error).toBeInstanceOf(RheoError);
    expect(error.name).toBe("RheoError");
    expect(error.details).toEqual({ stream: STREAM, group: GROUP, partition: 0, sequence: 1, why: "settled" });
    expect(error.message).toContain(STREAM);
    expect(error.message).toContain(GROUP);
    const code: RheoErrorCode = "stream_not_found";
    expect((await refusal(world.rheo.lag("missing", GROUP), code)).message).toContain("missing");
  }),
];

export const errorCases: readonly ContractCase[] = [...payloads, ...sizes, ...names, ...options, ...codes];
