import { FrozenClock, type Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { consume, type HeldLease } from "@rheo/pipeline";
import { describe, expect, test } from "vitest";
import { gate, lagOf, meddled, numbers, openOrders, pass, record, sequencesOf, skip, turns, until } from "./fixtures/store.ts";

/** The first lease of a new iteration, and that iteration. */
const first = async (
  rheo: Rheo,
  options: Parameters<typeof consume>[3] = {},
): Promise<{ lease: HeldLease<unknown>; leases: ReturnType<typeof consume> }> => {
  const leases = consume(rheo, "orders", "g", options);
  const { value } = await leases.next();
  if (value === undefined) throw new Error("There was no lease.");
  return { lease: value, leases };
};

describe("a lease", () => {
  test("is acked, nacked, rejected and released, each with its own answer", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(5), group: { maxAttempts: 2 } });
    const taken: HeldLease<unknown>[] = [];
    await using leases = consume(rheo, "orders", "g");
    while (taken.length < 5) taken.push(...[(await leases.next()).value].filter((lease) => lease !== undefined));
    const [a, b, c, d] = taken;
    const answers = await Promise.all([
      a?.ack(),
      b?.nack({ reason: "busy", delayMs: 500 }),
      c?.reject({ reason: new RangeError("no") }),
      d?.release(),
    ]);
    expect(answers).toEqual([undefined, { state: "retrying" }, undefined, undefined]);
    expect(await rheo.deadLetters("orders", "g")).toMatchObject([{ sequence: 3, reason: "RangeError: no", attempts: 1 }]);
    expect(await rheo.explainLag("orders", "g")).toMatchObject([{ sequence: 2, state: "retrying", lastError: "busy" }]);
    const again = (await leases.next()).value;
    expect([again?.sequence, again?.attempt]).toEqual([4, 1]);
  });

  test("answers to nack that it is dead after the last attempt", async () => {
    await using rheo = await openOrders({ payloads: numbers(1), group: { maxAttempts: 1 } });
    const { lease, leases } = await first(rheo);
    expect(await lease.nack()).toEqual({ state: "dead" });
    expect(await rheo.deadLetters("orders", "g")).toMatchObject([{ reason: "no reason given" }]);
    await leases.close();
  });

  test("waits by the group's retry policy when a nack names no delay", async () => {
    const clock = new FrozenClock();
    const retry = { minMs: 700, maxMs: 700, jitter: 0 };
    await using rheo = await openOrders({ clock, payloads: numbers(1), group: { retry } });
    const { lease, leases } = await first(rheo);
    await lease.nack();
    const [holder] = await rheo.explainLag("orders", "g");
    expect(holder).toMatchObject({ state: "retrying", until: new Date(clock.now() + 700) });
    await leases.close();
  });

  test("settles once: after that it is stale, without a round trip", async () => {
    let calls = 0;
    const count = (call: () => Promise<unknown>): Promise<unknown> => {
      calls += 1;
      return call();
    };
    const backend = meddled(memory(), { exchange: count });
    await using rheo = await openOrders({ backend, payloads: numbers(1) });
    const { lease, leases } = await first(rheo);
    const ack = lease.ack();
    await expect(lease.nack()).rejects.toMatchObject({ code: "stale_lease", details: { why: "settled", sequence: 1 } });
    await ack;
    const before = calls;
    await expect(lease.release()).rejects.toMatchObject({ code: "stale_lease" });
    expect([calls, await lagOf(rheo)]).toEqual([before, 0]);
    await leases.close();
  });

  test("shares its round trip with others that are settled at the same time", async () => {
    const settled = await (async () => {
      await using rheo = await openOrders({ payloads: numbers(100) });
      const told = record(rheo, "lease.settled");
      const leases = consume(rheo, "orders", "g", { maxDemand: 100 });
      const taken = await Promise.all(numbers(40).map(() => leases.next()));
      await Promise.all(taken.map(async ({ value }) => value?.ack()));
      await leases.close();
      return told;
    })();
    expect(settled.map(({ acked }) => acked)).toEqual([40, 0]);
  });

  test("may be taken apart from its methods, and they are no part of its data", async () => {
    await using rheo = await openOrders({ payloads: numbers(1) });
    const { lease, leases } = await first(rheo);
    const { ack } = lease;
    expect(structuredClone({ ...lease })).toMatchObject({ sequence: 1, stream: "orders", group: "g" });
    await ack();
    expect(await lagOf(rheo)).toBe(0);
    await leases.close();
  });

  test("that is stale, and whose answer nobody waits for, is no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listener);
    await using rheo = await openOrders({ payloads: numbers(2) });
    const told = record(rheo, "lease.stale");
    const { lease, leases } = await first(rheo);
    await rheo.ack(lease); // by another way
    void lease.ack();
    void lease.ack();
    await leases.close();
    await turns();
    process.off("unhandledRejection", listener);
    expect([unhandled, told.map(({ why }) => why)]).toEqual([[], ["settled"]]);
  });

  test.each([
    ["ack", { when: 5 }],
    ["nack", { delay: 5 }],
    ["nack", { delayMs: -1 }],
    ["nack", { reason: 5 }],
    ["reject", { delayMs: 5 }],
    ["release", { reason: "x" }],
  ] as const)("refuses %s with %o, and is held as before", async (how, options) => {
    await using rheo = await openOrders({ payloads: numbers(1) });
    const { lease, leases } = await first(rheo);
    await expect(lease[how](options as object)).rejects.toMatchObject({ code: "invalid_option" });
    await lease.ack();
    expect(await lagOf(rheo)).toBe(0);
    await leases.close();
  });

  test("cannot be settled in a transaction where the store has none, and is held as before", async () => {
    await using rheo = await openOrders({ payloads: numbers(1) });
    const { lease, leases } = await first(rheo);
    await expect(lease.ack({ transaction: {} })).rejects.toMatchObject({ code: "unsupported" });
    await lease.ack();
    expect(await lagOf(rheo)).toBe(0);
    await leases.close();
  });
});

