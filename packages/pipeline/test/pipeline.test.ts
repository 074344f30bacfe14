import { ack, FrozenClock, reject, release, retry } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type Message, type PipelineOptions, pipeline, type RunningPipeline } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import {
  fill,
  gate,
  lagOf,
  type Meddling,
  meddled,
  numbers,
  openOrders,
  pass,
  record,
  sequencesOf,
  skip,
  tended,
  turns,
  until,
  WatchedClock,
} from "./fixtures/store.ts";

type Options = PipelineOptions<unknown, unknown>;

/** A pipeline over the group "g" of "orders". */
const run = (
  rheo: Options["rheo"],
  handle: Options["processors"]["handle"],
  more: Partial<Options> & { concurrency?: number } = {},
): RunningPipeline => {
  const { concurrency, ...rest } = more;
  const processors = { handle, ...(concurrency === undefined ? {} : { concurrency }) };
  return tended(rheo, pipeline({ rheo, stream: "orders", group: "g", processors, ...rest }));
};

describe("a processor", () => {
  test("sees each message once, with its event and lease, and acks by returning nothing", async () => {
    await using rheo = await openOrders({ payloads: numbers(500) });
    const seen: unknown[] = [];
    await using running = run(rheo, (message) => {
      const { data, event, attempt, sequence, partition, stream, group, token, key } = message;
      seen.push([data, event.payload, attempt, sequence, partition, stream, group, token > 0, key]);
    });
    await rheo.whenCaughtUp("orders", "g");
    expect(seen).toEqual(numbers(500).map((n) => [n, n, 1, n + 1, 0, "orders", "g", true, null]));
    expect(running.stats()).toEqual({
      state: "running",
      held: 0,
      queued: 0,
      processing: 0,
      batchers: {},
      acked: 500,
      retrying: 0,
      dead: 0,
      released: 0,
      stale: 0,
      lost: 0,
    });
  });

  test("runs at most `concurrency` at once; `maxDemand` bounds what is leased: two knobs", async () => {
    await using rheo = await openOrders({ payloads: numbers(60) });
    let working = 0;
    const most = { working: 0, held: 0 };
    const work = async (): Promise<void> => {
      most.working = Math.max(most.working, ++working);
      most.held = Math.max(most.held, (await sequencesOf(rheo)).length);
      await turns(2);
      working -= 1;
    };
    await using _running = run(rheo, work, { concurrency: 3, maxDemand: 11 });
    await rheo.whenCaughtUp("orders", "g");
    expect(most).toEqual({ working: 3, held: 11 });
  });

  test("may be more than the demand: then that bounds it", async () => {
    await using rheo = await openOrders({ payloads: numbers(20) });
    const { promise, open } = gate();
    await using running = run(rheo, () => promise, { concurrency: 50, maxDemand: 4 });
    await until("four run", () => running.stats().processing === 4);
    await turns();
    expect(running.stats()).toMatchObject({ processing: 4, held: 4 });
    open();
    await rheo.whenCaughtUp("orders", "g");
  });

  const outcomes: readonly (readonly [string, () => unknown, object])[] = [
    ["nothing", () => undefined, { acked: 1 }],
    ["the message", (message?: unknown) => message, { acked: 1 }],
    ["ack()", () => ack(), { acked: 1 }],
    ["a promise of nothing", async () => undefined, { acked: 1 }],
    ["what is no outcome", () => ({ rows: [] }), { acked: 1 }],
    ["a number", () => 5, { acked: 1 }],
    ["retry()", () => retry("later"), { retrying: 1 }],
    ["a promise of retry()", async () => retry("later"), { retrying: 1 }],
    ["reject()", () => reject("never"), { dead: 1 }],
  ];
  test.each(outcomes)("that returns %s", async (_, handle, counts) => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: [0] });
    await using running = run(rheo, handle as never);
    await until(
      "it is settled",
      () => running.stats().held === 0 && Object.keys(counts).some((name) => Reflect.get(running.stats(), name) > 0),
    );
    expect(running.stats()).toMatchObject(counts);
  });

  test("that returns release() gives the attempt back", async () => {
    await using rheo = await openOrders({ payloads: [0] });
    const attempts: number[] = [];
    await using running = run(rheo, ({ attempt }) => (attempts.push(attempt) < 4 ? release() : ack()));
    await rheo.whenCaughtUp("orders", "g");
    expect([attempts, running.stats().released]).toEqual([[1, 1, 1, 1], 3]);
  });

  test("gives its own delay to a retry", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [0] });
    await using running = run(rheo, () => retry("busy", { delayMs: 1_234 }));
    await until("it is settled", () => running.stats().retrying === 1);
    const [holder] = await rheo.explainLag("orders", "g");
    expect(holder).toMatchObject({ state: "retrying", lastError: "busy", until: new Date(clock.now() + 1_234) });
  });

  test.each([
    ["nack", "throws", { state: "retrying", lastError: "RangeError: boom" }],
    ["nack", "rejects", { state: "retrying", lastError: "RangeError: boom" }],
    ["reject", "throws", undefined],
    ["reject", "rejects", undefined],
  ] as const)("with onFailure %s: one that %s", async (onFailure, how, holder) => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: [0] });
    const told = record(rheo, "handler.failed");
    const fail = (): never => {
      throw new RangeError("boom");
    };
    await using running = run(rheo, how === "throws" ? fail : async () => fail(), { onFailure });
    await until("it is settled", () => running.stats().retrying + running.stats().dead === 1);
    const [held] = await rheo.explainLag("orders", "g");
    const [dead] = await rheo.deadLetters("orders", "g");
    if (holder === undefined) expect(dead).toMatchObject({ reason: "RangeError: boom", stack: expect.stringContaining("boom") });
    else expect(held).toMatchObject(holder);
    expect(told).toMatchObject([
      { sequence: 1, attempt: 1, outcome: onFailure === "nack" ? "retry" : "reject", reason: "RangeError: boom" },
    ]);
  });

  const odd: readonly (readonly [string, unknown])[] = [
    ["undefined", undefined],
    ["null", null],
    ["an object without prototype", Object.create(null)],
    ["20 MB of message", new Error("x".repeat(20_000_000))],
    ["NUL and lone surrogates", new Error("a\u0000b\ud800c")],
    [
      "a proxy that throws",
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("no");
          },
          getPrototypeOf: () => {
            throw new Error("no");
          },
          ownKeys: () => {
            throw new Error("no");
          },
        },
      ),
    ],
  ];
  test.each(odd)("that throws, rejects with or returns %s has ended once, with a bounded reason", async (_, value) => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: ["throw", "reject", "return"] });
    const told = record(rheo, "handler.failed");
    await using running = run(rheo, (message) => {
      if (message.data === "throw") throw value;
      if (message.data === "reject") return Promise.reject(value);
      return value as undefined;
    });
    await until("all are settled", () => running.stats().retrying + running.stats().acked === 3);
    expect(told.every(({ reason }) => reason.length > 0 && Buffer.byteLength(reason) <= 4_096)).toBe(true);
    expect(running.stats().processing).toBe(0);
  });

  test("that returns a thenable of its own making is waited for, once", async () => {
    await using rheo = await openOrders({ payloads: numbers(3) });
    await using running = run(
      rheo,
      () =>
        ({
          // biome-ignore lint/suspicious/noThenProperty: that is what is tested
          then: (resolve: (value: unknown) => void) => {
            resolve(undefined);
            resolve(undefined);
          },
        }) as never,
    );
    await rheo.whenCaughtUp("orders", "g");
    expect(running.stats()).toMatchObject({ acked: 3, processing: 0 });
  });

  test.each(["at once", "with a promise"])(
    "does not keep the thread from others, though it ends %s and never waits",
    async (how) => {
      await using rheo = await openOrders({ payloads: numbers(2_000) });
      let others = 0;
      const other = setInterval(() => (others += 1), 1);
      await using _running = run(rheo, () => {
        const endMs = performance.now() + 0.02;
        while (performance.now() < endMs); // some work
        return how === "at once" ? undefined : Promise.resolve();
      });
      await rheo.whenCaughtUp("orders", "g");
      clearInterval(other);
      expect(others).toBeGreaterThan(2);
    },
  );

  test("is handed what is appended later, without a poll", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock() });
    const seen: unknown[] = [];
    await using _running = run(rheo, ({ data }) => void seen.push(data));
    await turns();
    await fill(rheo, ["late"]);
    await until("it is seen", () => seen.length === 1);
  });
});

