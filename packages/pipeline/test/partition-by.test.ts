import { FrozenClock, reject, retry } from "@rheo/core";
import { type Message, type PipelineOptions, pipeline, type RunningPipeline } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import { gate, numbers, openOrders, pass, tended, turns, until } from "./fixtures/store.ts";

type Options = PipelineOptions<number, unknown>;

/** Keys by the last digit. */
const byDigit = ({ data }: Message<number>): string => String(data % 10);

const run = (rheo: Options["rheo"], handle: Options["processors"]["handle"], more: Partial<Options> = {}): RunningPipeline =>
  tended(
    rheo,
    pipeline<number, unknown>({
      rheo,
      stream: "orders",
      group: "g",
      partitionBy: byDigit,
      processors: { concurrency: 8, handle },
      ...more,
    }),
  );

/** By last digit, in the order of `seen`. */
const ofDigit = (seen: readonly number[], digit: number): number[] => seen.filter((n) => n % 10 === digit);

/** Whether each key came in the order of the log. */
const isInOrder = (seen: readonly number[]): boolean =>
  numbers(10).every((digit) => ofDigit(seen, digit).every((n, index, all) => index === 0 || n > (all[index - 1] ?? 0)));

describe("with partitionBy", () => {
  test("messages of one key are in processors one after the other, in order, and those of others beside them", async () => {
    await using rheo = await openOrders({ payloads: numbers(200) });
    const working = new Map<string, number>();
    const seen: number[] = [];
    let most = 0;
    const handle = async (message: Message<number>): Promise<void> => {
      const key = byDigit(message);
      working.set(key, (working.get(key) ?? 0) + 1);
      expect(working.get(key)).toBe(1);
      most = Math.max(
        most,
        [...working.values()].reduce((sum, count) => sum + count, 0),
      );
      await turns(1 + (message.data % 3));
      seen.push(message.data);
      working.set(key, 0);
    };
    await using running = run(rheo, handle);
    await rheo.whenCaughtUp("orders", "g");
    expect([isInOrder(seen), seen.length, most, running.stats().acked]).toEqual([true, 200, 8, 200]);
  });

  test("a key that is stuck holds up no other", async () => {
    await using rheo = await openOrders({ payloads: numbers(50) });
    const { promise, open } = gate();
    const seen: number[] = [];
    await using running = run(rheo, ({ data }) => {
      seen.push(data);
      return data === 3 ? promise : undefined;
    });
    await until("all others are through", () => running.stats().acked === 45);
    expect([ofDigit(seen, 3), running.stats().queued]).toEqual([[3], 4]);
    open();
    await rheo.whenCaughtUp("orders", "g");
    expect(ofDigit(seen, 3)).toEqual([3, 13, 23, 33, 43]);
  });

  test("a failed message lets the next of its key go on", async () => {
    await using rheo = await openOrders({ payloads: [1, 11, 21, 31] });
    const seen: number[] = [];
    await using running = run(
      rheo,
      async ({ data }) => {
        seen.push(data);
        if (data === 1) throw new Error("thrown");
        return data === 11 ? reject("rejected") : undefined;
      },
      { onFailure: "reject" },
    );
    await rheo.whenCaughtUp("orders", "g");
    expect([seen, running.stats().dead, running.stats().acked]).toEqual([[1, 11, 21, 31], 2, 2]);
  });

  test("null means no order, and anything but a string fails the message", async () => {
    await using rheo = await openOrders({ payloads: [0, 1, 2, 3] });
    const { promise, open } = gate();
    const partitionBy = ({ data }: Message<number>): string | null => {
      if (data === 3) throw new RangeError("three");
      return data === 2 ? (2 as unknown as string) : null;
    };
    await using running = run(rheo, () => promise, { partitionBy, onFailure: "reject" });
    await until("two run", () => running.stats().processing === 2);
    await until("two are dead", () => running.stats().dead === 2);
    expect((await rheo.deadLetters("orders", "g")).map(({ reason }) => reason)).toEqual([
      expect.stringContaining("partitionBy returned a number"),
      "RangeError: three",
    ]);
    open();
    await rheo.whenCaughtUp("orders", "g");
  });

  test("a message whose lease is lost while it waits behind its key is skipped, and the next goes on", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1, 11, 21], group: { leaseMs: 1_000 } });
    const { promise, open } = gate();
    const seen: string[] = [];
    await using running = run(rheo, ({ data, token }) => {
      seen.push(`${data}/${token}`);
      return data === 1 ? promise : undefined;
    });
    await until("one runs", () => seen.length === 1);
    const first = Number(seen[0]?.split("/")[1]);
    await rheo.replay("orders", "g", { fromSequence: 1 }); // the other two get a new lease
    await pass(clock, 400);
    expect(running.stats()).toMatchObject({ lost: 2, held: 3 });
    open();
    await until("all have run", () => running.stats().acked === 3);
    expect(seen.map((name) => name.split("/").map(Number))).toEqual([
      [1, first],
      [11, expect.any(Number)],
      [21, expect.any(Number)],
    ]);
    expect(seen.slice(1).every((name) => Number(name.split("/")[1]) > first)).toBe(true);
  });

  test("what waits behind its key goes back when the pipeline is paused, and comes again in order", async () => {
    await using rheo = await openOrders({ payloads: [1, 11, 21, 31] });
    const { promise, open } = gate();
    const seen: number[] = [];
    await using running = run(rheo, ({ data }) => {
      seen.push(data);
      return data === 1 ? promise : undefined;
    });
    await until("one runs", () => seen.length === 1);
    running.pause();
    await until("the others went back", () => running.stats().held === 1);
    running.resume();
    await until("they are back", () => running.stats().held === 4);
    open();
    await rheo.whenCaughtUp("orders", "g");
    expect(seen).toEqual([1, 11, 21, 31]);
  });
});

