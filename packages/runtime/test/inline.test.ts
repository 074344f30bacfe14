import { FrozenClock, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { supervise } from "@rheo/runtime";
import { ack, batchHandler, handler, reject, retry } from "@rheo/runtime/handler";
import { describe, expect, test, vi } from "vitest";
import { caughtUp, type Fault, faulty, openOrders, record, stopFrozen, turns, until } from "./store.ts";

const consumer = { stream: "orders", group: "g", createGroup: {} } as const;
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe("inline handlers", () => {
  test("see each event once, with its context, and ack by returning nothing", async () => {
    await using rheo = await openOrders({ payloads: numbers(500) });
    const seen: unknown[] = [];
    await using app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          handler: handler(
            (event, context) =>
              void seen.push([
                event.payload,
                context.attempt,
                context.sequence,
                context.partition,
                context.deadline,
                context.token > 0,
              ]),
          ),
        },
      ],
    });
    await caughtUp(rheo);
    expect(seen).toEqual(numbers(500).map((n) => [n, 1, n + 1, 0, null, true]));
    expect(app.children()[0]).toMatchObject({
      id: "orders/g",
      kind: "group",
      state: "running",
      restarts: 0,
      lastError: null,
      details: { inflight: 0 },
    });
  });

  test("may settle their own lease, as in a transaction of theirs; it is settled once (T8 F4)", async () => {
    await using rheo = await openOrders({ payloads: numbers(3) });
    const [settled, failed] = [record(rheo, "lease.settled"), record(rheo, "handler.failed")];
    const own = handler((_event, { lease }) => rheo.ack(lease));
    await using app = await supervise({ rheo, consumers: [{ ...consumer, handler: own }] });
    await caughtUp(rheo);
    await app.stop();
    expect(settled.reduce((sum, { acked }) => sum + acked, 0)).toBe(3);
    expect(failed).toEqual([]);
  });

  test("run at most `concurrency` at once", async () => {
    await using rheo = await openOrders({ payloads: numbers(50) });
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await turns(2);
      running -= 1;
    };
    await using _app = await supervise({ rheo, consumers: [{ ...consumer, concurrency: 3, handler: handler(work) }] });
    await caughtUp(rheo);
    expect(most).toBe(3);
  });

  test("B127 hold no more leases than maxDemand", async () => {
    await using rheo = await openOrders({ payloads: numbers(50) });
    const gate = openGate();
    await using _app = await supervise({
      rheo,
      consumers: [{ ...consumer, concurrency: 3, maxDemand: 5, handler: handler(() => gate.promise) }],
    });
    await until("five are held", async () => (await rheo.leases("orders", "g")).length >= 5);
    await turns(50);
    expect((await rheo.leases("orders", "g")).length).toBe(5);
    gate.resolve();
    await caughtUp(rheo);
  });

  test("retry and reject with their reasons", async () => {
    await using rheo = await openOrders({ payloads: ["retry", "reject"] });
    const work = handler((event, { attempt }) =>
      event.payload === "reject" ? reject("never") : attempt < 3 ? retry("later", { delayMs: 0 }) : ack(),
    );
    const failed = record(rheo, "handler.failed");
    await using _app = await supervise({ rheo, consumers: [{ ...consumer, handler: work }] });
    await caughtUp(rheo);
    expect((await rheo.deadLetters("orders", "g")).map(({ reason, attempts }) => [reason, attempts])).toEqual([["never", 1]]);
    expect(failed.map(({ outcome, attempt }) => `${outcome} ${attempt}`).toSorted()).toEqual(["reject 1", "retry 1", "retry 2"]);
  });

  const thrown: readonly (readonly [string, unknown])[] = [
    ["undefined", undefined],
    ["null", null],
    ["a string", "x"],
    ["an empty object", {}],
    ["an object without prototype", Object.create(null)],
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
        },
      ),
    ],
    ["a circular error", Object.assign(new Error("circular"), { self: null as unknown, call: () => undefined })],
    [
      "an aggregate of 10,000",
      new AggregateError(
        numbers(10_000).map((n) => new Error(String(n))),
        "many",
      ),
    ],
    ["20 MB of message", new Error("x".repeat(20_000_000))],
    ["NUL and lone surrogates", new Error("a\u0000b\ud800c")],
    ["a BigInt", 1n],
  ];
  for (const [name, value] of thrown) {
    for (const how of ["throws", "rejects with"] as const) {
      test(`B55 B56 a handler that ${how} ${name} has failed once, with a bounded reason`, async () => {
        await using rheo = await openOrders({ payloads: [1] });
        const work =
          how === "throws"
            ? () => {
                throw value;
              }
            : () => Promise.reject(value);
        await using _app = await supervise({
          rheo,
          consumers: [{ ...consumer, createGroup: { maxAttempts: 1 }, handler: handler(work) }],
        });
        await caughtUp(rheo);
        const [letter] = await rheo.deadLetters("orders", "g");
        expect(letter?.attempts).toBe(1);
        expect(Buffer.byteLength(letter?.reason ?? "")).toBeGreaterThan(0);
        expect(Buffer.byteLength(letter?.reason ?? "")).toBeLessThanOrEqual(4_096);
      });
    }
  }

  const circular: { self?: unknown } = {};
  circular.self = circular;
  const ignored: readonly (readonly [string, unknown])[] = [
    ["a circular value", circular],
    ["a function", () => undefined],
    ["a BigInt", 5n],
    [
      "a proxy that throws",
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("no");
          },
        },
      ),
    ],
    ["a class instance", new Map()],
  ];
  for (const [name, value] of ignored) {
    test(`B56 ${name} returned is an ack`, async () => {
      await using rheo = await openOrders({ payloads: [1, 2] });
      await using _app = await supervise({
        rheo,
        consumers: [
          {
            ...consumer,
            handler: handler((event) => (event.payload === 1 || name.startsWith("a proxy") ? value : Promise.resolve(value))),
          },
        ],
      });
      await caughtUp(rheo);
      expect(await rheo.deadLetters("orders", "g")).toEqual([]);
    });
  }

  test("setup runs once before the first event, teardown at the stop", async () => {
    await using rheo = await openOrders({ payloads: [1, 2] });
    const log: string[] = [];
    const work = handler((event, { value }: { value: string }) => void log.push(`${value} ${JSON.stringify(event.payload)}`), {
      setup: async () => (log.push("setup") > 0 ? "ready" : ""),
      teardown: (value) => log.push(`teardown ${value}`),
    });
    const app = await supervise({ rheo, consumers: [{ ...consumer, handler: work }] });
    await caughtUp(rheo);
    await app.stop();
    expect(log).toEqual(["setup", "ready 1", "ready 2", "teardown ready"]);
  });

  test("T3 a failure waits by the policy of its group, or as long as its outcome says", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: ["policy", "own"] });
    const starts: Record<string, number[]> = { policy: [], own: [] };
    const work = handler((event) => {
      starts[String(event.payload as string)]?.push(clock.monotonic());
      return retry("no", event.payload === "own" ? { delayMs: 500 } : {});
    });
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          createGroup: { maxAttempts: 4, retry: { minMs: 1_000, maxMs: 3_000, factor: 2, jitter: 0 } },
          pollMs: 10,
          handler: work,
        },
      ],
    });
    for (let step = 0; step < 1_000; step++) {
      clock.advance(10);
      await turns(2);
    }
    const delays = (times: readonly number[] = []): number[] =>
      times.slice(1).map((atMs, index) => Math.floor((atMs - (times[index] ?? 0)) / 500) * 500);
    expect([delays(starts.policy), delays(starts.own)]).toEqual([
      [1_000, 2_000, 3_000],
      [500, 500, 500],
    ]);
    await stopFrozen(app, clock);
  });

  test("a batch handler gets up to `size` events and answers for each, or for all", async () => {
    await using rheo = await openOrders({ payloads: numbers(7) });
    const sizes: number[] = [];
    const work = batchHandler((events, { deliveries }) => {
      sizes.push(events.length);
      return events.map((event, at) => (event.payload === 2 && deliveries[at]?.attempt === 1 ? reject("two") : ack()));
    });
    await using _app = await supervise({
      rheo,
      consumers: [{ ...consumer, concurrency: 1, batch: { size: 3, waitMs: 1 }, handler: work }],
    });
    await caughtUp(rheo);
    expect(sizes).toEqual([3, 3, 1]);
    expect((await rheo.deadLetters("orders", "g")).map(({ sequence }) => sequence)).toEqual([3]);
  });
});

