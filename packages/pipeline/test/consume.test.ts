import { FrozenClock, type Rheo, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { consume, type HeldLease } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import {
  fill,
  lagOf,
  type Meddling,
  meddled,
  numbers,
  openOrders,
  pass,
  record,
  sequencesOf,
  turns,
  until,
  WatchedClock,
  whilePassing,
} from "./fixtures/store.ts";

const payloads = (leases: readonly HeldLease<unknown>[]): unknown[] => leases.map(({ event }) => event.payload);

/** Takes and acks so many, then breaks. */
const take = async (rheo: Rheo, count: number, maxDemand = 10): Promise<unknown[]> => {
  const taken: unknown[] = [];
  for await (const lease of consume(rheo, "orders", "g", { maxDemand })) {
    taken.push(lease.event.payload);
    await lease.ack();
    if (taken.length === count) break;
  }
  return taken;
};

describe("a loop over consume", () => {
  test("sees each delivery once, in order, with the data of its lease", async () => {
    await using rheo = await openOrders({ payloads: numbers(25) });
    expect(await take(rheo, 25, 4)).toEqual(numbers(25));
    expect(await lagOf(rheo)).toBe(0);
  });

  test("gets leases as fetch gives them", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: ["a"] });
    await using leases = consume(rheo, "orders", "g", { consumerId: "me", leaseMs: 1_000 });
    const { value } = await leases.next();
    const [listed] = await rheo.leases("orders", "g");
    const event = await rheo.getEvent("orders", value?.event.id ?? "");
    expect({ ...value, event: undefined }).toEqual({ ...listed, event: undefined });
    expect(value?.event).toEqual(event);
    expect([value?.consumerId, value?.leasedAt, value?.expiresAt]).toEqual([
      "me",
      new Date(clock.now()),
      new Date(clock.now() + 1_000),
    ]);
  });

  test("leases nothing before it asks", async () => {
    await using rheo = await openOrders({ payloads: numbers(3) });
    const leases = consume(rheo, "orders", "g");
    await turns();
    expect(await sequencesOf(rheo)).toEqual([]);
    await leases.close();
  });

  test("holds maxDemand leases at most, however slow it is", async () => {
    await using rheo = await openOrders({ payloads: numbers(50) });
    const held: number[] = [];
    let count = 0;
    for await (const lease of consume(rheo, "orders", "g", { maxDemand: 7 })) {
      await turns(3);
      held.push((await rheo.leases("orders", "g")).length);
      await lease.ack();
      if (++count === 40) break;
    }
    expect(Math.max(...held)).toBe(7);
  });

  test("waits for itself when it settles nothing", async () => {
    await using rheo = await openOrders({ payloads: numbers(20) });
    await using leases = consume(rheo, "orders", "g", { maxDemand: 3 });
    const taken = [await leases.next(), await leases.next(), await leases.next()];
    let isThere = false;
    const fourth = leases.next().then((result) => {
      isThere = true;
      return result;
    });
    await turns(50);
    expect([isThere, leases.held]).toEqual([false, 3]);
    await taken[1]?.value?.ack();
    expect((await fourth).value?.event.payload).toBe(3);
  });

  test("can be shared by several loops", async () => {
    await using rheo = await openOrders({ payloads: numbers(100) });
    const leases = consume(rheo, "orders", "g", { maxDemand: 20 });
    const seen: unknown[] = [];
    const loop = async (): Promise<void> => {
      for await (const lease of leases) {
        seen.push(lease.event.payload);
        await lease.ack();
        if (seen.length === 100) await leases.close();
      }
    };
    await Promise.all([loop(), loop(), loop()]);
    expect(seen.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers(100));
    expect(await lagOf(rheo)).toBe(0);
  });

  test("is woken by an append, without a poll", async () => {
    const clock = new FrozenClock(); // no poll falls due
    await using rheo = await openOrders({ clock });
    await using leases = consume(rheo, "orders", "g");
    const next = leases.next();
    await turns();
    await fill(rheo, ["late"]);
    expect((await next).value?.event.payload).toBe("late");
  });

  test("is woken by an append that a fetch in flight has missed", async () => {
    const meddling: Meddling = {};
    await using rheo = await openOrders({ clock: new FrozenClock(), backend: meddled(memory(), meddling) });
    await using leases = consume(rheo, "orders", "g");
    meddling.exchange = async (call) => {
      const answer = await call(); // nothing
      meddling.exchange = undefined;
      await fill(rheo, ["late"]);
      return answer;
    };
    expect((await leases.next()).value?.event.payload).toBe("late");
  });

  test("polls an idle group every pollMs, give or take a fifth", async () => {
    const clock = new FrozenClock();
    const times: number[] = [];
    const look = (call: () => Promise<unknown>): Promise<unknown> => {
      times.push(clock.now());
      return call();
    };
    const draws = [0, 0.5, 1];
    const backend = meddled(memory(), { exchange: look });
    await using rheo = await openOrders({ clock, backend, random: () => draws.shift() ?? 0.5 });
    await using leases = consume(rheo, "orders", "g", { consumerId: "me", pollMs: 1_000 });
    void leases.next();
    await pass(clock, 4_500, 10);
    expect(times.map((time, index) => time - (times[index - 1] ?? time))).toEqual([0, 800, 1_000, 1_200, 1_000]);
  });

  test("lets timers and sockets have their turn though there is always a lease", async () => {
    await using rheo = await openOrders({ payloads: numbers(2_000) });
    let others = 0;
    const other = setInterval(() => (others += 1), 1);
    let count = 0;
    for await (const lease of consume(rheo, "orders", "g", { maxDemand: 1_000 })) {
      void lease.ack();
      const endMs = performance.now() + 0.02;
      while (performance.now() < endMs); // some work
      if (++count === 2_000) break;
    }
    clearInterval(other);
    expect(others).toBeGreaterThan(0);
  });

  test("takes only the partitions it is told to", async () => {
    await using rheo = await openOrders({ partitions: 4 });
    await rheo.appendMany(
      "orders",
      numbers(8).map((n) => ({ payload: n, partition: n % 4 })),
    );
    const taken: HeldLease<unknown>[] = [];
    for await (const lease of consume(rheo, "orders", "g", { partitions: [2, 1] })) {
      taken.push(lease);
      await lease.ack();
      if (taken.length === 4) break;
    }
    expect(payloads(taken)).toEqual([1, 5, 2, 6]);
  });

  test("creates its group if told to", async () => {
    await using rheo = await openOrders({ payloads: numbers(2) });
    for await (const lease of consume(rheo, "orders", "new", { createGroup: { maxAttempts: 2 } })) {
      await lease.ack();
      break;
    }
    expect((await rheo.groupInfo("orders", "new")).options.maxAttempts).toBe(2);
  });
});

