import { PassThrough, Readable, Transform, Writable } from "node:stream";
import { pipeline as streamPipeline } from "node:stream/promises";
import { FrozenClock } from "@rheo/core";
import { consume, type HeldLease } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import { gate, lagOf, numbers, openOrders, pass, sequencesOf, turns, until } from "./fixtures/store.ts";

type Lease = HeldLease<unknown>;

/** Acks, counts, and closes what it comes from after so many. */
const acking = (count: number, finish: () => void): Writable => {
  let acked = 0;
  return new Writable({
    objectMode: true,
    write: (lease: Lease, _, proceed) => {
      lease.ack().then(() => {
        if (++acked === count) finish();
        proceed();
      }, proceed);
    },
  });
};

describe("toReadable", () => {
  test("gives every lease, in order, to a loop", async () => {
    await using rheo = await openOrders({ payloads: numbers(50) });
    const seen: unknown[] = [];
    for await (const lease of consume(rheo, "orders", "g").toReadable()) {
      seen.push(lease.event.payload);
      await lease.ack();
      if (seen.length === 50) break;
    }
    expect([seen, await lagOf(rheo)]).toEqual([numbers(50), 0]);
  });

  test("goes through pipeline() with a Transform, and ends when the iteration is closed", async () => {
    await using rheo = await openOrders({ payloads: numbers(40) });
    const leases = consume(rheo, "orders", "g", { maxDemand: 8 });
    const seen: unknown[] = [];
    const noting = new Transform({
      objectMode: true,
      transform: (lease: Lease, _, proceed) => {
        seen.push(lease.event.payload);
        proceed(null, lease);
      },
    });
    await streamPipeline(
      leases.toReadable(),
      noting,
      acking(40, () => void leases.close({ timeoutMs: 60_000 })),
    );
    expect([seen, await lagOf(rheo)]).toEqual([numbers(40), 0]);
  });

  test("goes through map with a concurrency, and filter, and take", async () => {
    await using rheo = await openOrders({ payloads: numbers(60) });
    let running = 0;
    let most = 0;
    const stream = consume(rheo, "orders", "g", { maxDemand: 20 }).toReadable();
    const seen = await stream
      .map(
        async (lease: Lease) => {
          most = Math.max(most, ++running);
          await turns(2);
          await lease.ack();
          running -= 1;
          return lease.event.payload as number;
        },
        { concurrency: 5 },
      )
      .filter((n: number) => n % 2 === 0)
      .take(20)
      .toArray();
    expect([seen, most]).toEqual([numbers(20).map((n) => 2 * n), 5]);
    await until("the rest went back", async () => (await sequencesOf(rheo)).length === 0);
    expect(await lagOf(rheo)).toBeLessThanOrEqual(21);
  });

  test("composes", async () => {
    await using rheo = await openOrders({ payloads: numbers(10) });
    const leases = consume(rheo, "orders", "g");
    const acked = leases.toReadable().compose(async function* (source: AsyncIterable<Lease>) {
      for await (const lease of source) {
        await lease.ack();
        yield lease.sequence;
      }
    });
    const seen: unknown[] = [];
    for await (const sequence of acked) {
      seen.push(sequence);
      if (seen.length === 10) break;
    }
    expect([seen, await lagOf(rheo)]).toEqual([numbers(10, 1), 0]);
  });

  test("becomes a web stream, whose cancel gives back what is held", async () => {
    await using rheo = await openOrders({ payloads: numbers(10) });
    const web = Readable.toWeb(consume(rheo, "orders", "g").toReadable());
    const reader = web.getReader();
    const { value } = await reader.read();
    await (value as Lease).ack();
    await reader.cancel();
    await until("all is given back", async () => (await sequencesOf(rheo)).length === 0);
    expect(await lagOf(rheo)).toBe(9);
  });

  test.each([0, 1, 16, 1_000])("with a highWaterMark of %i holds maxDemand at most", async (highWaterMark) => {
    await using rheo = await openOrders({ payloads: numbers(100) });
    const leases = consume(rheo, "orders", "g", { maxDemand: 9 });
    const stream = leases.toReadable({ highWaterMark });
    const most: number[] = [];
    const slow = new Writable({
      objectMode: true,
      highWaterMark: 1,
      write: (lease: Lease, _, proceed) => {
        const look = async (): Promise<void> => {
          await turns(3);
          most.push((await rheo.leases("orders", "g")).length);
          await lease.ack();
          if (lease.sequence === 30) void leases.close({ timeoutMs: 60_000 });
        };
        look().then(() => proceed(), proceed);
      },
    });
    await streamPipeline(stream, slow);
    expect(Math.max(...most)).toBe(9);
  });

  test("leases nothing before anybody reads, and no more than is read for", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(100) });
    const stream = consume(rheo, "orders", "g", { maxDemand: 30 }).toReadable({ highWaterMark: 4 });
    await turns();
    expect(await sequencesOf(rheo)).toEqual([]);
    stream.once("readable", () => undefined);
    await turns(50);
    expect([stream.readableLength, (await sequencesOf(rheo)).length]).toEqual([4, 30]);
    stream.destroy();
    await until("all is given back", async () => (await sequencesOf(rheo)).length === 0);
  });
});

