import { caused, defineStream, FrozenClock, lineage, Rheo, type StandardSchema } from "@rheo/core";
import { memory } from "@rheo/memory";
import { expect, expectTypeOf, test } from "vitest";

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
