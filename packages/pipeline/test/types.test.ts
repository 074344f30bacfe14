/** What the types promise; the compiler is the judge of most of it. */
import { ack, defineStream, type Event, type Json, retry, type StandardSchema } from "@rheo/core";
import { type Consumption, consume, type HeldLease, type LeaseStream, type Message, pipeline } from "@rheo/pipeline";
import { expect, expectTypeOf, test } from "vitest";
import { openOrders, until } from "./fixtures/store.ts";

interface Order {
  readonly total: number;
}

const schema: StandardSchema<Order> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: value as Order }) },
};
const orders = defineStream({ name: "orders", schema });

test("the payload of a typed stream is that of its leases", async () => {
  await using rheo = await openOrders({ payloads: [{ total: 5 }] });
  const leases = consume(rheo, orders, "g");
  expectTypeOf(leases).toEqualTypeOf<Consumption<Order>>();
  for await (const lease of leases) {
    expectTypeOf(lease).toEqualTypeOf<HeldLease<Order>>();
    expectTypeOf(lease.event).toEqualTypeOf<Event<Order>>();
    expect(lease.event.payload.total).toBe(5);
    break;
  }
  const stream = consume(rheo, orders, "g").toReadable();
  expectTypeOf(stream).toEqualTypeOf<LeaseStream<Order>>();
  for await (const lease of stream) {
    expectTypeOf(lease).toEqualTypeOf<HeldLease<Order>>();
    break;
  }
  expectTypeOf(consume(rheo, "orders", "g")).toEqualTypeOf<Consumption<Json>>();
});

test("the payload of a typed stream is that of messages, and what a processor returns as data is what batchers get", async () => {
  await using rheo = await openOrders({ payloads: [{ total: 5 }, { total: 6 }] });
  const totals: string[] = [];
  await using running = pipeline({
    rheo,
    stream: orders,
    group: "g",
    processors: {
      handle: async (message) => {
        expectTypeOf(message).toEqualTypeOf<Message<Order>>();
        if (message.data.total === 6) return retry("six");
        return { data: `total ${message.event.payload.total}`, key: "x" };
      },
    },
    batchers: {
      default: {
        size: 1,
        by: (message) => message.data,
        handle: (messages) => {
          expectTypeOf(messages).toEqualTypeOf<readonly Message<Order, string>[]>();
          totals.push(...messages.map(({ data }) => data));
          return messages.map(() => ack());
        },
      },
    },
  });
  await until("one is acked", () => running.stats().acked === 1);
  expect(totals).toEqual(["total 5"]);
});

test("handlers that return what means nothing do not compile", async () => {
  await using rheo = await openOrders();
  const base = { rheo, stream: orders, group: "g" } as const;
  const query = async (): Promise<{ rows: number[] }> => ({ rows: [] });
  const effect = async (): Promise<void> => undefined;
  const running = [
    pipeline({ ...base, processors: { handle: effect } }),
    // @ts-expect-error the answer of a database is neither an outcome nor a route
    pipeline({ ...base, processors: { handle: query } }),
    // @ts-expect-error a batch key is a string
    pipeline({ ...base, processors: { handle: () => ({ key: 5 }) } }),
    pipeline({ ...base, processors: { handle: effect }, batchers: { b: { handle: effect } } }),
    // @ts-expect-error nor is it one for a batch
    pipeline({ ...base, processors: { handle: effect }, batchers: { b: { handle: query } } }),
  ];
  await Promise.all(running.map((one) => one.stop()));
});