describe("leases in a pipeline", () => {
  test("are renewed while they wait, run, or are in a batch", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(6), group: { leaseMs: 1_000 } });
    const { promise, open } = gate();
    const attempts: number[] = [];
    await using running = run(rheo, ({ data }) => (Number(data) < 2 ? { batcher: "b" } : promise), {
      concurrency: 2,
      batchers: {
        b: {
          size: 6,
          waitMs: 60_000,
          handle: (messages) => {
            attempts.push(...messages.map(({ attempt }) => attempt));
          },
        },
      },
    });
    await pass(clock, 10_000, 100);
    expect(running.stats()).toMatchObject({ held: 6, queued: 2, processing: 2, batchers: { b: { waiting: 2 } }, lost: 0 });
    expect((await rheo.fetch("orders", "g")).length).toBe(0);
    open();
    await until("all wait for the batch", () => attempts.length === 6);
    expect(attempts).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("that are lost abort the signal, and what comes of them is dropped", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(3), group: { leaseMs: 1_000 } });
    const { promise, open } = gate();
    const messages: Message<unknown>[] = [];
    await using running = run(
      rheo,
      async (message) => {
        if (messages.length === 3) return;
        messages.push(message);
        await promise;
      },
      { maxDemand: 3 },
    );
    await until("three run", () => running.stats().processing === 3);
    await rheo.replay("orders", "g", { fromSequence: 1 });
    await pass(clock, 400);
    expect(messages.map(({ signal }) => signal.aborted)).toEqual([false, true, true]);
    expect(running.stats()).toMatchObject({ lost: 2, acked: 2, held: 1, processing: 3 }); // the two came again, and were acked
    open();
    await until("all are acked", async () => (await lagOf(rheo)) === 0);
    expect(running.stats()).toMatchObject({ acked: 3, stale: 0, processing: 0 });
  });

  test("that may have run out are not begun before they are renewed", async () => {
    const clock = new FrozenClock();
    const meddling: Meddling = {};
    await using rheo = await openOrders({
      clock,
      backend: meddled(memory(), meddling),
      payloads: numbers(4),
      group: { leaseMs: 1_000 },
    });
    const first = gate();
    const seen: unknown[] = [];
    const handle = ({ data }: Message<unknown>): Promise<void> | undefined => (seen.push(data) === 1 ? first.promise : undefined);
    await using _running = run(rheo, handle, { concurrency: 1 });
    await until("one runs", () => seen.length === 1);
    const renewal = gate();
    meddling.renew = async (call) => {
      await renewal.promise;
      return call();
    };
    skip(clock, 950);
    first.open();
    await turns();
    expect(seen).toEqual([0]);
    renewal.open();
    await until("the others have run", () => seen.length === 4);
  });

  test("of a handler that settles for itself are not charged twice", async () => {
    await using rheo = await openOrders({ payloads: numbers(3) });
    await using running = run(rheo, async (message) => {
      await rheo.ack(message);
    });
    await rheo.whenCaughtUp("orders", "g");
    await until("nothing is held", () => running.stats().held === 0);
    expect(running.stats()).toMatchObject({ stale: 3, retrying: 0, dead: 0 });
  });
});