describe("with partitionBy and batchers", () => {
  test("batches that hold messages of one key run one after the other; others run beside them", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 11, 12, 3, 4] }); // 11 and 12 are processed last
    const gates = new Map(["1,2", "3,4", "11,12"].map((name) => [name, gate()]));
    const begun: string[] = [];
    await using _running = run(rheo, () => undefined, {
      batchers: {
        b: {
          size: 2,
          concurrency: 3,
          handle: async (messages) => {
            const name = messages.map(({ data }) => data).join();
            begun.push(name);
            await gates.get(name)?.promise;
          },
        },
      },
    });
    await until("two run", () => begun.length === 2);
    await turns();
    expect(begun).toEqual(["1,2", "3,4"]);
    gates.get("3,4")?.open();
    await turns();
    expect(begun).toEqual(["1,2", "3,4"]); // 11 and 12 wait for 1 and 2
    gates.get("1,2")?.open();
    gates.get("11,12")?.open();
    await rheo.whenCaughtUp("orders", "g");
    expect(begun).toEqual(["1,2", "3,4", "11,12"]);
  });

  test("batches with no key in common run at once", async () => {
    await using rheo = await openOrders({ payloads: [1, 2, 3, 4] });
    const { promise, open } = gate();
    let running = 0;
    const handle = (): Promise<void> => {
      running += 1;
      return promise;
    };
    await using _running = run(rheo, () => undefined, {
      batchers: { b: { size: 2, concurrency: 2, handle } },
    });
    await until("both run", () => running === 2);
    open();
    await rheo.whenCaughtUp("orders", "g");
  });

  test("a message goes to another batcher only when the batches of earlier ones of its key are done", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1, 2, 11, 12, 21] });
    const order: string[] = [];
    // 1, 12 and 21 go to "a", 2 and 11 to "b": by size alone each batcher would wait for the other
    const handle = ({ data }: Message<number>): { batcher: string } => ({ batcher: data === 2 || data === 11 ? "b" : "a" });
    const note =
      (name: string) =>
      async (messages: readonly Message<number, unknown>[]): Promise<void> => {
        order.push(`${name}:${messages.map(({ data }) => data).join()}`);
      };
    await using running = run(rheo, handle, {
      batchers: { a: { size: 5, waitMs: 100, handle: note("a") }, b: { size: 5, waitMs: 300, handle: note("b") } },
    });
    await until("two wait", () => running.stats().batchers.a?.waiting === 1 && running.stats().batchers.b?.waiting === 1);
    await pass(clock, 2_000, 50);
    await until("all are acked", () => running.stats().acked === 5);
    expect(order).toEqual(["a:1", "b:2,11", "a:12,21"]);
  });

  test("another batch key counts as another batcher", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: [1, 11] });
    const order: string[] = [];
    await using running = run(rheo, ({ data }) => ({ key: String(data) }), {
      batchers: { a: { size: 5, waitMs: 100, concurrency: 2, handle: (_, { key }) => void order.push(String(key)) } },
    });
    await until("one waits", () => running.stats().batchers.a?.waiting === 1);
    await pass(clock, 300, 50);
    await until("all are acked", () => running.stats().acked === 2);
    expect(order).toEqual(["1", "11"]);
  });

  test("a batch that fails lets the next of its keys go on", async () => {
    await using rheo = await openOrders({ payloads: [1, 11, 21, 31] });
    const order: string[] = [];
    await using _running = run(rheo, () => undefined, {
      onFailure: "reject",
      batchers: {
        b: {
          size: 2,
          handle: async (messages) => {
            order.push(messages.map(({ data }) => data).join());
            if (order.length === 1) throw new Error("first");
          },
        },
      },
    });
    await rheo.whenCaughtUp("orders", "g");
    expect(order).toEqual(["1,11", "21,31"]);
  });

  test("a drain hands over every batch, those too that others wait for", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: [1, 11, 21, 2] });
    const order: string[] = [];
    const running = run(rheo, ({ data }) => (data === 21 ? retry("later") : { batcher: data === 11 ? "b" : "a" }), {
      batchers: {
        a: { size: 9, waitMs: 60_000, handle: (messages) => void order.push(`a:${messages.map(({ data }) => data).join()}`) },
        b: { size: 9, waitMs: 60_000, handle: (messages) => void order.push(`b:${messages.map(({ data }) => data).join()}`) },
      },
    });
    await until("two wait, one is stalled, and one is behind it", () => running.stats().batchers.a?.waiting === 2);
    expect(await running.drain()).toBe(true);
    expect(order).toEqual(["a:1,2", "b:11"]);
    expect(running.stats()).toMatchObject({ acked: 3, released: 1, held: 0 });
  });
});