describe("time", () => {
  test("an idle group polls by the clock, and a wake-up ends the wait", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock });
    const seen: unknown[] = [];
    await using _app = await supervise({
      rheo,
      consumers: [{ ...consumer, handler: handler((event) => void seen.push(event.payload)) }],
    });
    await turns();
    await rheo.append("orders", { payload: "woken" });
    await turns();
    expect(seen).toEqual(["woken"]);
  });

  test("the options of a group are read again after somebody told of its stream, and not while nobody does", async () => {
    const clock = new FrozenClock();
    const backend = memory();
    const reading = vi.spyOn(backend, "getGroup");
    await using rheo = await openOrders({ clock, backend });
    const own = { maxAttempts: 2, retry: { minMs: 0, maxMs: 0, factor: 1, jitter: 0 } };
    const app = await supervise({
      rheo,
      consumers: [{ ...consumer, createGroup: own, handler: handler(() => retry(null)) }],
    });
    const pass = async (minutes: number): Promise<number> => {
      const before = reading.mock.calls.length;
      for (let second = 0; second < minutes * 60; second++) {
        clock.advance(1_000);
        await turns(3);
      }
      return reading.mock.calls.length - before;
    };
    await pass(1);
    expect(await pass(60)).toBe(0);
    // by another instance, of which this one remembers nothing
    await backend.updateGroup("orders", "g", {
      options: { ...(await backend.getGroup("orders", "g")).options, retry: { ...own.retry, minMs: 600_000, maxMs: 600_000 } },
    });
    expect(await pass(1)).toBeGreaterThan(0);
    expect(await pass(60)).toBe(0);
    await rheo.append("orders", { payload: 1 });
    await turns();
    expect((await rheo.groupInfo("orders", "g")).retrying).toBe(1);
    await stopFrozen(app, clock);
  });

  test("B21 leases are renewed while a handler waits, however long", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1] });
    const gate = openGate();
    const attempts: number[] = [];
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          leaseMs: 1_000,
          handler: handler(async (_, { attempt }) => {
            attempts.push(attempt);
            await gate.promise;
          }),
        },
      ],
    });
    for (let step = 0; step < 100; step++) {
      clock.advance(100);
      await turns(3);
    }
    gate.resolve();
    await turns();
    expect(attempts).toEqual([1]);
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    await stopFrozen(app, clock);
  });

  test("B33 a handler that always overruns its time has exactly its attempts, then a dead letter that says so", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1] });
    const attempts: number[] = [];
    const work = handler((_, { attempt, signal }) => {
      attempts.push(attempt);
      return new Promise((_resolve, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
    });
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          createGroup: { maxAttempts: 3, leaseMs: 1_000, retry: { minMs: 0, maxMs: 0 } },
          timeoutMs: 1_000,
          handler: work,
        },
      ],
    });
    const stale = record(rheo, "lease.stale");
    for (let step = 0; step < 60; step++) {
      clock.advance(100);
      await turns(5);
    }
    const [letter] = await rheo.deadLetters("orders", "g");
    expect([attempts, letter?.attempts, letter?.reason, stale]).toEqual([[1, 2, 3], 3, "timed out after 1000 ms", []]);
    await stopFrozen(app, clock);
  });

  test("B49 handlers that never end give their slots back, and die by their attempts", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: ["hang", "hang", 1, 2, 3, 4, 5] });
    const seen: unknown[] = [];
    const work = handler((event) => (event.payload === "hang" ? new Promise(() => undefined) : void seen.push(event.payload)));
    const timedOut = record(rheo, "handler.timed_out");
    const app = await supervise({
      rheo,
      logger: silent,
      consumers: [
        {
          ...consumer,
          concurrency: 2,
          createGroup: { maxAttempts: 2, retry: { minMs: 0, maxMs: 0 } },
          timeoutMs: 200,
          handler: work,
        },
      ],
    });
    for (let step = 0; step < 60; step++) {
      clock.advance(50);
      await turns(5);
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect((await rheo.deadLetters("orders", "g")).map(({ reason }) => reason)).toEqual([
      "timed out after 200 ms",
      "timed out after 200 ms",
    ]);
    expect(timedOut.length).toBe(4);
    expect(app.children()[0]?.details).toMatchObject({ abandoned: 4, inflight: 0 });
    await stopFrozen(app, clock);
  });

  test("an ack after the timeout, within the grace, still counts", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1] });
    const gate = openGate();
    const app = await supervise({ rheo, consumers: [{ ...consumer, timeoutMs: 200, handler: handler(() => gate.promise) }] });
    await turns();
    clock.advance(300);
    gate.resolve();
    await turns();
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    await stopFrozen(app, clock);
  });

  test("extend moves the deadline", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1] });
    const gate = openGate();
    const timedOut = record(rheo, "handler.timed_out");
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          timeoutMs: 200,
          handler: handler(async (_, context) => {
            context.extend(5_000);
            await gate.promise;
          }),
        },
      ],
    });
    await turns();
    clock.advance(4_000);
    await turns();
    expect(timedOut).toEqual([]);
    gate.resolve();
    await stopFrozen(app, clock);
  });
});

