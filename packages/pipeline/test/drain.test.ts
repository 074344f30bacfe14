import { FrozenClock, reject } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type PipelineOptions, pipeline, type RunningPipeline } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import {
  gate,
  lagOf,
  type Meddling,
  meddled,
  numbers,
  openOrders,
  pass,
  record,
  sequencesOf,
  tended,
  turns,
  until,
  WatchedClock,
  whilePassing,
} from "./fixtures/store.ts";

type Options = PipelineOptions<number, unknown>;

const run = (rheo: Options["rheo"], handle: Options["processors"]["handle"], more: Partial<Options> = {}): RunningPipeline =>
  tended(
    rheo,
    pipeline<number, unknown>({ rheo, stream: "orders", group: "g", processors: { concurrency: 2, handle }, ...more }),
  );

describe("drain", () => {
  test("gives back what has not begun, uncharged, and lets what has begun finish", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(10) });
    const { promise, open } = gate();
    const running = run(rheo, () => promise);
    await until("two run", () => running.stats().processing === 2);
    const drained = running.drain();
    expect(running.state).toBe("draining");
    await until("the rest went back", async () => (await sequencesOf(rheo)).length === 2);
    open();
    expect(await drained).toBe(true);
    expect([running.state, await sequencesOf(rheo), await lagOf(rheo)]).toEqual(["stopped", [], 8]);
    expect((await rheo.fetch("orders", "g")).map(({ attempt }) => attempt)).toEqual(new Array(8).fill(1));
  });

  test("hands over batches as they are", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(5) });
    const batches: unknown[] = [];
    const running = run(rheo, () => undefined, {
      batchers: {
        b: { size: 100, waitMs: 60_000, handle: (messages, { trigger }) => void batches.push([messages.length, trigger]) },
      },
    });
    await until("five wait", () => running.stats().batchers.b?.waiting === 5);
    expect(await running.drain()).toBe(true);
    expect([batches, await lagOf(rheo)]).toEqual([[[5, "drain"]], 0]);
  });

  test("waits with that for what is still in processors, so that one batch is made of all", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(2) });
    const { promise, open } = gate();
    const sizes: number[] = [];
    const running = run(rheo, ({ data }) => (data === 0 ? undefined : promise), {
      batchers: { b: { size: 100, waitMs: 60_000, handle: (messages) => void sizes.push(messages.length) } },
    });
    await until("one waits", () => running.stats().batchers.b?.waiting === 1);
    const drained = running.drain();
    await turns();
    expect(sizes).toEqual([]);
    open();
    await drained;
    expect(sizes).toEqual([2]);
  });

  test("past its time aborts what runs and gives it back uncharged; an ack then still counts", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(2), group: { maxAttempts: 3 } });
    const running = run(rheo, async ({ data, signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      if (data === 1) throw signal.reason;
    });
    await until("two run", () => running.stats().processing === 2);
    const told = record(rheo, "handler.failed");
    const drained = running.drain({ timeoutMs: 500 });
    await pass(clock, 450);
    expect(running.stats().processing).toBe(2);
    expect(await whilePassing(clock, drained)).toBe(true);
    expect([await sequencesOf(rheo), await lagOf(rheo), told]).toEqual([[], 1, []]);
    expect((await rheo.fetch("orders", "g")).map(({ sequence, attempt }) => [sequence, attempt])).toEqual([[2, 1]]);
  });

  test("past its time gives up handlers that do not heed their signal, and batches that have not begun", async () => {
    const clock = new WatchedClock();
    await using rheo = await openOrders({ clock, payloads: numbers(5) });
    const { promise, open } = gate();
    const running = run(rheo, ({ data }) => (data === 0 ? promise : undefined), {
      batchers: { b: { size: 2, waitMs: 60_000, handle: () => promise } },
    });
    await until("a processor and a batch run, and two wait", () => running.stats().batchers.b?.waiting === 2);
    expect(await whilePassing(clock, running.drain({ timeoutMs: 500 }))).toBe(true);
    expect([running.state, await sequencesOf(rheo), await lagOf(rheo), clock.pending]).toEqual(["stopped", [], 5, 0]);
    open(); // what they still do then has no effect
    await turns();
    expect(await lagOf(rheo)).toBe(5);
  });

  test("waits for a handler whose lease is lost, too", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(2), group: { leaseMs: 1_000 } });
    const { promise, open } = gate();
    let isOver = false;
    const running = run(
      rheo,
      async ({ data, signal }) => {
        if (data === 0) return;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await promise;
        isOver = true;
      },
      { maxDemand: 1 },
    );
    await until("the second runs", () => running.stats().acked === 1 && running.stats().processing === 1);
    const another = record(rheo, "lease.lost");
    running.pause();
    await rheo.replay("orders", "g", { fromSequence: 1 });
    await pass(clock, 400);
    expect(another.length).toBe(1);
    const drained = running.drain({ timeoutMs: 60_000 });
    await pass(clock, 1_000);
    expect([running.state, running.stats().held]).toEqual(["draining", 0]);
    open();
    expect([await drained, isOver]).toEqual([true, true]);
  });

  test("can be taken back while it is not complete", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(10) });
    const { promise, open } = gate();
    const told = record(rheo, "consumer.draining", "consumer.resumed");
    await using running = run(rheo, () => promise);
    await until("two run", () => running.stats().processing === 2);
    const drained = running.drain();
    running.resume();
    expect([await drained, running.state]).toEqual([false, "running"]);
    open();
    await until("all is acked", async () => (await lagOf(rheo)) === 0);
    expect(told.map(({ type }) => type)).toEqual(["consumer.draining", "consumer.resumed"]);
  });

  test("cannot be taken back after stop", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(2) });
    const { promise, open } = gate();
    const running = run(rheo, () => promise);
    await until("two run", () => running.stats().processing === 2);
    const stopped = running.stop();
    running.resume();
    expect(running.state).toBe("draining");
    open();
    await stopped;
    running.resume();
    running.pause();
    expect([running.state, await running.drain()]).toEqual(["stopped", true]);
  });

  test("may be brought forward by another, not put off", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(1) });
    const running = run(rheo, () => new Promise(() => undefined));
    await until("one runs", () => running.stats().processing === 1);
    const first = running.drain({ timeoutMs: 60_000 });
    const startMs = clock.now();
    void running.drain({ timeoutMs: 100 });
    const last = running.stop({ timeoutMs: 60_000 });
    await whilePassing(clock, Promise.all([first, last]));
    expect(clock.now() - startMs).toBeLessThan(1_000);
  });

  test("before the group is met is over at once", async () => {
    const meddling: Meddling = {};
    await using rheo = await openOrders({ clock: new FrozenClock(), backend: meddled(memory(), meddling) });
    const told = record(rheo, "consumer.started", "consumer.stopped");
    const running = run(rheo, () => undefined);
    expect(await running.drain()).toBe(true);
    expect([running.state, told]).toEqual(["stopped", []]);
  });

  test("lets go of what a fetch in flight brings", async () => {
    const meddling: Meddling = {};
    await using rheo = await openOrders({ clock: new FrozenClock(), backend: meddled(memory(), meddling), payloads: numbers(5) });
    const arrived = gate();
    meddling.exchange = async (call) => {
      const answer = await call();
      await arrived.promise;
      return answer;
    };
    let runs = 0;
    const running = run(rheo, () => {
      runs += 1;
    });
    await until("they are leased", async () => (await sequencesOf(rheo)).length === 5);
    const drained = running.drain();
    meddling.exchange = undefined;
    arrived.open();
    await drained;
    expect([runs, await sequencesOf(rheo)]).toEqual([0, []]);
  });

  test.each(["drain", "stop"] as const)("%s refuses unknown options and times that are none", async (how) => {
    await using rheo = await openOrders();
    await using running = run(rheo, () => undefined);
    await expect(running[how]({ timeout: 5 } as object)).rejects.toMatchObject({ code: "invalid_option" });
    await expect(running[how]({ timeoutMs: -1 })).rejects.toMatchObject({ code: "invalid_option" });
    expect(running.state).not.toBe("draining");
  });
});