describe("acks", () => {
  test("go in batches, with the next fetch", async () => {
    let calls = 0;
    const count = (call: () => Promise<unknown>): Promise<unknown> => {
      calls += 1;
      return call();
    };
    await using rheo = await openOrders({ backend: meddled(memory(), { exchange: count }), payloads: numbers(10_000) });
    await using _running = run(rheo, () => undefined, { maxDemand: 1_000 });
    await rheo.whenCaughtUp("orders", "g");
    expect(calls).toBeLessThan(30);
  });

  test("wait at most 5 ms for company", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(10) });
    const { promise, open } = gate();
    await using running = run(rheo, ({ data }) => (data === 9 ? promise : undefined), { concurrency: 10, maxDemand: 100 });
    await until("one still runs", () => running.stats().processing === 1);
    await turns();
    expect([await lagOf(rheo), running.stats().held]).toEqual([10, 10]);
    clock.advance(5);
    await until("nine are settled", async () => (await lagOf(rheo)) === 1);
    open();
    await until("all are", async () => (await lagOf(rheo)) === 0);
  });
});

describe("a pipeline that cannot go on", () => {
  test.each([
    ["stream", "nothing", "g", "stream_not_found"],
    ["group", "orders", "nobody", "group_not_found"],
  ])("since its %s is not there tells its failure, and stops", async (_, stream, group, code) => {
    await using rheo = await openOrders();
    const errors: Error[] = [];
    const running = pipeline({
      rheo,
      stream,
      group,
      processors: { handle: () => undefined },
      onError: (error) => errors.push(error),
    });
    expect(await running.failure).toMatchObject({ code });
    expect([running.state, errors]).toEqual(["failed", [await running.failure]]);
    expect(await running.drain()).toBe(true);
    await running.stop();
  });

  test("without onError is a process warning", async () => {
    await using rheo = await openOrders();
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve));
    const running = pipeline({ rheo, stream: "orders", group: "nobody", processors: { handle: () => undefined } });
    expect((await warned).message).toMatch(/orders\/nobody cannot go on: Group "nobody"/);
    await running.stop();
  });

  test("since its group was deleted stops, and its handlers are told", async () => {
    const clock = new WatchedClock();
    await using rheo = await openOrders({ clock, payloads: numbers(3) });
    const { promise } = gate();
    const signals: AbortSignal[] = [];
    const running = run(
      rheo,
      ({ signal, data }) => {
        if (data === 2) return undefined;
        signals.push(signal);
        return promise;
      },
      { onError: () => undefined, batchers: { b: { size: 5, waitMs: 60_000, handle: () => undefined } } },
    );
    await until("two run, and one waits", () => signals.length === 2 && running.stats().batchers.b?.waiting === 1);
    await rheo.deleteGroup("orders", "g", { confirm: true });
    await pass(clock, 1_000);
    expect(await running.failure).toMatchObject({ code: "group_not_found" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    await until("its timers are gone", () => clock.pending === 0);
  });

  test("since the instance was closed stops quietly", async () => {
    const clock = new FrozenClock();
    const rheo = await openOrders({ clock });
    const running = run(rheo, () => undefined);
    await turns();
    await rheo.close();
    await pass(clock, 1_000);
    expect(running.state).toBe("stopped");
  });
});

