import { ack, FrozenClock, reject, retry } from "@rheo/core";
import { type BatchInfo, type Message, type PipelineOptions, pipeline, type RunningPipeline } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import { gate, lagOf, numbers, openOrders, pass, record, tended, turns, until } from "./fixtures/store.ts";

type Options = PipelineOptions<number, unknown>;
type Batchers = NonNullable<Options["batchers"]>;

const run = (rheo: Options["rheo"], batchers: Batchers, more: Partial<Options> = {}): RunningPipeline =>
  tended(
    rheo,
    pipeline<number, unknown>({ rheo, stream: "orders", group: "g", processors: { handle: () => undefined }, batchers, ...more }),
  );

/** Notes what a batcher is handed. */
const noting = (): {
  batches: unknown[][];
  infos: BatchInfo[];
  handle: (messages: readonly Message<number, unknown>[], info: BatchInfo) => void;
} => {
  const batches: unknown[][] = [];
  const infos: BatchInfo[] = [];
  return {
    batches,
    infos,
    handle: (messages, info) => {
      batches.push(messages.map(({ data }) => data));
      infos.push(info);
    },
  };
};

describe("a batch", () => {
  test("is handed over when it is full, in the order of arrival", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(10) });
    const { batches, infos, handle } = noting();
    await using _running = run(rheo, { default: { size: 4, waitMs: 100, handle } });
    await until("two are full", () => batches.length === 2);
    await turns();
    expect(batches).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ]);
    expect(infos.map(({ batcher, key, trigger }) => [batcher, key, trigger])).toEqual([
      ["default", null, "size"],
      ["default", null, "size"],
    ]);
  });

  test("is handed over as it is `waitMs` after its first message", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(3) });
    const { batches, infos, handle } = noting();
    await using running = run(rheo, { default: { size: 4, waitMs: 100, handle } });
    await until("three wait", () => running.stats().batchers.default?.waiting === 3);
    await pass(clock, 99, 1);
    expect(batches).toEqual([]);
    await pass(clock, 1, 1);
    expect([batches, infos[0]?.trigger]).toEqual([[[0, 1, 2]], "time"]);
    await until("all is acked", async () => (await lagOf(rheo)) === 0);
  });

  test("goes on growing while it is due and none may run", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(2) });
    const { promise, open } = gate();
    const sizes: number[] = [];
    const handle = (messages: readonly unknown[]): Promise<void> | undefined =>
      sizes.push(messages.length) === 1 ? promise : undefined;
    await using running = run(rheo, { default: { size: 100, waitMs: 10, handle } });
    await until("two wait", () => running.stats().batchers.default?.waiting === 2);
    await pass(clock, 10, 10); // they run
    await rheo.appendMany("orders", [{ payload: 2 }]);
    await until("one waits", () => running.stats().batchers.default?.waiting === 1);
    await pass(clock, 20, 10); // due
    await rheo.appendMany("orders", [{ payload: 3 }, { payload: 4 }]);
    await until("three wait", () => running.stats().batchers.default?.waiting === 3);
    open();
    await until("both have run", () => sizes.length === 2);
    expect(sizes).toEqual([2, 3]);
  });

  test("holds messages of one key, which the processor gives, or else `by`", async () => {
    await using rheo = await openOrders({ payloads: numbers(12) });
    const { batches, infos, handle } = noting();
    await using _running = run(
      rheo,
      { default: { size: 3, waitMs: 60_000, handle, by: ({ data }) => `by ${Number(data) % 2}` } },
      { processors: { handle: ({ data }) => (data < 6 ? { key: `given ${data % 2}` } : undefined) } },
    );
    await until("all have run", () => batches.length === 4);
    expect(Object.fromEntries(infos.map(({ key }, index) => [key, batches[index]]))).toEqual({
      "given 0": [0, 2, 4],
      "given 1": [1, 3, 5],
      "by 0": [6, 8, 10],
      "by 1": [7, 9, 11],
    });
  });

  test("goes to the batcher that the processor names, with what it made of each message", async () => {
    await using rheo = await openOrders({ payloads: numbers(6) });
    const even = noting();
    const odd = noting();
    await using _running = run(
      rheo,
      { even: { size: 3, handle: even.handle }, default: { size: 3, handle: odd.handle } },
      { processors: { handle: async ({ data }) => (data % 2 === 0 ? { batcher: "even", data: `n${data}` } : { data: -data }) } },
    );
    await rheo.whenCaughtUp("orders", "g");
    expect([even.batches, odd.batches]).toEqual([[["n0", "n2", "n4"]], [[-1, -3, -5]]]);
  });

  test("runs beside at most `concurrency` others of its batcher", async () => {
    await using rheo = await openOrders({ payloads: numbers(40) });
    let working = 0;
    let most = 0;
    const handle = async (): Promise<void> => {
      most = Math.max(most, ++working);
      await turns(3);
      working -= 1;
    };
    await using _running = run(rheo, { default: { size: 2, concurrency: 3, handle } });
    await rheo.whenCaughtUp("orders", "g");
    expect(most).toBe(3);
  });

  test("by thousands that end at once does not overflow the stack", async () => {
    await using rheo = await openOrders({ payloads: numbers(20_000) });
    let batches = 0;
    const first = gate();
    const handle = (): Promise<void> | undefined => (++batches === 1 ? first.promise : undefined);
    await using running = run(rheo, { default: { size: 1, handle } }, { maxDemand: 10_000 });
    await until("all others wait", () => running.stats().batchers.default?.waiting === 9_999);
    first.open();
    await rheo.whenCaughtUp("orders", "g");
    expect(batches).toBe(20_000);
  });

  test("does not hand over a message whose lease was lost while it waited", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(3), group: { leaseMs: 3_000 } });
    const seen: string[] = [];
    const handle = (messages: readonly Message<number, unknown>[]): void => {
      seen.push(...messages.map(({ data, token }) => `${String(data)}/${token}`));
    };
    const by = ({ data }: Message<number, unknown>): string => String(data); // so that no batch is full
    await using running = run(rheo, { default: { size: 3, waitMs: 2_000, handle, by } }, { maxDemand: 3 });
    await until("three wait", () => running.stats().batchers.default?.waiting === 3);
    const token = (await rheo.leases("orders", "g"))[0]?.token;
    await rheo.replay("orders", "g", { fromSequence: 1 });
    await pass(clock, 2_000, 100);
    await until("all are acked", async () => (await lagOf(rheo)) === 0);
    expect(seen).toEqual([`0/${token}`, expect.stringMatching(/^1/), expect.stringMatching(/^2/)]);
    expect(seen).not.toContain(`1/${token}`);
    expect(seen).not.toContain(`2/${token}`);
  });
});