describe("an iteration that ends", () => {
  test("by break has given back at once, uncharged, what it had not settled", async () => {
    await using rheo = await openOrders({ payloads: numbers(10) });
    for await (const lease of consume(rheo, "orders", "g", { maxDemand: 5 })) if (lease.sequence === 2) break;
    expect(await sequencesOf(rheo)).toEqual([]);
    const again = await rheo.fetch("orders", "g");
    expect(again.map(({ sequence, attempt }) => [sequence, attempt])).toEqual(numbers(10, 1).map((n) => [n, 1]));
  });

  test("by break keeps what was settled, though nobody waited for it", async () => {
    await using rheo = await openOrders({ payloads: numbers(10) });
    for await (const lease of consume(rheo, "orders", "g")) {
      void lease.ack();
      if (lease.sequence === 4) break;
    }
    expect(await lagOf(rheo)).toBe(6);
  });

  test("by a throw has given back at once, and the error goes on", async () => {
    await using rheo = await openOrders({ payloads: numbers(10) });
    const loop = async (): Promise<void> => {
      for await (const lease of consume(rheo, "orders", "g")) if (lease.sequence === 2) throw new Error("enough");
    };
    await expect(loop()).rejects.toThrow("enough");
    expect(await sequencesOf(rheo)).toEqual([]);
  });

  test("by return() is over for whoever waits, too", async () => {
    await using rheo = await openOrders();
    const leases = consume(rheo, "orders", "g");
    const next = leases.next();
    await turns();
    await leases.return();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(await leases.next()).toEqual({ done: true, value: undefined });
  });

  test("by its signal ends quietly; what was handed out may still be settled, the rest goes back at once", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(5) });
    const controller = new AbortController();
    const leases = consume(rheo, "orders", "g", { signal: controller.signal });
    const { value } = await leases.next();
    controller.abort();
    await until("the rest went back", async () => (await sequencesOf(rheo)).length === 1);
    expect(await leases.next()).toEqual({ done: true, value: undefined });
    await value?.ack();
    expect([await sequencesOf(rheo), await lagOf(rheo)]).toEqual([[], 4]);
  });

  test("by its signal gives back after a lease length what is not settled by then", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(2), group: { leaseMs: 5_000 } });
    const controller = new AbortController();
    const leases = consume(rheo, "orders", "g", { signal: controller.signal });
    const { value } = await leases.next();
    controller.abort();
    await pass(clock, 4_900);
    expect([await sequencesOf(rheo), value?.signal.aborted]).toEqual([[1], false]);
    await pass(clock, 200);
    expect([await sequencesOf(rheo), value?.signal.aborted]).toEqual([[], true]);
    await expect(value?.ack()).rejects.toMatchObject({ code: "stale_lease" });
  });

  test("before it has begun asks for nothing", async () => {
    await using rheo = await openOrders({ payloads: numbers(2) });
    const told = record(rheo, "lease.granted", "consumer.started");
    const leases = consume(rheo, "orders", "g", { signal: AbortSignal.abort() });
    expect(await leases.next()).toEqual({ done: true, value: undefined });
    await consume(rheo, "orders", "g").close();
    expect(told).toEqual([]);
  });

  test("by close({ timeoutMs }) waits that long for what was handed out, and a later call may shorten it", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(2) });
    const leases = consume(rheo, "orders", "g");
    await leases.next();
    let isClosed = false;
    const closing = leases.close({ timeoutMs: 60_000 }).then(() => {
      isClosed = true;
    });
    await pass(clock, 1_000);
    expect([isClosed, await sequencesOf(rheo)]).toEqual([false, [1]]);
    await leases.close();
    await closing;
    expect(await sequencesOf(rheo)).toEqual([]);
  });

  test("by close({ timeoutMs }) is over as soon as all is settled", async () => {
    await using rheo = await openOrders({ clock: new FrozenClock(), payloads: numbers(1) });
    const leases = consume(rheo, "orders", "g");
    const { value } = await leases.next();
    const closing = leases.close({ timeoutMs: 60_000 });
    await value?.ack();
    await closing;
    expect(await lagOf(rheo)).toBe(0);
  });

  test("by the instance's close ends quietly", async () => {
    const clock = new FrozenClock();
    const rheo = await openOrders({ clock });
    const leases = consume(rheo, "orders", "g");
    const next = leases.next();
    await turns();
    await rheo.close();
    expect(await whilePassing(clock, next)).toEqual({ done: true, value: undefined });
  });

  test.each(["break", "signal", "close"])("by %s leaves no timer behind", async (how) => {
    const clock = new WatchedClock();
    await using rheo = await openOrders({ clock, payloads: numbers(20) });
    const controller = new AbortController();
    const leases = consume(rheo, "orders", "g", { signal: controller.signal });
    for await (const lease of leases) {
      void lease.ack();
      if (lease.sequence < 20) continue;
      expect(clock.pending).toBeGreaterThan(0);
      if (how === "break") break;
      if (how === "signal") controller.abort();
      else await leases.close({ timeoutMs: 1_000 });
    }
    await until("all is settled", async () => (await lagOf(rheo)) === 0);
    await until("its timers are gone", () => clock.pending === 0);
  });

  test("tells that it began and that it ended", async () => {
    await using rheo = await openOrders({ payloads: numbers(1) });
    const told = record(rheo, "consumer.started", "consumer.stopped");
    for await (const lease of consume(rheo, "orders", "g", { consumerId: "me" })) {
      await lease.ack();
      break;
    }
    expect(told.map(({ type, consumerId }) => [type, consumerId])).toEqual([
      ["consumer.started", "me"],
      ["consumer.stopped", "me"],
    ]);
  });
});

