import { RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { type ConsumerOptions, type Supervisor, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { describe, expect, test } from "vitest";
import { actions, caughtUp, type Fault, faulty, fixture, openOrders, record, turns, until } from "./store.ts";

const inline = (work: Parameters<typeof handler>[0], more: Partial<ConsumerOptions> = {}): ConsumerOptions => ({
  stream: "orders",
  group: "g",
  createGroup: {},
  ...more,
  handler: handler(work),
});
const threaded: ConsumerOptions = {
  stream: "orders",
  group: "g",
  createGroup: { retry: { minMs: 0, maxMs: 0 } },
  handler: fixture("actions.mjs"),
};

const details = (app: Supervisor, at = 0): Readonly<Record<string, unknown>> => app.children()[at]?.details ?? {};

/** A handler that runs until it is let go, or told to end. */
const waiting = (): {
  work: Parameters<typeof handler>[0];
  started: () => number;
  letGo: () => number;
  aborted: () => number;
} => {
  let started = 0;
  let aborted = 0;
  const release: (() => void)[] = [];
  return {
    work: (_, { signal }) =>
      new Promise<void>((resolve, fail) => {
        started += 1;
        release.push(resolve);
        signal.addEventListener("abort", () => {
          aborted += 1;
          fail(signal.reason);
        });
      }),
    started: () => started,
    aborted: () => aborted,
    letGo: () => {
      for (const one of release) one();
      return started;
    },
  };
};

describe("pause", () => {
  test("B36 gives back what has not begun, keeps what runs, and takes nothing new until resumed", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 3, 4, 5] });
    const handlers = waiting();
    await using app = await supervise({ rheo, consumers: [inline(handlers.work, { concurrency: 1 })] });
    await until("one runs and one waits", () => details(app).running === 1 && details(app).unstarted === 1);
    app.pause("orders/g");
    await until("the unstarted are back", async () => (await rheo.leases("orders", "g")).length === 1);
    expect(app.children()[0]?.state).toBe("paused");
    handlers.letGo();
    await until("the running one is settled", async () => (await rheo.lag("orders", "g")).lag === 4);
    await turns(50);
    expect(handlers.started()).toBe(1);
    app.resume("orders/g");
    await until("work goes on", () => handlers.letGo() === 5);
    handlers.letGo();
    await caughtUp(rheo);
  });

  test("an unknown child is invalid_option", async () => {
    await using rheo = await openOrders();
    await using app = await supervise({ rheo, consumers: [inline(() => undefined)] });
    expect(() => app.pause("nobody")).toThrow(/There is no child "nobody"; there are: orders\/g/);
  });
});