describe("what a batcher returns", () => {
  const cases: readonly (readonly [string, () => unknown, object])[] = [
    ["nothing: all are acked", () => undefined, { acked: 3 }],
    ["an outcome: it is for all", () => reject("all"), { dead: 3 }],
    ["an array: one outcome for each, and nothing is an ack", () => [ack(), reject("second"), undefined], { acked: 2, dead: 1 }],
    ["a promise of an array", async () => [retry("first"), null, reject("third")], { acked: 1, retrying: 1, dead: 1 }],
    ["an array of something else, of any length: all are acked", () => [{ id: 1 }], { acked: 3 }],
    ["too few outcomes: all fail", () => [reject("first")], { retrying: 3 }],
  ];
  test.each(cases)("%s", async (_, handle, counts) => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(3) });
    await using running = run(rheo, { default: { size: 3, handle: handle as never } });
    await until("all are settled", () => running.stats().acked + running.stats().retrying + running.stats().dead === 3);
    expect(running.stats()).toMatchObject(counts);
  });

  test("does not matter when it throws: each message fails by onFailure, with the reason", async () => {
    await using rheo = await openOrders({ payloads: numbers(3) });
    const told = record(rheo, "handler.failed");
    const handle = async (): Promise<never> => {
      throw new Error("disk full");
    };
    await using _running = run(rheo, { default: { size: 3, handle } }, { onFailure: "reject" });
    await rheo.whenCaughtUp("orders", "g");
    expect((await rheo.deadLetters("orders", "g")).map(({ reason }) => reason)).toEqual(["disk full", "disk full", "disk full"]);
    expect(told.map(({ sequence, outcome }) => [sequence, outcome])).toEqual([
      [1, "reject"],
      [2, "reject"],
      [3, "reject"],
    ]);
  });

  test("a message that failed in its processor does not keep its batch from running", async () => {
    await using rheo = await openOrders({ payloads: numbers(7) });
    const { batches, handle } = noting();
    await using running = run(
      rheo,
      { default: { size: 3, waitMs: 0, handle } },
      { processors: { handle: ({ data }) => (data === 2 ? reject("no") : undefined) } },
    );
    await rheo.whenCaughtUp("orders", "g");
    expect([batches.flat(), running.stats().acked, running.stats().dead]).toEqual([[0, 1, 3, 4, 5, 6], 6, 1]);
  });

  test("an outcome of the processor settles past all batchers", async () => {
    await using rheo = await openOrders({ payloads: numbers(4) });
    const { batches, handle } = noting();
    await using running = run(
      rheo,
      { default: { size: 2, handle } },
      { processors: { handle: ({ data }) => (data % 2 === 0 ? ack() : undefined) } },
    );
    await rheo.whenCaughtUp("orders", "g");
    expect([batches, running.stats().acked]).toEqual([[[1, 3]], 4]);
  });
});