describe("leases", () => {
  test("a lost lease aborts the handler's signal, and its outcome is dropped", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1] });
    const gate = openGate();
    const signals: AbortSignal[] = [];
    const lost = record(rheo, "lease.lost");
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          leaseMs: 3_000,
          handler: handler(async (_, { signal }) => {
            signals.push(signal);
            if (signals.length === 1) await gate.promise;
          }),
        },
      ],
    });
    await turns();
    await rheo.resetGroup("orders", "g", { confirm: true });
    clock.advance(1_100);
    await turns();
    expect([signals[0]?.aborted, lost.map(({ why, sequence }) => [why, sequence])]).toEqual([true, [["reset", 1]]]);
    gate.resolve();
    await turns();
    clock.advance(300);
    await turns();
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    expect(app.children()[0]?.details).toMatchObject({ inflight: 0, running: 0 });
    await stopFrozen(app, clock);
  });

  test("B25 renewals never overlap, and a slow answer is no loss", async () => {
    const clock = new FrozenClock();
    const fault: Fault = {};
    await using rheo = await openOrders({ clock, backend: faulty(memory(), fault), payloads: [1] });
    const gate = openGate();
    const lost = record(rheo, "lease.lost");
    let inFlight = 0;
    let most = 0;
    fault.renew = async (call) => {
      most = Math.max(most, ++inFlight);
      const answer = await call();
      await new Promise<void>((resolve) => clock.schedule(500, resolve));
      inFlight -= 1;
      return answer;
    };
    const app = await supervise({ rheo, consumers: [{ ...consumer, leaseMs: 1_000, handler: handler(() => gate.promise) }] });
    for (let step = 0; step < 100; step++) {
      clock.advance(50);
      await turns(3);
    }
    expect([most, lost]).toEqual([1, []]);
    gate.resolve();
    await turns();
    await stopFrozen(app, clock);
  });

  test("B27 a renewal that hangs is given up in time for another, and nothing is lost", async () => {
    const clock = new FrozenClock();
    const fault: Fault = {};
    await using rheo = await openOrders({ clock, backend: faulty(memory(), fault), payloads: numbers(20) });
    const gate = openGate();
    const [lost, renewFailed] = [record(rheo, "lease.lost"), record(rheo, "renew.failed")];
    let calls = 0;
    fault.renew = (call) => (++calls % 5 === 1 ? new Promise(() => undefined) : call());
    const work = handler(() => gate.promise);
    const app = await supervise({ rheo, consumers: [{ ...consumer, concurrency: 20, leaseMs: 1_000, handler: work }] });
    for (let step = 0; step < 500; step++) {
      clock.advance(10);
      await turns(2);
    }
    expect([lost, renewFailed.length > 0, (await rheo.groupInfo("orders", "g")).inflight]).toEqual([[], true, 20]);
    gate.resolve();
    await turns();
    await stopFrozen(app, clock);
  });

  test("B24 what waits too long for a slot is given back uncharged, and never started on a dead lease", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(6) });
    const attempts: number[] = [];
    const work = handler(async (_, { attempt }) => {
      attempts.push(attempt);
      await new Promise<void>((resolve) => clock.schedule(900, resolve));
    });
    const [settled, stale] = [record(rheo, "lease.settled"), record(rheo, "lease.stale")];
    const app = await supervise({
      rheo,
      consumers: [{ ...consumer, concurrency: 1, maxDemand: 6, leaseMs: 1_000, handler: work }],
    });
    for (let step = 0; step < 150; step++) {
      clock.advance(50);
      await turns(4);
    }
    expect([attempts, stale]).toEqual([[1, 1, 1, 1, 1, 1], []]);
    expect(settled.reduce((sum, { released }) => sum + released, 0)).toBeGreaterThan(0);
    await stopFrozen(app, clock);
  });

  test("B43 when only renewals fail, handlers are aborted before the lease ends, and the group starts afresh and recovers", async () => {
    const clock = new FrozenClock();
    const fault: Fault = { renew: () => Promise.reject(new RheoError("unavailable", "no renewals today")) };
    await using rheo = await openOrders({ clock, backend: faulty(memory(), fault), payloads: [1] });
    const aborted: number[] = [];
    const work = handler((_, { signal, attempt }) =>
      attempt > 1 || aborted.length > 0
        ? undefined
        : new Promise((_resolve, fail) =>
            signal.addEventListener("abort", () => {
              aborted.push(clock.monotonic());
              fail(signal.reason);
            }),
          ),
    );
    const [failed, renewFailed] = [record(rheo, "child.failed"), record(rheo, "renew.failed")];
    const startedAt = clock.monotonic();
    const app = await supervise({ rheo, consumers: [{ ...consumer, leaseMs: 1_000, handler: work }] });
    for (let step = 0; step < 60; step++) {
      clock.advance(50);
      await turns(5);
    }
    expect(aborted.length).toBe(1);
    expect((aborted[0] ?? 0) - startedAt).toBeLessThan(1_000);
    expect([failed.length > 0, renewFailed.length > 0]).toEqual([true, true]);
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    await stopFrozen(app, clock);
  });

  test("B57 F7 a settlement whose answer is lost is repeated until the store has spoken, and never contradicted", async () => {
    const clock = new FrozenClock();
    const fault: Fault = {};
    await using rheo = await openOrders({ clock, backend: faulty(memory(), fault), payloads: [1, 2, 3] });
    let failures = 0;
    const calls: number[] = [];
    const settleFailed = record(rheo, "settle.failed");
    const lose = async (call: () => Promise<unknown>): Promise<unknown> => {
      if (failures >= 10) return call();
      failures += 1;
      if (failures === 1) await call(); // it did arrive
      throw new RheoError("outcome_unknown", "the connection broke");
    };
    const app = await supervise({
      rheo,
      consumers: [
        {
          ...consumer,
          handler: handler((event) => {
            calls.push(Number(event.payload));
            fault.exchange = lose;
          }),
        },
      ],
    });
    for (let step = 0; step < 400; step++) {
      clock.advance(100);
      await turns(2);
    }
    expect([calls, failures, settleFailed.length]).toEqual([[1, 2, 3], 10, 10]);
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    await stopFrozen(app, clock);
  });

  test("B136 B137 a store that is away is asked ever less often, and work goes on when it is back", async () => {
    const clock = new FrozenClock();
    const fault: Fault = {};
    await using rheo = await openOrders({ clock, backend: faulty(memory(), fault) });
    const app = await supervise({ rheo, consumers: [{ ...consumer, handler: handler(() => undefined) }] });
    await turns();
    let asked = 0;
    fault.exchange = () => {
      asked += 1;
      return Promise.reject(new RheoError("unavailable", "the store is away"));
    };
    for (let step = 0; step < 600; step++) {
      clock.advance(1_000);
      await turns(1);
    }
    expect(asked).toBeLessThan(300);
    expect(app.children()[0]).toMatchObject({ state: "running", details: { healthy: false } });
    delete fault.exchange;
    await rheo.append("orders", { payload: 1 });
    clock.advance(6_000);
    await turns();
    expect((await rheo.lag("orders", "g")).lag).toBe(0);
    await stopFrozen(app, clock);
  });

  test("B58 an event that cannot be decoded is a dead letter; the others are handled", async () => {
    const backend = memory();
    const broken = new Proxy(backend, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name !== "exchange") return (...parts: unknown[]) => Reflect.apply(value, target, parts);
        return async (...parts: unknown[]) => {
          const answer = (await Reflect.apply(value, target, parts)) as {
            grants: { events: { sequence: number; payload: string }[] }[];
          };
          const grants = answer.grants.map((grant) => ({
            ...grant,
            events: grant.events.map((event) =>
              event.sequence === 3 ? { ...event, event: undefined, payload: "{broken" } : event,
            ),
          }));
          return { ...answer, grants };
        };
      },
    });
    await using rheo = await openOrders({ backend: broken, payloads: numbers(10) });
    const seen: unknown[] = [];
    await using _app = await supervise({
      rheo,
      consumers: [{ ...consumer, handler: handler((event) => void seen.push(event.payload)) }],
    });
    await caughtUp(rheo);
    expect(seen).toEqual([0, 1, 3, 4, 5, 6, 7, 8, 9]);
    expect(
      (await rheo.deadLetters("orders", "g")).map(({ sequence, reason }) => [
        sequence,
        reason.startsWith("The stored event cannot be decoded"),
      ]),
    ).toEqual([[3, true]]);
  });
});