describe("drain", () => {
  test("lets handlers finish, settles, and holds nothing", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 3] });
    const handlers = waiting();
    await using app = await supervise({ rheo, consumers: [inline(handlers.work, { concurrency: 2 })] });
    await until("two run", () => handlers.started() === 2);
    const drained = app.drain();
    await turns();
    expect(app.state).toBe("draining");
    handlers.letGo();
    await drained;
    expect([app.state, (await rheo.lag("orders", "g")).lag, await rheo.leases("orders", "g"), handlers.aborted()]).toEqual([
      "drained",
      1,
      [],
      0,
    ]);
  });

  test("can be taken back until it is complete", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 3] });
    const handlers = waiting();
    await using app = await supervise({ rheo, consumers: [inline(handlers.work, { concurrency: 1 })] });
    await until("one runs", () => handlers.started() === 1);
    const drained = app.drain();
    await turns();
    app.resume();
    expect(await drained).toBe(false);
    await until("all are done", () => handlers.letGo() === 3);
    handlers.letGo();
    await caughtUp(rheo);
    expect(app.state).toBe("running");
  });

  test("B53 B79 past its time it aborts, and gives back uncharged", async () => {
    await using rheo = await openOrders({ payloads: [1, 2] });
    const attempts: number[] = [];
    for (let cycle = 0; cycle < 5; cycle++) {
      const handlers = waiting();
      const app = await supervise({
        rheo,
        consumers: [
          inline(
            (event, context) => {
              attempts.push(context.attempt);
              return handlers.work(event, context);
            },
            {
              createGroup: { maxAttempts: 3 },
              concurrency: 1,
            },
          ),
        ],
      });
      await until("one runs", () => handlers.started() === 1);
      await app.stop({ timeoutMs: 5 });
      expect(handlers.aborted()).toBe(1);
      expect(await rheo.leases("orders", "g")).toEqual([]);
    }
    expect([attempts, await rheo.deadLetters("orders", "g")]).toEqual([[1, 1, 1, 1, 1], []]);
  });

  test("B79 a handler that ignores its signal is given up; its late ack is refused", async () => {
    await using rheo = await openOrders({ payloads: [1] });
    let finish = (): void => undefined;
    const app = await supervise({
      rheo,
      logger: { ...console, warn: () => undefined },
      consumers: [
        inline(
          () =>
            new Promise<void>((resolve) => {
              finish = resolve;
            }),
        ),
      ],
    });
    await until("it runs", () => details(app).running === 1);
    await app.stop({ timeoutMs: 5 });
    expect((await rheo.groupInfo("orders", "g")).inflight).toBe(0);
    finish();
    await turns();
    expect((await rheo.lag("orders", "g")).lag).toBe(1);
  });

  test("handlers that ignore their signals together are told of in one line", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 3] });
    const warnings: string[] = [];
    const app = await supervise({
      rheo,
      logger: { ...console, warn: (text: string) => void warnings.push(text) },
      consumers: [inline(() => new Promise<void>(() => undefined))],
    });
    await until("all run", () => details(app).running === 3);
    await app.stop({ timeoutMs: 5 });
    expect(warnings).toEqual(["3 handlers of orders/g ignored the abort signal (interrupted): no longer waited for."]);
  });

  test("in threads: past its time what runs is ended and given back uncharged", async () => {
    await using rheo = await openOrders({ payloads: actions("spinForever", "never", "waitForSignal", "ack") });
    const failed = record(rheo, "handler.failed");
    const app = await supervise({ rheo, threads: 2, consumers: [{ ...threaded, concurrency: 4 }] });
    await until("some run", async () => (await rheo.leases("orders", "g")).length >= 3);
    await app.stop({ timeoutMs: 20 });
    expect([failed, await rheo.leases("orders", "g")]).toEqual([[], []]);
    expect((await rheo.groupInfo("orders", "g")).retrying).toBe(0);
  });

  test("B76 a handler that finishes during the stop may still append, and its ack is kept", async () => {
    await using rheo = await openOrders({ payloads: [1] });
    await rheo.createStream("follow-ups", { partitions: 1 });
    const handlers = waiting();
    const app = await supervise({
      rheo,
      consumers: [
        inline(async (event, context) => {
          await handlers.work(event, context);
          await rheo.append("follow-ups", { payload: 1 });
        }),
      ],
    });
    await until("it runs", () => handlers.started() === 1);
    const stopped = app.stop();
    await turns();
    handlers.letGo();
    await stopped;
    await app.stop();
    expect([(await rheo.query("follow-ups")).length, (await rheo.lag("orders", "g")).lag]).toEqual([1, 0]);
  });
});

