import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { RheoError } from "@rheo/core";
import { type ConsumerOptions, supervise } from "@rheo/runtime";
import { describe, expect, test } from "vitest";
import { actions, caughtUp, fixture, openOrders, record, until } from "./store.ts";

const group = { retry: { minMs: 0, maxMs: 0, jitter: 0 } } as const;
const consumer: ConsumerOptions = { stream: "orders", group: "g", createGroup: group, handler: fixture("actions.mjs") };

describe("handlers in worker threads", () => {
  test("see each event once", async () => {
    await using rheo = await openOrders({ payloads: actions(...new Array<string>(2_000).fill("ack")) });
    const settled = record(rheo, "lease.settled");
    await using app = await supervise({ rheo, threads: 2, consumers: [consumer] });
    await caughtUp(rheo);
    expect(settled.reduce((sum, { acked }) => sum + acked, 0)).toBe(2_000);
    expect(app.children().map(({ id, kind, state }) => [id, kind, state])).toEqual([
      ["pool", "pool", "running"],
      ["orders/g", "group", "running"],
    ]);
  });

  test("are given the names of their lease, by which it can be settled from anywhere", async () => {
    await using rheo = await openOrders({ payloads: actions("ack", "tellLease") });
    await using _app = await supervise({ rheo, threads: 1, consumers: [consumer] });
    await caughtUp(rheo);
    const [letter] = await rheo.deadLetters("orders", "g");
    expect(JSON.parse(letter?.reason ?? "{}")).toMatchObject({
      stream: "orders",
      group: "g",
      partition: 0,
      sequence: 2,
      attempt: 1,
    });
    expect(JSON.parse(letter?.reason ?? "{}").token).toBeGreaterThan(0);
  });

  for (const [how, action] of [
    ["process.exit(0)", { do: "exit", code: 0 }],
    ["process.exit(1)", { do: "exit", code: 1 }],
    ["running out of memory", { do: "oom" }],
  ] as const) {
    test(`B128 B132 ${how} costs an attempt each time, then is a dead letter that says so; its neighbours are not charged`, async () => {
      await using rheo = await openOrders({ payloads: actions("ack", "ack", action, "ack", "ack") });
      const [died, failed] = [record(rheo, "thread.died"), record(rheo, "handler.failed")];
      await using app = await supervise({
        rheo,
        threads: 2,
        resourceLimits: { maxOldGenerationSizeMb: 32 },
        consumers: [{ ...consumer, createGroup: { ...group, maxAttempts: 3 } }],
      });
      await caughtUp(rheo);
      const letters = await rheo.deadLetters("orders", "g");
      expect(letters.map(({ sequence, attempts }) => [sequence, attempts])).toEqual([[3, 3]]);
      expect(letters[0]?.reason).toMatch(/^The thread died while it handled this event: /);
      expect(failed.map(({ sequence, attempt }) => [sequence, attempt])).toEqual([
        [3, 1],
        [3, 2],
        [3, 3],
      ]);
      expect(died.map(({ charged }) => charged)).toEqual([1, 1, 1]);
      await until("the pool has its size again", () => app.children()[0]?.details.alive === 2);
      expect(app.children()[1]).toMatchObject({ restarts: 0, state: "running" });
    });
  }

  for (const action of ["throwInTimer", "floating"]) {
    test(`B59 ${action}: only the thread ends, and the event is tried again`, async () => {
      await using rheo = await openOrders({ payloads: actions("ack", action, "ack") });
      const failed = record(rheo, "handler.failed");
      await using app = await supervise({ rheo, threads: 2, consumers: [{ ...consumer, concurrency: 2 }] });
      await caughtUp(rheo);
      expect(failed.map(({ sequence, attempt }) => [sequence, attempt])).toEqual([[2, 1]]);
      expect(app.children()[1]).toMatchObject({ restarts: 0, state: "running" });
    });
  }

  test("what ran beside a crasher on its thread is not charged: each goes out again alone", async () => {
    await using rheo = await openOrders({
      payloads: actions({ do: "wait", ms: 200 }, { do: "wait", ms: 200 }, "throwInTimer", { do: "wait", ms: 200 }),
    });
    const [failed, died] = [record(rheo, "handler.failed"), record(rheo, "thread.died")];
    await using _app = await supervise({ rheo, threads: 1, consumers: [{ ...consumer, concurrency: 4 }] });
    await caughtUp(rheo);
    expect(failed.map(({ sequence, attempt }) => [sequence, attempt])).toEqual([[3, 1]]);
    expect(died.map(({ charged }) => charged)).toEqual([0, 1]);
  });

  test("a crash is redelivered at once, as attempt 2", async () => {
    await using rheo = await openOrders({ payloads: actions("exitOnce") });
    const granted = record(rheo, "lease.granted");
    const died = record(rheo, "thread.died");
    await using _app = await supervise({ rheo, threads: 2, consumers: [{ ...consumer, createGroup: {} }] }); // default delays: 1 s and more
    await caughtUp(rheo);
    const [first, second] = granted;
    console.log(`thread death to redelivery: ${(second?.atMs ?? 0) - (died[0]?.atMs ?? 0)} ms`);
    expect([first?.redelivered, second?.redelivered]).toEqual([0, 1]);
    expect(await rheo.deadLetters("orders", "g")).toEqual([]);
  });

  test("an endless loop is ended by the timeout; only it is charged", async () => {
    await using rheo = await openOrders({ payloads: actions("ack", "spinForever", "ack", "ack") });
    const [failed, timedOut] = [record(rheo, "handler.failed"), record(rheo, "handler.timed_out")];
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [{ ...consumer, createGroup: { ...group, maxAttempts: 2 }, timeoutMs: 50 }],
    });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ sequence, reason }) => [sequence, reason])).toEqual([
      [2, "timed out after 50 ms"],
    ]);
    expect(failed.map(({ sequence, attempt }) => [sequence, attempt])).toEqual([
      [2, 1],
      [2, 2],
    ]);
    expect(timedOut.length).toBe(2);
  });

  test("what only waited while another handler blocked its thread is not charged with the timeout", async () => {
    await using rheo = await openOrders({ payloads: actions({ do: "wait", ms: 20 }, "spinForever", { do: "wait", ms: 20 }) });
    const failed = record(rheo, "handler.failed");
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [{ ...consumer, createGroup: { ...group, maxAttempts: 1 }, concurrency: 3, timeoutMs: 100 }],
    });
    await caughtUp(rheo);
    expect(failed.map(({ sequence, reason }) => [sequence, reason])).toEqual([[2, "timed out after 100 ms"]]);
  });

  test("a handler that heeds its signal times out without costing a thread", async () => {
    await using rheo = await openOrders({ payloads: actions("waitForSignal", "ack") });
    const died = record(rheo, "thread.died");
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [{ ...consumer, createGroup: { maxAttempts: 1 }, timeoutMs: 50 }],
    });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ reason }) => reason)).toEqual(["timed out after 50 ms"]);
    expect(died).toEqual([]);
  });

  test("B49 a handler that never ends is ended with its thread; those beside it are not charged", async () => {
    await using rheo = await openOrders({ payloads: actions("never", { do: "wait", ms: 10 }, "ack", "ack") });
    const failed = record(rheo, "handler.failed");
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [{ ...consumer, createGroup: { ...group, maxAttempts: 1 }, concurrency: 2, timeoutMs: 100 }],
    });
    await caughtUp(rheo);
    expect(failed.map(({ sequence, reason }) => [sequence, reason])).toEqual([[1, "timed out after 100 ms"]]);
  });

  test("extend gives a handler in a thread more time", async () => {
    await using rheo = await openOrders({ payloads: actions({ do: "extend", ms: 400 }) });
    const timedOut = record(rheo, "handler.timed_out");
    await using _app = await supervise({ rheo, threads: 1, consumers: [{ ...consumer, timeoutMs: 150 }] });
    await caughtUp(rheo);
    expect(timedOut).toEqual([]);
  });

  test("B21 the lease is kept while a thread spins for ten lease lengths", async () => {
    await using rheo = await openOrders({ payloads: actions({ do: "spin", ms: 3_000 }) });
    const [granted, lost] = [record(rheo, "lease.granted"), record(rheo, "lease.lost")];
    await using _app = await supervise({ rheo, threads: 1, consumers: [{ ...consumer, leaseMs: 300 }] });
    await caughtUp(rheo);
    expect([granted.reduce((sum, { count }) => sum + count, 0), lost]).toEqual([1, []]);
  });

  test("B56 B131 whatever is thrown or returned: a bounded reason, or an ack, and the pool lives", async () => {
    await using rheo = await openOrders({
      payloads: actions("throw", "throwProxy", "long", "uncloneable", "retry", "reject", "nothing", "setupValue"),
    });
    const died = record(rheo, "thread.died");
    await using _app = await supervise({
      rheo,
      threads: 1,
      consumers: [{ ...consumer, createGroup: { ...group, maxAttempts: 2 } }],
    });
    await caughtUp(rheo);
    const letters = await rheo.deadLetters("orders", "g");
    expect(letters.map(({ sequence, attempts }) => `${sequence}: ${attempts}`).toSorted()).toEqual([
      "1: 2",
      "2: 2",
      "3: 2",
      "5: 2",
      "6: 1",
      "8: 1",
    ]);
    const reasons = new Map(letters.map(({ sequence, reason }) => [sequence, reason]));
    expect([reasons.get(1), reasons.get(5), reasons.get(6), reasons.get(8)]).toEqual([
      "thrown on purpose",
      "not yet",
      "never",
      "value 1",
    ]);
    expect(reasons.get(3)?.length).toBe(4_096);
    expect(died).toEqual([]);
  });

  test("a TypeScript handler runs", async () => {
    await using rheo = await openOrders({ payloads: [{ price: 3 }] });
    await using _app = await supervise({ rheo, threads: 1, consumers: [{ ...consumer, handler: fixture("typed.handler.ts") }] });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ reason }) => reason)).toEqual(["typed 3 1"]);
  });

  test("the same module runs inline", async () => {
    await using rheo = await openOrders({ payloads: actions("ack", "reject") });
    await using _app = await supervise({ rheo, consumers: [{ ...consumer, execution: "inline" }] });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ sequence }) => sequence)).toEqual([2]);
  });

  test("batches go to a thread whole; a crash in one is found by running each alone", async () => {
    await using rheo = await openOrders({ payloads: actions("ack", "retry", "ack", "exit", "ack", "ack") });
    const failed = record(rheo, "handler.failed");
    await using _app = await supervise({
      rheo,
      threads: 2,
      consumers: [
        {
          ...consumer,
          createGroup: { ...group, maxAttempts: 2 },
          concurrency: 1,
          handler: fixture("batch.mjs"),
          batch: { size: 3, waitMs: 5 },
        },
      ],
    });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ sequence }) => sequence)).toEqual([2, 4]);
    expect(new Set(failed.map(({ sequence }) => sequence))).toEqual(new Set([2, 4]));
  });

  test("groups take turns on a single thread", async () => {
    await using rheo = await openOrders({ payloads: actions(...new Array<string>(300).fill("ack")) });
    await using _app = await supervise({ rheo, threads: 1, consumers: [consumer, { ...consumer, group: "h" }] });
    await caughtUp(rheo, "g");
    await caughtUp(rheo, "h");
  });
});