describe("while it is held, a lease", () => {
  test("is renewed: in hand for ten lease lengths, waiting or not, it is still ours", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(6), group: { leaseMs: 1_000 } });
    const { lease, leases } = await first(rheo, { maxDemand: 6 });
    await pass(clock, 10_000, 100);
    expect((await rheo.fetch("orders", "g")).length).toBe(0);
    await lease.ack();
    const second = (await leases.next()).value;
    expect([second?.sequence, second?.attempt, second?.signal.aborted]).toEqual([2, 1, false]);
    await leases.close();
  });

  test("aborts its signal when it is lost, and then is stale with the reason", async () => {
    const clock = new FrozenClock();
    const meddling = { renew: undefined as ((call: () => Promise<unknown>) => Promise<unknown>) | undefined };
    const backend = meddled(memory(), meddling);
    await using rheo = await openOrders({ clock, backend, payloads: numbers(1), group: { leaseMs: 1_000 } });
    const told = record(rheo, "lease.lost");
    const { lease, leases } = await first(rheo);
    const { signal } = lease;
    const hang = gate<unknown>();
    meddling.renew = () => hang.promise; // renewals get stuck, until somebody else has the delivery
    await pass(clock, 1_100, 100);
    const [taken] = await rheo.fetch("orders", "g", { consumerId: "another" });
    meddling.renew = undefined;
    await pass(clock, 700, 100);
    expect([signal.aborted, (signal.reason as Error).message]).toEqual([true, expect.stringContaining("lost: expired")]);
    await expect(lease.ack()).rejects.toMatchObject({ code: "stale_lease", details: { why: "reclaimed" } });
    expect(told.map(({ why }) => why)).toContain("reclaimed");
    if (taken !== undefined) await rheo.ack(taken);
    hang.open({ expiresAtMs: 0, stale: [[null]] });
    await leases.close();
  });

  test("that was lost while it waited is not handed out", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(3) });
    const { lease, leases } = await first(rheo, { leaseMs: 1_000 });
    await rheo.replay("orders", "g", { fromSequence: 1 }); // 2 and 3 are another's from now on
    await pass(clock, 400);
    const next = leases.next();
    await lease.ack();
    const { value } = await next;
    expect([value?.sequence, value?.token === lease.token]).toEqual([2, false]);
    await leases.close();
  });

  test("is renewed before it is handed out, when the thread was busy for longer than it lasts", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(3), group: { leaseMs: 1_000 } });
    const { leases } = await first(rheo);
    const told = record(rheo, "lease.renewed", "lease.lost");
    const next = leases.next(); // 2 is in hand
    await next;
    skip(clock, 5_000); // no timer fires meanwhile, as when the loop's body blocks
    const [taken] = await rheo.fetch("orders", "g", { consumerId: "another", limit: 3 });
    expect(taken?.sequence).toBe(1); // it took all three
    const after = leases.next();
    await turns();
    expect(told.map(({ type }) => type)).toContain("lease.lost");
    let isThere = false;
    void after.then(() => {
      isThere = true;
    });
    await turns();
    expect(isThere).toBe(false); // 3 was not handed out
    await leases.close();
    await after;
  });

  test("is no longer offered to renew once it is settled", async () => {
    const clock = new FrozenClock();
    await using rheo = await openOrders({ clock, payloads: numbers(2), group: { leaseMs: 900 } });
    const told = record(rheo, "lease.renewed", "lease.stale");
    const { lease, leases } = await first(rheo, { maxDemand: 2 });
    await lease.ack();
    await pass(clock, 900, 100);
    expect(told.map((event) => ("count" in event ? event.count : event.why))).toEqual([1, 1, 1]);
    expect(await sequencesOf(rheo)).toEqual([2]);
    await leases.close();
    await until("it is given back", async () => (await sequencesOf(rheo)).length === 0);
  });
});
