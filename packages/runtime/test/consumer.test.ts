import { pathToFileURL } from "node:url";
import { defineStream, RheoError } from "@rheo/core";
import { defineConfig, defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { describe, expect, test } from "vitest";
import { openOrders } from "./store.ts";

const options = { stream: "orders", group: "g", handler: handler(() => undefined) };

describe("defineConsumer", () => {
  test("fills in the defaults, and freezes", () => {
    const consumer = defineConsumer({ ...options, handler: "./risk.mjs" });
    expect(consumer).toEqual({
      stream: "orders",
      definition: null,
      group: "g",
      handler: { kind: "module", href: pathToFileURL("./risk.mjs").href },
      concurrency: 8,
      maxDemand: null,
      leaseMs: null,
      pollMs: null,
      timeoutMs: null,
      breaker: null,
      rateLimit: null,
      partitions: null,
      execution: "worker",
      batch: null,
      createGroup: null,
      createStream: null,
      consumerId: null,
    });
    expect(Object.isFrozen(consumer)).toBe(true);
  });

  test("takes its own result", () => {
    const consumer = defineConsumer(options);
    expect(defineConsumer(consumer as never)).toBe(consumer);
  });

  test("a function runs inline; a module in a thread", () => {
    expect([
      defineConsumer(options).execution,
      defineConsumer({ ...options, handler: new URL("file:///x.mjs") }).execution,
    ]).toEqual(["inline", "worker"]);
  });

  test("a stream may be given by its definition", () => {
    expect(defineConsumer({ ...options, stream: defineStream({ name: "typed" }) }).stream).toBe("typed");
  });

  test("partitions are sorted, each once", () => {
    expect(defineConsumer({ ...options, partitions: [3, 1, 3] }).partitions).toEqual([1, 3]);
  });

  test("partitions may be assigned", () => {
    expect(defineConsumer({ ...options, partitions: "assigned" }).partitions).toBe("assigned");
  });

  test("fills in what a breaker and a batch leave open", () => {
    const { breaker, batch } = defineConsumer({ ...options, breaker: { failures: 5 }, batch: { size: 10, by: "key" } });
    expect([breaker, batch]).toEqual([
      { failures: 5, withinMs: null, openMs: 1_000, maxOpenMs: 60_000 },
      { size: 10, waitMs: 50, by: "key" },
    ]);
    expect(defineConsumer({ ...options, breaker: { failures: 1, openMs: 120_000 } }).breaker?.maxOpenMs).toBe(120_000);
  });

  const wrong: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ["an unknown option", { concurency: 3 }, "invalid_option"],
    ["a bare function as handler", { handler: () => undefined }, "invalid_option"],
    ["a URL that is no file", { handler: new URL("https://example.com/x.js") }, "invalid_option"],
    ["a function for a thread", { execution: "worker" }, "invalid_option"],
    ["another execution", { execution: "cloud" }, "invalid_option"],
    ["concurrency 0", { concurrency: 0 }, "invalid_option"],
    ["concurrency as text", { concurrency: "5" }, "invalid_option"],
    ["a fractional poll", { pollMs: 0.5 }, "invalid_option"],
    ["B134 a timeout that is not finite", { timeoutMs: Number.POSITIVE_INFINITY }, "invalid_option"],
    ["B134 a lease that is NaN", { leaseMs: Number.NaN }, "invalid_option"],
    ["no partitions", { partitions: [] }, "invalid_option"],
    ["a negative partition", { partitions: [-1] }, "invalid_option"],
    ["partitions by another word", { partitions: "mine" }, "invalid_option"],
    ["a breaker without failures", { breaker: {} }, "invalid_option"],
    ["a breaker that never opens", { breaker: { failures: 0 } }, "invalid_option"],
    ["an unknown breaker option", { breaker: { failures: 1, failure: 1 } }, "invalid_option"],
    ["a longest wait below the first", { breaker: { failures: 1, openMs: 10, maxOpenMs: 5 } }, "invalid_option"],
    ["a rate of nothing", { rateLimit: { events: 0, perMs: 1 } }, "invalid_option"],
    ["a rate without time", { rateLimit: { events: 1 } }, "invalid_option"],
    ["batches by another thing", { batch: { size: 1, by: "type" } }, "invalid_option"],
    ["a batch without size", { batch: {} }, "invalid_option"],
    ["an unknown batch option", { batch: { size: 1, wait: 1 } }, "invalid_option"],
    ["a bad group name", { group: "__proto__" }, "invalid_name"],
    ["a bad consumer name", { consumerId: "a b" }, "invalid_name"],
  ];
  for (const [name, change, code] of wrong) {
    test(`refuses ${name} as ${code}`, () => {
      expect(() => defineConsumer({ ...options, ...change } as never)).toThrow(expect.objectContaining({ code }));
    });
  }
});

describe("supervise refuses", () => {
  for (const [name, change] of [
    ["an unknown option", { thread: 1 }],
    ["no consumers", { consumers: [] }],
    ["no threads", { threads: 0 }],
    ["another strategy", { strategy: "some_for_some" }],
    ["an unknown restart option", { restart: { max: 1 } }],
    ["a signal that is none", { signal: {} }],
  ] as const) {
    test(`${name} as invalid_option`, async () => {
      await using rheo = await openOrders();
      const failure: unknown = await supervise({ rheo, consumers: [options], ...change } as never).catch(
        (cause: unknown) => cause,
      );
      expect(RheoError.is(failure, "invalid_option")).toBe(true);
    });
  }
});

test("handler() refuses what is no function", () => {
  expect(() => handler(5 as never)).toThrow(TypeError);
  expect(() => handler(() => undefined, { setup: 5 as never })).toThrow(TypeError);
});

test("a config is checked where it is defined: names, and values of what is run and how", () => {
  const refused = (more: object): string => {
    try {
      defineConfig({ consumers: [options], ...more });
    } catch (error) {
      if (RheoError.is(error, "invalid_option")) return error.message;
      throw error;
    }
    return "taken";
  };
  expect(refused({ threads: 2, restart: { minMs: 5 } })).toBe("taken");
  expect(refused({ thread: 2 })).toMatch(/^The config: unknown option "thread"\. Known: store, observe, consumers, /);
  expect(refused({ threads: 0 })).toMatch(/^threads is a whole number from 1 to 256; got 0\./);
  expect(refused({ restart: { wait: 5 } })).toMatch(/^restart: unknown option "wait"/);
});