describe("options of a pipeline", () => {
  const handle = (): undefined => undefined;
  const wrong: readonly (readonly [string, object])[] = [
    ["an unknown option", { demand: 5 }],
    ["no processors", { processors: undefined }],
    ["processors without a handler", { processors: {} }],
    ["an unknown option of processors", { processors: { handle, size: 5 } }],
    ["a concurrency of 0", { processors: { handle, concurrency: 0 } }],
    ["a demand of 0", { maxDemand: 0 }],
    ["batchers that are none", { batchers: [] }],
    ["no batcher", { batchers: {} }],
    ["a batcher without a handler", { batchers: { b: { size: 1 } } }],
    ["an unknown option of a batcher", { batchers: { b: { handle, key: "x" } } }],
    ["a batch larger than the demand", { maxDemand: 10, batchers: { b: { handle, size: 11 } } }],
    ["a wait above a minute", { batchers: { b: { handle, waitMs: 60_001 } } }],
    ["a `by` that is no function", { batchers: { b: { handle, by: "key" } } }],
    ["a rate of 0", { rateLimit: { events: 0, perMs: 1_000 } }],
    ["half a rate", { rateLimit: { events: 5 } }],
    ["a partitionBy that is no function", { partitionBy: "key" }],
    ["an unknown onFailure", { onFailure: "retry" }],
  ];
  test.each(wrong)("refuse %s", async (_, given) => {
    await using rheo = await openOrders();
    expect(() => pipeline({ rheo, stream: "orders", group: "g", processors: { handle }, ...given })).toThrow(
      expect.objectContaining({ code: "invalid_option" }),
    );
  });

  test("refuse what is no open Rheo", () => {
    expect(() => pipeline({ rheo: {} as never, stream: "orders", group: "g", processors: { handle } })).toThrow(TypeError);
  });

  test("make room for two of the largest batch", async () => {
    await using rheo = await openOrders({ payloads: numbers(5_000) });
    const { promise, open } = gate();
    await using running = run(rheo, () => undefined, { batchers: { b: { size: 2_000, handle: () => promise } } });
    await until("a batch runs", () => running.stats().batchers.b?.running === 1);
    await until("another fills", () => running.stats().held === 4_000);
    open();
  });
});