describe("what cannot be iterated over", () => {
  test.each([
    ["a stream that is not there", "nothing", "g", "stream_not_found"],
    ["a group that is not there", "orders", "nobody", "group_not_found"],
  ])("%s is an error of the first step, once", async (_, stream, group, code) => {
    await using rheo = await openOrders();
    const leases = consume(rheo, stream, group);
    await expect(leases.next()).rejects.toMatchObject({ code });
    expect(await leases.next()).toEqual({ done: true, value: undefined });
  });

  test("a partition that the stream does not have is an error of the first step", async () => {
    await using rheo = await openOrders({ partitions: 2 });
    await expect(consume(rheo, "orders", "g", { partitions: [2] }).next()).rejects.toMatchObject({ code: "invalid_option" });
  });

  test("a group that is deleted meanwhile ends it with an error; acks answer that it is gone", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(1) });
    const leases = consume(rheo, "orders", "g");
    const { value } = await leases.next();
    const next = leases.next();
    await rheo.deleteGroup("orders", "g", { confirm: true });
    await expect(whilePassing(clock, next)).rejects.toMatchObject({ code: "group_not_found" });
    await expect(value?.ack()).rejects.toMatchObject({ code: "stale_lease" });
  });

  const options: readonly (readonly [string, object])[] = [
    ["an unknown option", { demand: 5 }],
    ["a demand of 0", { maxDemand: 0 }],
    ["a demand above 10,000", { maxDemand: 10_001 }],
    ["a demand that is no whole number", { maxDemand: 1.5 }],
    ["a lease below 10 ms", { leaseMs: 9 }],
    ["a poll above a minute", { pollMs: 60_001 }],
    ["no partitions", { partitions: [] }],
    ["a signal that is none", { signal: {} }],
    ["an onError that is no function", { onError: "log" }],
    ["a createGroup that is no object", { createGroup: true }],
  ];
  test.each(options)("%s is refused at once", async (_, given) => {
    await using rheo = await openOrders();
    expect(() => consume(rheo, "orders", "g", given)).toThrow(expect.objectContaining({ code: "invalid_option" }));
  });

  test.each([
    ["stream", "no name", "g", {}],
    ["group", "orders", "", {}],
    ["consumer", "orders", "g", { consumerId: "a b" }],
  ])("a %s name that is none is refused at once", async (_, stream, group, given) => {
    await using rheo = await openOrders();
    expect(() => consume(rheo, stream, group, given)).toThrow(expect.objectContaining({ code: "invalid_name" }));
  });

  test("close and toReadable refuse unknown options", async () => {
    await using rheo = await openOrders();
    const leases = consume(rheo, "orders", "g");
    const unknown = { timeout: 5 } as object;
    expect(() => leases.close(unknown)).toThrow(RheoError);
    expect(() => leases.toReadable(unknown)).toThrow(RheoError);
  });
});
