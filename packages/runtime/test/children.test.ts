/** The tree as people look at it. */
import { supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { describe, expect, test } from "vitest";
import { actions, caughtUp, fixture, openOrders, until } from "./store.ts";

const consumer = { stream: "orders", group: "g", createGroup: {} } as const;

describe("the tree", () => {
  test("has a pool with its threads, each with its memory and how busy its event loop is", async () => {
    await using rheo = await openOrders({ payloads: actions(...new Array(40).fill({ do: "spin", ms: 100 })) });
    await using app = await supervise({ rheo, threads: 2, consumers: [{ ...consumer, handler: fixture("actions.mjs") }] });
    const pool = () => app.children()[0];
    const figures = (): Record<string, unknown>[] => pool()?.children.map(({ details }) => ({ ...details })) ?? [];
    await until("both threads have told of their memory", () => figures().every(({ heapUsedMb }) => heapUsedMb !== null));
    await until("both threads were busy for a while", () => figures().every(({ utilization }) => Number(utilization) > 0.5));
    expect(pool()).toMatchObject({ id: "pool", kind: "pool", details: { threads: 2, alive: 2, deaths: 0 } });
    for (const thread of pool()?.children ?? []) {
      expect(thread).toMatchObject({ kind: "thread", state: "running", restarts: 0, lastError: null, children: [] });
      expect(thread.id).toMatch(/^thread-\d+$/);
      expect(Number(thread.details.heapUsedMb)).toBeGreaterThan(1);
      expect(Number(thread.details.heapLimitMb)).toBeGreaterThan(Number(thread.details.heapUsedMb));
    }
  });

  test("counts the threads that died", async () => {
    await using rheo = await openOrders({ payloads: actions("exitOnce") });
    await using app = await supervise({ rheo, threads: 1, consumers: [{ ...consumer, handler: fixture("actions.mjs") }] });
    await caughtUp(rheo);
    expect(app.children()[0]?.details).toMatchObject({ deaths: 1 });
  });

  test("says of a group what it holds, its slots, and what its breaker, its rate limit and its partitions allow", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 3] });
    await using app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          consumerId: "me",
          concurrency: 2,
          breaker: { failures: 3 },
          rateLimit: { events: 10, perMs: 86_400_000 },
          partitions: "assigned",
          handler: handler(() => new Promise(() => undefined)),
        },
      ],
      stopTimeoutMs: 5,
      logger: { ...console, warn: () => undefined },
    });
    await until("two run", () => app.children()[0]?.details.running === 2);
    expect(app.children()).toEqual([
      {
        id: "orders/g",
        kind: "group",
        state: "running",
        restarts: 0,
        lastError: null,
        children: [],
        details: {
          consumerId: "me",
          inflight: 2,
          unstarted: 0,
          running: 2,
          unsettled: 0,
          unanswered: 0,
          demand: 4,
          slots: 2,
          handlers: 2,
          mailbox: 0,
          failures: 0,
          renewFailures: 0,
          healthy: true,
          abandoned: 0,
          breaker: "closed",
          breakerNextInMs: null,
          rateTokens: 8,
          partitions: [0],
          share: 1,
          members: 1,
          assignmentFailures: 0,
        },
      },
    ]);
    expect(JSON.parse(JSON.stringify(app.children()))).toEqual(app.children());
  });

  test("keeps the last error of a child that was started again", async () => {
    await using rheo = await openOrders();
    let setups = 0;
    const setup = (): void => {
      setups += 1;
      if (setups === 1) throw new Error("not yet");
    };
    await using app = await supervise({
      rheo,
      restart: { minMs: 1 },
      consumers: [{ ...consumer, handler: handler(() => undefined, { setup }) }],
    });
    await until("it runs", () => app.children()[0]?.state === "running");
    expect(app.children()[0]).toMatchObject({ restarts: 1, lastError: { message: "not yet" } });
  });
});