describe("stop", () => {
  test("is idempotent, also together with a drain, in any order", async () => {
    for (const order of [
      ["drain", "stop"],
      ["stop", "drain"],
      ["stop", "stop"],
      ["pause", "stop"],
      ["pause", "drain", "stop"],
      ["drain", "resume", "stop"],
    ] as const) {
      await using rheo = await openOrders({ payloads: actions("ack", "ack", "ack") });
      const app = await supervise({ rheo, threads: 1, consumers: [threaded] });
      await Promise.all(order.map(async (what) => await app[what]()));
      expect(app.state).toBe("stopped");
      expect(await rheo.leases("orders", "g")).toEqual([]);
    }
  });

  test("B80 right after the start, 100 times, leaves nothing held", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 3] });
    for (let cycle = 0; cycle < 100; cycle++) {
      const app = await supervise({ rheo, consumers: [inline(() => new Promise((resolve) => setImmediate(resolve)))] });
      await app.stop();
      expect(await rheo.leases("orders", "g")).toEqual([]);
    }
  });

  test("B133 50 cycles with threads return to the number of threads before", async () => {
    await using rheo = await openOrders();
    const [started, before] = [record(rheo, "thread.started"), threadsNow()];
    for (let cycle = 0; cycle < 50; cycle++) {
      await rheo.append("orders", { payload: { do: "ack" } });
      const app = await supervise({ rheo, threads: 1, consumers: [threaded] });
      await caughtUp(rheo);
      await app.stop();
    }
    expect(started.length).toBe(100); // the one that tries the module out, and the one that works
    await until("all threads are gone", () => threadsNow() <= before);
  });

  test("B133 is bounded while a thread spins", async () => {
    await using rheo = await openOrders({ payloads: actions("spinForever") });
    const before = threadsNow();
    const app = await supervise({ rheo, threads: 1, consumers: [threaded] });
    await until("it spins", () => details(app, 1).running === 1);
    await app.stop({ timeoutMs: 0 });
    await until("its thread is gone", () => threadsNow() <= before);
  });

  test("B48 is bounded while the store is away", async () => {
    const fault: Fault = {};
    await using rheo = await openOrders({ backend: faulty(memory(), fault), payloads: [1] });
    const app = await supervise({
      rheo,
      consumers: [
        inline(() => {
          fault.exchange = () => Promise.reject(new RheoError("unavailable", "away"));
        }),
      ],
    });
    await until("its ack cannot be settled", () => details(app).unanswered === 1);
    await app.stop({ timeoutMs: 5 });
    expect(app.state).toBe("stopped");
    delete fault.exchange;
  });

  test("B48 is bounded while the store hangs", async () => {
    const fault: Fault = {};
    await using rheo = await openOrders({ backend: faulty(memory(), fault), payloads: [1] });
    const app = await supervise({
      rheo,
      consumers: [
        inline(() => {
          fault.exchange = () => new Promise(() => undefined);
        }),
      ],
    });
    await until("the settlement hangs", () => details(app).unsettled === 1);
    await app.stop({ timeoutMs: 5 });
    expect(app.state).toBe("stopped");
  });
});