describe("pause", () => {
  test("begins nothing, gives back what has not begun, and lets the rest go on; resume goes on", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(10) });
    const { promise, open } = gate();
    const told = record(rheo, "consumer.paused", "consumer.resumed");
    await using running = run(rheo, () => promise);
    await until("two run", () => running.stats().processing === 2);
    running.pause();
    running.pause();
    await until("the rest went back", async () => (await sequencesOf(rheo)).length === 2);
    open();
    await until("two are acked", async () => (await lagOf(rheo)) === 8);
    await rheo.append("orders", { payload: 10 });
    await turns();
    expect(running.stats()).toMatchObject({ state: "paused", held: 0, acked: 2 });
    running.resume();
    running.resume();
    await until("all is acked", async () => (await lagOf(rheo)) === 0);
    expect(told.map(({ type }) => type)).toEqual(["consumer.paused", "consumer.resumed"]);
  });

  test("lets batches be full, or their time come, as ever", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(3) });
    const triggers: string[] = [];
    await using running = run(rheo, () => undefined, {
      batchers: { b: { size: 100, waitMs: 1_000, handle: (_, { trigger }) => void triggers.push(trigger) } },
    });
    await until("three wait", () => running.stats().batchers.b?.waiting === 3);
    running.pause();
    await pass(clock, 900);
    expect(triggers).toEqual([]);
    await pass(clock, 200);
    expect([triggers, await lagOf(rheo)]).toEqual([["time"], 0]);
  });

  test("before the group is met holds", async () => {
    await using rheo = await openOrders({ payloads: numbers(3) });
    const told = record(rheo, "consumer.started", "consumer.paused");
    await using running = run(rheo, () => undefined);
    running.pause();
    await until("it has started", () => told.length === 2);
    await turns();
    expect([await sequencesOf(rheo), await lagOf(rheo)]).toEqual([[], 3]);
    running.resume();
    await rheo.whenCaughtUp("orders", "g");
  });

  test("may be called by a handler, in the middle of a burst", async () => {
    await using rheo = await openOrders({ payloads: numbers(100) });
    let runs = 0;
    await using running = run(rheo, () => {
      if (++runs === 10) running.pause();
    });
    await until("it is paused", () => running.state === "paused" && running.stats().held === 0);
    expect([runs, await lagOf(rheo)]).toEqual([10, 90]);
  });
});

describe("stop", () => {
  test("leaves no timer behind, whatever was going on", async () => {
    const clock = new WatchedClock();
    await using rheo = await openOrders({ clock, payloads: numbers(50) });
    const running = run(rheo, async ({ data }) => (data % 7 === 0 ? reject("no") : { key: String(data % 3) }), {
      maxDemand: 20,
      rateLimit: { events: 10, perMs: 1_000 },
      partitionBy: ({ data }) => String(data % 5),
      batchers: { b: { size: 4, waitMs: 10_000, handle: () => undefined } },
    });
    await until("ten have begun", () => running.stats().queued > 0);
    await turns();
    expect(clock.pending).toBeGreaterThan(2);
    await whilePassing(clock, running.stop());
    expect([clock.pending, await sequencesOf(rheo)]).toEqual([0, []]);
  });

  test("of one that failed to stop in time is idempotent", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(1) });
    const running = run(rheo, () => new Promise(() => undefined));
    await until("one runs", () => running.stats().processing === 1);
    await whilePassing(
      clock,
      Promise.all([running.stop({ timeoutMs: 0 }), running.stop({ timeoutMs: 0 }), running[Symbol.asyncDispose]()]),
    );
    expect(await sequencesOf(rheo)).toEqual([]);
  });
});