describe("a route that leads nowhere fails its message alone", () => {
  const cases: readonly (readonly [string, object, Partial<Batchers[string]>, string])[] = [
    ["an unknown batcher", { batcher: "nope" }, {}, 'returned the batcher "nope". There are: a, b'],
    ["no batcher where there are several and no default", {}, {}, 'none of several is named "default". There are: a, b'],
    ["a batcher that is no string", { batcher: 5 }, {}, "whose batcher is no string"],
    ["a key that is no string", { batcher: "a", key: 5 }, {}, "whose key is no string"],
    ["an unknown name", { batcher: "a", batchKey: "x" }, {}, 'a route with "batchKey". Known: batcher, key, data'],
    ["a `by` that gives a number", { batcher: "a" }, { by: (() => 5) as never }, 'The `by` of batcher "a" returned a number'],
    [
      "a `by` that throws",
      { batcher: "a" },
      {
        by: () => {
          throw new Error("by");
        },
      },
      "by",
    ],
  ];
  test.each(cases)("%s", async (_, route, more, reason) => {
    await using rheo = await openOrders({ payloads: numbers(2) });
    const { batches, handle } = noting();
    await using _running = run(
      rheo,
      { a: { size: 1, handle, ...more }, b: { size: 1, handle } },
      { onFailure: "reject", processors: { handle: ({ data }) => (data === 0 ? (route as never) : { batcher: "b" }) } },
    );
    await rheo.whenCaughtUp("orders", "g");
    expect(await rheo.deadLetters("orders", "g")).toMatchObject([{ sequence: 1, reason: expect.stringContaining(reason) }]);
    expect(batches).toEqual([[1]]);
  });

  test("a batcher where there are none", async () => {
    await using rheo = await openOrders({ payloads: numbers(1) });
    await using _running = pipeline({
      rheo,
      stream: "orders",
      group: "g",
      onFailure: "reject",
      processors: { handle: () => ({ batcher: "x" }) },
    });
    await rheo.whenCaughtUp("orders", "g");
    expect((await rheo.deadLetters("orders", "g"))[0]?.reason).toContain('returned the batcher "x". There are: none');
  });

  test("but a single batcher needs no name", async () => {
    await using rheo = await openOrders({ payloads: numbers(2) });
    const { batches, handle } = noting();
    await using _running = run(rheo, { s3: { size: 2, handle } });
    await rheo.whenCaughtUp("orders", "g");
    expect(batches).toEqual([[0, 1]]);
  });

  test("and batchers may be named like what every object has", async () => {
    await using rheo = await openOrders({ payloads: numbers(2) });
    const { batches, handle } = noting();
    await using _running = run(rheo, { constructor: { size: 1, handle }, toString: { size: 1, handle } } as Batchers, {
      processors: { handle: ({ data }) => ({ batcher: data === 0 ? "constructor" : "toString" }) },
    });
    await rheo.whenCaughtUp("orders", "g");
    expect(batches).toEqual([[0], [1]]);
  });
});

test("the signal of a batch aborts when those of all its messages have", async () => {
  const clock = new FrozenClock();
  await using rheo = await openOrders({ clock, payloads: numbers(3), group: { leaseMs: 1_000 } });
  const { promise, open } = gate();
  const signals: AbortSignal[] = [];
  await using running = run(rheo, {
    default: {
      size: 3,
      handle: (_, { signal }) => {
        signals.push(signal);
        return promise;
      },
    },
  });
  await until("it runs", () => signals.length === 1);
  await rheo.replay("orders", "g", { fromSequence: 1 });
  await pass(clock, 400);
  expect([signals[0]?.aborted, running.stats().lost]).toEqual([false, 2]);
  await rheo.replay("orders", "g", { from: new Date(0) });
  await pass(clock, 400);
  expect(signals[0]?.aborted).toBe(true);
  open();
});
