/** Events of older versions reach handlers in the newest shape, wherever these run. */
import { defineStream, type Rheo, type StandardSchema } from "@rheo/core";
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { batchHandler, type DefinedHandler, handler, reject } from "@rheo/runtime/handler";
import { describe, expect, expectTypeOf, test } from "vitest";
import { orders } from "./fixtures/orders.stream.mjs";
import { caughtUp, fixture, openOrders } from "./store.ts";

interface Payload {
  readonly amount: number;
}

const amountOf = ({ payload }: { readonly payload: unknown }): string => `amount ${(payload as Payload).amount}`;
const single = handler((event) => reject(amountOf(event)));
const batch = { size: 10, waitMs: 0 };

const reasonsAfter = async (
  rheo: Rheo,
  consumer: Partial<ConsumerOptions> & Pick<ConsumerOptions, "handler">,
): Promise<string[]> => {
  const createGroup = { maxAttempts: 1 };
  await using _app = await supervise({
    rheo,
    threads: 1,
    consumers: [{ stream: "orders", group: "g", createGroup, ...consumer }],
  });
  await caughtUp(rheo);
  return (await rheo.deadLetters("orders", "g")).map(({ reason }) => reason);
};

const ways: readonly [string, Partial<ConsumerOptions> & Pick<ConsumerOptions, "handler">][] = [
  ["in a thread, by the definition in its module", { handler: fixture("versioned.mjs"), stream: orders }],
  ["in batches in a thread", { handler: fixture("versioned-batch.mjs"), batch }],
  ["inline, by the definition in its module", { handler: fixture("versioned.mjs"), execution: "inline" }],
  [
    "inline, by its own definition",
    { handler: handler<Payload>((event) => reject(amountOf(event)), { stream: orders as never }) },
  ],
  ["inline, by the definition of its consumer", { handler: single, stream: orders }],
  [
    "in batches inline, by the definition of their consumer",
    { handler: batchHandler((events) => events.map((event) => reject(amountOf(event)))), stream: orders, batch },
  ],
];

describe("a handler gets the newest shape", () => {
  test.each(ways)("%s", async (_, consumer) => {
    await using rheo = await openOrders({ payloads: [1] });
    await rheo.append(orders, { payload: { amount: 2 } });
    expect(await reasonsAfter(rheo, consumer)).toEqual(["amount 1", "amount 2"]);
  });

  test("and without a definition what is stored", async () => {
    await using rheo = await openOrders({ payloads: [1] });
    expect(await reasonsAfter(rheo, { handler: single })).toEqual(["amount undefined"]);
  });
});

describe("an upcaster that fails", () => {
  test.each([
    ["in a thread", { handler: fixture("versioned.mjs") }],
    ["inline", { handler: single, stream: orders }],
  ])("fails its own event, which can be tried again: %s", async (_, consumer) => {
    await using rheo = await openOrders({ payloads: [1, "odd", 3] });
    const createGroup = { maxAttempts: 2, retry: { minMs: 0, jitter: 0 } };
    expect((await reasonsAfter(rheo, { ...consumer, createGroup })).toSorted()).toEqual([
      expect.stringMatching(/version 1.*upcaster to 2 failed: no amount/),
      "amount 1",
      "amount 3",
    ]);
    expect(await rheo.deadLetters("orders", "g")).toEqual(
      expect.arrayContaining([expect.objectContaining({ sequence: 2, attempts: 2 })]),
    );
  });
});

describe("a definition that does not reach its handler is refused before anything starts", () => {
  const other = defineStream({ name: "others" });
  const refused: readonly [string, Partial<ConsumerOptions>, RegExp][] = [
    ["in a thread whose module has none", { stream: orders, handler: fixture("actions.mjs") }, /cannot be sent to a thread/],
    [
      "in a module for another stream",
      { stream: other, handler: fixture("versioned.mjs") },
      /is for stream "orders".*for "others"/,
    ],
  ];
  test.each(refused)("%s", async (_, consumer, message) => {
    await using rheo = await openOrders();
    const wrong = { group: "g", stream: "orders", handler: single, ...consumer };
    await expect(supervise({ rheo, consumers: [wrong] })).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringMatching(message),
    });
  });
});

test("a definition is what defineStream returned", () => {
  expect(() => handler(() => undefined, { stream: "orders" as never })).toThrow(/defineStream/);
});

test("the definition gives the payload its type", () => {
  const schema = {} as StandardSchema<{ amount: string }, { amount: number }>;
  const typed = { name: "orders", partitions: 1, schema, version: null, upcasters: [] } as const;
  const made: DefinedHandler = handler(
    ({ payload }) => {
      expectTypeOf(payload).toEqualTypeOf<{ amount: number }>();
    },
    { stream: typed },
  );
  expect(made).toBeTypeOf("function");
});
