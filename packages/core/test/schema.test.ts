import { caused, defineStream, FrozenClock, lineage, Rheo, type StandardSchema } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

interface Order {
  readonly amount: number;
}

const schema: StandardSchema<{ amount: string }, Order> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => {
      const amount = Number((value as { amount?: unknown }).amount);
      return Number.isFinite(amount) ? { value: { amount } } : { issues: [{ message: "not a number", path: ["amount"] }] };
    },
  },
};
const orders = defineStream({ name: "orders", partitions: 2, schema });

test("a typed stream checks and converts at append, and types what is read", async () => {
  await using rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
  expect((await rheo.ensureStream(orders)).partitions).toHaveLength(2);
  const event = await rheo.append(orders, { payload: { amount: "5" } });
  expectTypeOf(event.payload).toEqualTypeOf<Order>();
  expect(event.payload).toEqual({ amount: 5 });
  await rheo.createGroup(orders, "billing");
  const [lease] = await rheo.fetch(orders, "billing");
  expectTypeOf(lease?.event.payload).toEqualTypeOf<Order | undefined>();
  expect(lease?.event.payload.amount).toBe(5);
});

test("what the schema refuses is invalid_payload, with its path and index, and writes nothing", async () => {
  await using rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
  await rheo.ensureStream(orders);
  const failure = rheo.appendMany(orders, [{ payload: { amount: "1" } }, { payload: { amount: "x" } }]);
  await expect(failure).rejects.toMatchObject({ code: "invalid_payload", details: { path: "payload.amount", index: 1 } });
  expect((await rheo.streamInfo(orders)).events).toBe(0);
});

test("lineage is metadata: correlation is inherited, causation is the cause", async () => {
  await using rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
  await rheo.createStream("s");
  const first = await rheo.append("s", { payload: 1, metadata: lineage({ producer: "shop", schemaVersion: 2 }) });
  const second = await rheo.append("s", { payload: 2, metadata: caused(first) });
  const third = await rheo.append("s", { payload: 3, metadata: caused(second, { producer: "till" }) });
  expect(third.metadata).toEqual({ correlationId: first.id, causationId: second.id, producer: "till" });
  expect((await rheo.query("s", { correlationId: first.id })).map((event) => event.payload)).toEqual([2, 3]);
});

describe.each([
  ["zod", z.object({ amount: z.coerce.number() })],
  ["valibot", v.object({ amount: v.pipe(v.unknown(), v.transform(Number), v.number()) })],
  ["arktype", type({ amount: "string.numeric.parse | number" })],
] as const)("a schema of %s", (_, library) => {
  test("checks, converts and types", async () => {
    await using rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
    const stream = defineStream({ name: "orders", schema: library as StandardSchema<{ amount: string }, Order> });
    await rheo.ensureStream(stream);
    expect((await rheo.append(stream, { payload: { amount: "5" } })).payload).toEqual({ amount: 5 });
    const failure = rheo.append(stream, { payload: { amount: "five" } });
    await expect(failure).rejects.toMatchObject({ code: "invalid_payload", details: { path: "payload.amount" } });
  });
});

test("types are those of the schema: zod, valibot and arktype", () => {
  const zod = defineStream({ name: "s", schema: z.object({ amount: z.number() }) });
  const valibot = defineStream({ name: "s", schema: v.object({ amount: v.number() }) });
  const ark = defineStream({ name: "s", schema: type({ amount: "number" }) });
  type Read<Stream> = Stream extends { readonly schema: StandardSchema<infer _Input, infer Output> | null } ? Output : never;
  expectTypeOf<Read<typeof zod>>().toEqualTypeOf<{ amount: number }>();
  expectTypeOf<Read<typeof valibot>>().toEqualTypeOf<{ amount: number }>();
  expectTypeOf<Read<typeof ark>>().toEqualTypeOf<{ amount: number }>();
});

describe("versions", () => {
  const first = defineStream({ name: "orders" });
  const second = defineStream({ name: "orders", version: 2, upcasters: { 1: (amount) => ({ amount }) } });
  const third = defineStream({
    name: "orders",
    version: 3,
    upcasters: { 1: (amount) => ({ amount }), 2: (payload) => ({ ...(payload as object), currency: "EUR" }) },
  });
  const newest = [
    { amount: 1, currency: "EUR" },
    { amount: 2, currency: "EUR" },
    { amount: 3, currency: "USD" },
  ];

  const filled = async (): Promise<Rheo> => {
    const rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
    await rheo.ensureStream(first);
    await rheo.append(first, { payload: 1 });
    await rheo.append(second, { payload: { amount: 2 } });
    await rheo.append(third, { id: "third", payload: { amount: 3, currency: "USD" } });
    return rheo;
  };

  test("old events reach every reader in the newest shape, and the log stays as it was", async () => {
    await using rheo = await filled();
    expect((await rheo.query(third)).map((event) => event.payload)).toEqual(newest);
    const scanned = [];
    for await (const event of rheo.scan(third)) scanned.push(event.payload);
    expect(scanned).toEqual(newest);
    await rheo.createGroup(third, "billing");
    expect((await rheo.fetch(third, "billing")).map(({ event }) => event.payload)).toEqual(newest);
    const abort = new AbortController();
    const tailed = [];
    for await (const event of rheo.tail(third, { signal: abort.signal })) if (tailed.push(event.payload) === 3) abort.abort();
    expect(tailed).toEqual(newest);
    const stored = await rheo.query("orders");
    expect(stored.map((event) => event.payload)).toEqual([1, { amount: 2 }, { amount: 3, currency: "USD" }]);
    expect(stored.map((event) => event.metadata.schemaVersion)).toEqual([undefined, 2, 3]);
  });

  test("an event of a version that is not known yet is given as it is, and a version that is given stays", async () => {
    await using rheo = await filled();
    expect((await rheo.getEvent(second, "third"))?.payload).toEqual({ amount: 3, currency: "USD" });
    const old = await rheo.append(third, { payload: 4, metadata: { schemaVersion: 1 } });
    expect((await rheo.getEvent(third, old.id))?.payload).toEqual({ amount: 4, currency: "EUR" });
  });

  test("an upcaster that throws fails its own event, with its id", async () => {
    await using rheo = await filled();
    const picky = defineStream({
      name: "orders",
      version: 2,
      upcasters: {
        1: () => {
          throw new Error("no");
        },
      },
    });
    await rheo.createGroup(picky, "billing");
    const leases = await rheo.fetch(picky, "billing");
    expect(leases).toHaveLength(3);
    expect(() => leases[0]?.event).toThrow(/version 1.*upcaster to 2 failed: no/);
    expect(leases[1]?.event.payload).toEqual({ amount: 2 });
    await expect(rheo.query(picky)).rejects.toMatchObject({ code: "invalid_payload" });
  });

  test("a version without all its upcasters is refused", () => {
    for (const [version, upcasters] of [
      [2, undefined],
      [3, { 1: () => 1 }],
      [3, { 2: () => 1 }],
      [1, { 1: () => 1 }],
      [2, { 1: 5 }],
      [2, { 1: () => 1, 2: () => 1 }],
      [undefined, { 1: () => 1 }],
    ] as const) {
      const options = { name: "s", version, upcasters } as unknown as Parameters<typeof defineStream>[0]; // the types forbid 5
      expect(() => defineStream(options)).toThrow(/upcasters/);
    }
    expect(() => defineStream({ name: "s", version: 0 })).toThrow(/version/);
  });
});