const openGate = (): { promise: Promise<void>; resolve: () => void } => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve() };
};

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A machine that sleeps: the wall clock goes on, monotonic time and timers do not. */
class SleepingClock extends FrozenClock {
  #sleptMs = 0;

  override now(): number {
    return super.now() + this.#sleptMs;
  }

  sleep(ms: number): void {
    this.#sleptMs += ms;
  }
}

test("a machine that slept asks for its leases first: what others took meanwhile is aborted, and not settled", async () => {
  const clock = new SleepingClock();
  await using rheo = await openOrders({ clock, payloads: [1, 2] });
  const gate = openGate();
  const aborted: number[] = [];
  const work = handler(async (_, { sequence, signal }) => {
    signal.addEventListener("abort", () => aborted.push(sequence));
    if (sequence === 2) await gate.promise;
    else await new Promise(() => undefined);
  });
  const app = await supervise({
    rheo,
    logger: silent,
    consumers: [{ ...consumer, concurrency: 2, leaseMs: 10_000, handler: work }],
  });
  await until("both run", () => app.children()[0]?.details.running === 2);
  clock.sleep(60_000);
  const [taken] = await rheo.fetch("orders", "g", { limit: 1, consumerId: "sibling" });
  const happened: string[] = [];
  rheo.events.on("lease.lost", ({ sequence, why }) => happened.push(`${sequence} lost, ${why}`));
  rheo.events.on("lease.settled", ({ acked }) => happened.push(`${acked} acked`));
  gate.resolve();
  await turns();
  clock.advance(10);
  await turns();
  expect([taken?.sequence, aborted, happened]).toEqual([1, [1], ["1 lost, reclaimed", "1 acked"]]);
  await stopFrozen(app, clock);
});