describe("start", () => {
  test("B80 with the store away waits for it, and works when it is back", async () => {
    let away = true;
    const backend = memory();
    const flaky = new Proxy(backend, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...parts: unknown[]) =>
          away && (name === "createGroup" || name === "getGroup")
            ? Promise.reject(new RheoError("unavailable", "away"))
            : Reflect.apply(value, target, parts);
      },
    });
    await using rheo = await openOrders({ backend: flaky, payloads: [1] });
    await using app = await supervise({ rheo, consumers: [inline(() => undefined)] });
    expect(app.children()[0]).toMatchObject({ state: "starting", restarts: 0 });
    away = false;
    await until("the group is there", async () => (await rheo.listGroups("orders")).length === 1);
    await caughtUp(rheo);
    expect(app.children()[0]).toMatchObject({ state: "running", restarts: 0 });
  });

  test("B45 a group whose stream is not there is tried again, then given up visibly", async () => {
    await using rheo = await openOrders({ payloads: [1] });
    await using app = await supervise({
      rheo,
      restart: { minMs: 1 },
      consumers: [inline(() => undefined, { stream: "nowhere" }), inline(() => undefined)],
    });
    expect(await app.failure).toMatchObject({ code: "stream_not_found" });
    await caughtUp(rheo);
    expect(app.children().map(({ id, state, restarts }) => [id, state, restarts])).toEqual([
      ["nowhere/g", "failed", 3],
      ["orders/g", "running", 0],
    ]);
  });

  test("creates the stream and the group where asked", async () => {
    await using rheo = await openOrders();
    await using _app = await supervise({
      rheo,
      consumers: [inline(() => undefined, { stream: "new", createStream: { partitions: 3 }, createGroup: { start: "latest" } })],
    });
    expect([(await rheo.streamInfo("new")).partitions.length > 0, (await rheo.listGroups("new")).length]).toEqual([true, 1]);
  });

  test("a group that is deleted while it works is created again by the restart", async () => {
    await using rheo = await openOrders({ payloads: [1] });
    const seen: unknown[] = [];
    await using app = await supervise({
      rheo,
      restart: { minMs: 1 },
      consumers: [inline((event) => void seen.push(event.payload), { pollMs: 5 })],
    });
    await caughtUp(rheo);
    await rheo.deleteGroup("orders", "g", { confirm: true });
    await until("it was restarted", () => app.children()[0]?.restarts === 1 && app.children()[0]?.state === "running");
    await until("it saw the event again", () => seen.length === 2);
  });

  test("an instance that is closed under its consumers ends them visibly, without a hot loop", async () => {
    const rheo = await openOrders({ payloads: [1] });
    const restarting = record(rheo, "child.restarting");
    const app = await supervise({ rheo, restart: { minMs: 1 }, consumers: [inline(() => undefined, { pollMs: 5 })] });
    await rheo.close();
    expect(await app.failure).toMatchObject({ code: "closed" });
    await app.stop();
    expect([app.state, restarting.length]).toEqual(["stopped", 3]);
  });

  test("a group that fails gives back what it holds", async () => {
    const fault: Fault = {};
    await using rheo = await openOrders({ backend: faulty(memory(), fault), payloads: Array.from({ length: 30 }, (_, n) => n) });
    const handlers = waiting();
    const app = await supervise({ rheo, maxRestarts: 0, consumers: [inline(handlers.work, { concurrency: 2 })] });
    await until("two run", () => handlers.started() === 2);
    fault.exchange = () => {
      delete fault.exchange;
      return Promise.reject(new Error("a bug in the driver"));
    };
    handlers.letGo();
    expect((await app.failure).message).toBe("a bug in the driver");
    expect([await rheo.leases("orders", "g"), (await rheo.groupInfo("orders", "g")).retrying]).toEqual([[], 0]);
    await app.stop();
  });

  test("B45 500 failures of handlers in a moment are no failure of the group", async () => {
    await using rheo = await openOrders({ payloads: Array.from({ length: 500 }, (_, n) => n) });
    await using app = await supervise({
      rheo,
      consumers: [
        inline(
          () => {
            throw new Error("again");
          },
          { createGroup: { maxAttempts: 1 }, concurrency: 128 },
        ),
      ],
    });
    await caughtUp(rheo);
    expect(app.children()[0]).toMatchObject({ state: "running", restarts: 0 });
  });

  test("two members share the work", async () => {
    await using rheo = await openOrders({ payloads: Array.from({ length: 40 }, (_, n) => n) });
    const counts = [0, 0];
    const slow = (at: number) => async (): Promise<void> => {
      counts[at] = (counts[at] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
    };
    await using _app = await supervise({
      rheo,
      consumers: [inline(slow(0), { concurrency: 2, maxDemand: 4 }), inline(slow(1), { concurrency: 2, maxDemand: 4 })],
    });
    await caughtUp(rheo);
    expect(counts.reduce((sum, count) => sum + count)).toBe(40);
    expect(Math.min(...counts)).toBeGreaterThan(5);
  });
});

/** Worker threads alive in this process, as far as open ports tell. */
const threadsNow = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "MessagePort" || name === "Worker").length;

test("B57 a logger that throws harms nobody", async () => {
  await using rheo = await openOrders({ payloads: [1] });
  const fail = (): never => {
    throw new Error("no disk");
  };
  const work = handler(() => new Promise(() => undefined), { teardown: fail });
  const app = await supervise({
    rheo,
    logger: { debug: fail, info: fail, warn: fail, error: (() => Promise.reject(new Error("no disk"))) as () => never },
    consumers: [{ stream: "orders", group: "g", createGroup: {}, handler: work }],
  });
  await until("it runs", () => details(app).running === 1);
  await app.stop({ timeoutMs: 5 });
  expect(await rheo.leases("orders", "g")).toEqual([]);
});