describe("a stream of leases that is destroyed", () => {
  test.each(["early", "with an error"])("%s gives back, uncharged, what is not settled", async (how) => {
    await using rheo = await openOrders({ payloads: numbers(20) });
    const stream = consume(rheo, "orders", "g", { maxDemand: 6 }).toReadable({ highWaterMark: 3 });
    const errors: Error[] = [];
    stream.on("error", (error) => errors.push(error));
    const lease = await new Promise<Lease>((resolve) => stream.once("data", resolve));
    stream.pause();
    stream.destroy(how === "early" ? undefined : new Error("enough"));
    await new Promise((resolve) => stream.once("close", resolve));
    expect([await sequencesOf(rheo), lease.signal.aborted, errors.length]).toEqual([[], true, how === "early" ? 0 : 1]);
    await expect(lease.ack()).rejects.toMatchObject({ code: "stale_lease" });
    expect((await rheo.fetch("orders", "g", { limit: 20 })).map(({ attempt }) => attempt)).toEqual(new Array(20).fill(1));
  });

  test("by a failing stage of pipeline() gives back what is not settled", async () => {
    await using rheo = await openOrders({ payloads: numbers(20) });
    const failing = new Transform({
      objectMode: true,
      transform: (lease: Lease, _, proceed) => proceed(lease.sequence === 3 ? new Error("third") : null, lease),
    });
    const run = streamPipeline(
      consume(rheo, "orders", "g").toReadable(),
      failing,
      acking(20, () => undefined),
    );
    await expect(run).rejects.toThrow("third");
    await until("all is given back", async () => (await sequencesOf(rheo)).length === 0);
    expect(await lagOf(rheo)).toBeGreaterThanOrEqual(18);
  });

  test("by an abort of pipeline() gives back what is not settled", async () => {
    await using rheo = await openOrders({ payloads: numbers(20) });
    const controller = new AbortController();
    const run = streamPipeline(
      consume(rheo, "orders", "g").toReadable(),
      new PassThrough({ objectMode: true, highWaterMark: 1 }),
      {
        signal: controller.signal,
      },
    );
    await until("leases are held", async () => (await sequencesOf(rheo)).length > 0);
    controller.abort();
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    await until("all is given back", async () => (await sequencesOf(rheo)).length === 0);
  });

  test("before it was read is over", async () => {
    await using rheo = await openOrders({ payloads: numbers(2) });
    const stream = consume(rheo, "orders", "g").toReadable();
    stream.destroy();
    await new Promise((resolve) => stream.once("close", resolve));
    expect(await sequencesOf(rheo)).toEqual([]);
  });
});

describe("a stream of leases whose iteration ends", () => {
  test("by its signal lets what runs in map finish", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(20) });
    const controller = new AbortController();
    const { promise, open } = gate();
    const working: Lease[] = [];
    const stream = consume(rheo, "orders", "g", { signal: controller.signal, maxDemand: 10 }).toReadable({ highWaterMark: 0 });
    const done = stream
      .map(
        async (lease: Lease) => {
          working.push(lease);
          await promise;
          await lease.ack();
          return lease.sequence;
        },
        { concurrency: 3 },
      )
      .toArray();
    await until("three are worked on", () => working.length === 3);
    controller.abort();
    await turns(20);
    expect(working.map(({ signal }) => signal.aborted)).not.toContain(true);
    open();
    const acked = await done;
    await until("nothing is held", async () => (await sequencesOf(rheo)).length === 0);
    expect([acked.slice(0, 3), await lagOf(rheo)]).toEqual([[1, 2, 3], 20 - acked.length]);
  });

  test("by an error is destroyed with it", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock });
    const stream = consume(rheo, "orders", "nobody").toReadable();
    const error = new Promise((resolve) => stream.once("error", resolve));
    stream.resume();
    await pass(clock, 100);
    expect(await error).toMatchObject({ code: "group_not_found" });
    expect(stream.destroyed).toBe(true);
  });
});