describe("a handler module", () => {
  for (const [name, message] of [
    ["broken.mjs", /cannot be loaded: this module cannot be loaded/],
    ["missing.mjs", /cannot be loaded: /],
    ["exits.mjs", /ended its thread while loading: (it|worker) exited with code:? 3/],
    ["empty.mjs", /has no default export made by handler/],
  ] as const) {
    test(`${name} fails the start clearly`, async () => {
      await using rheo = await openOrders();
      const failure: unknown = await supervise({ rheo, threads: 2, consumers: [{ ...consumer, handler: fixture(name) }] }).catch(
        (cause: unknown) => cause,
      );
      expect(RheoError.is(failure, "invalid_option")).toBe(true);
      expect(failure).toMatchObject({ message: expect.stringMatching(message) });
    });
  }

  test("B45 B46 a setup that always fails is tried again with back-off, then given up visibly; the sibling goes on", async () => {
    await using rheo = await openOrders({ payloads: actions("ack") });
    const [escalated, restarting] = [record(rheo, "supervisor.escalated"), record(rheo, "child.restarting")];
    await using app = await supervise({
      rheo,
      threads: 1,
      restart: { minMs: 1 },
      consumers: [{ ...consumer, group: "bad", handler: fixture("bad-setup.mjs") }, consumer],
    });
    expect((await app.failure).message).toContain("no database");
    await caughtUp(rheo);
    expect([escalated.length, restarting.length, app.state]).toEqual([1, 3, "failed"]);
    expect(app.children().map(({ id, state }) => [id, state])).toEqual([
      ["pool", "running"],
      ["orders/bad", "failed"],
      ["orders/g", "running"],
    ]);
    expect((await rheo.leases("orders", "bad")).length).toBe(0);
  });

  test("teardown runs in every thread that was set up, at the stop", async () => {
    const file = join(await mkdtemp(join(tmpdir(), "rheo-")), "teardowns");
    process.env.RHEO_TEST_TEARDOWN = file;
    await using rheo = await openOrders({ payloads: actions(...new Array<string>(50).fill("ack")) });
    const app = await supervise({ rheo, threads: 1, consumers: [consumer] });
    await caughtUp(rheo);
    await app.stop();
    delete process.env.RHEO_TEST_TEARDOWN;
    expect(await readFile(file, "utf8")).toBe("teardown\n");
  });
});

test("B77 a process ends by itself after the stop", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [fixture("runs-and-stops.mjs").pathname], { timeout: 20_000 });
  expect(stdout).toBe("stopped\n");
});

test("a slice that turns out slow is shared with threads that are free", async () => {
  await using rheo = await openOrders({ payloads: actions(...new Array<string>(3_000).fill("ack")) });
  await using _app = await supervise({ rheo, threads: 2, consumers: [{ ...consumer, concurrency: 2 }] });
  await caughtUp(rheo);
  const slow = Array.from({ length: 10 }, () => ({ do: "tellThread", ms: 60 }));
  const quick = new Array<string>(10).fill("ack");
  await rheo.appendMany(
    "orders",
    actions(...slow, ...quick).map((payload) => ({ payload })),
  );
  await caughtUp(rheo);
  const threads = new Set((await rheo.deadLetters("orders", "g")).map(({ reason }) => reason));
  expect(threads.size).toBe(2);
});
