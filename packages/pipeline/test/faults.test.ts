/** When the store does not answer. */
import { FrozenClock, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { consume, pipeline } from "@rheo/pipeline";
import { type Flaky, flaky } from "@rheo/testing";
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
  turns,
  until,
  whilePassing,
} from "./fixtures/store.ts";

const unavailable = (): RheoError => new RheoError("unavailable", "The store is away.");

/** A store that is calm, and fails where `failNext` says. */
const calm = (): Flaky => flaky(memory(), { seed: 1 });

describe("a fetch that fails", () => {
  test("is tried again after a while that grows, and told", async () => {
    const clock = new FrozenClock();
    const times: number[] = [];
    const meddling: Meddling = {};
    await using rheo = await openOrders({ clock, backend: meddled(memory(), meddling), payloads: numbers(1), random: () => 0.5 });
    const told = record(rheo, "fetch.failed");
    const errors: Error[] = [];
    meddling.exchange = () => {
      times.push(clock.now());
      return Promise.reject(unavailable());
    };
    const leases = consume(rheo, "orders", "g", { onError: (error) => errors.push(error) });
    const next = leases.next();
    await pass(clock, 2_000, 10);
    meddling.exchange = undefined;
    expect((await whilePassing(clock, next)).value?.sequence).toBe(1);
    expect(times.map((time, index) => time - (times[index - 1] ?? time))).toEqual([0, 50, 100, 200, 400, 800]);
    expect(told.map(({ failures, nextInMs }) => [failures, nextInMs]).slice(0, 3)).toEqual([
      [1, 50],
      [2, 100],
      [3, 200],
    ]);
    expect(errors).toEqual(told.map(({ error }) => error));
    await leases.close();
  });

  test("is not tried earlier because of a wake-up or a settlement", async () => {
    const clock = new FrozenClock();
    let calls = 0;
    const meddling: Meddling = {};
    await using rheo = await openOrders({ clock, backend: meddled(memory(), meddling), payloads: numbers(3), random: () => 0.5 });
    const leases = consume(rheo, "orders", "g", { maxDemand: 4 });
    const { value } = await leases.next();
    await turns();
    meddling.exchange = () => {
      calls += 1;
      return Promise.reject(unavailable());
    };
    void leases.next();
    void leases.next();
    void leases.next();
    const ack = value?.ack();
    await turns();
    expect(calls).toBe(1);
    await rheo.append("orders", { payload: "wakes" });
    await pass(clock, 49, 1);
    expect(calls).toBe(1);
    await pass(clock, 1, 1);
    expect(calls).toBe(2);
    meddling.exchange = undefined;
    if (ack !== undefined) await whilePassing(clock, ack);
    await leases.close();
  });

  test("before the group is met is waited for", async () => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend, payloads: numbers(1) });
    backend.failNext("getGroup", "refused", "refused");
    const leases = consume(rheo, "orders", "g");
    expect((await whilePassing(clock, leases.next())).value?.sequence).toBe(1);
    await leases.close();
  });

  test("does not keep an iteration from being closed before the group is met", async () => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend });
    backend.failNext("getGroup", ...new Array<"refused">(100).fill("refused"));
    const leases = consume(rheo, "orders", "g");
    const next = leases.next();
    await turns();
    await leases.close();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test("and whose onError throws or rejects is no unhandled rejection, and goes on", async () => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend, payloads: numbers(2) });
    const warnings: string[] = [];
    const listener = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", listener);
    backend.failNext("exchange", "refused", "refused");
    let calls = 0;
    const leases = consume(rheo, "orders", "g", {
      onError: () => {
        calls += 1;
        if (calls === 1) throw new Error("thrown");
        return Promise.reject(new Error("rejected"));
      },
    });
    expect((await whilePassing(clock, leases.next())).value?.sequence).toBe(1);
    await until("both are told", () => warnings.length === 2);
    process.off("warning", listener);
    expect(warnings).toEqual([expect.stringContaining("thrown"), expect.stringContaining("rejected")]);
    await leases.close();
  });
});

describe("a settlement whose answer is lost", () => {
  test.each(["ack", "nack", "reject"] as const)("is sent again, and then is answered: %s", async (how) => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend, payloads: numbers(1) });
    const leases = consume(rheo, "orders", "g");
    const { value } = await leases.next();
    await turns();
    backend.failNext("exchange", "lost", "lost");
    await whilePassing(clock, Promise.resolve(value?.[how]()));
    expect(backend.injected.lost).toBe(2);
    await leases.close();
    const [holder] = await rheo.explainLag("orders", "g");
    expect(holder?.state ?? (await rheo.deadLetters("orders", "g"))[0]?.reason).toBe(
      { ack: undefined, nack: "retrying", reject: "no reason given" }[how],
    );
  });

  test("answers to nack that the delivery is dead, if it is", async () => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend, payloads: numbers(1), group: { maxAttempts: 1 } });
    const leases = consume(rheo, "orders", "g");
    const { value } = await leases.next();
    await turns();
    backend.failNext("exchange", "lost");
    expect(await whilePassing(clock, Promise.resolve(value?.nack()))).toEqual({ state: "dead" });
    await leases.close();
  });

  test("is never contradicted: what a pipeline acked stays acked", async () => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend, payloads: numbers(20), group: { leaseMs: 1_000 } });
    const stale = record(rheo, "lease.stale");
    let runs = 0;
    const running = pipeline({
      rheo,
      stream: "orders",
      group: "g",
      processors: {
        handle: () => {
          runs += 1;
        },
      },
    });
    await until("all have run", () => runs === 20);
    backend.failNext("exchange", "lost", "lost", "lost");
    await pass(clock, 5_000);
    expect([runs, await lagOf(rheo), running.stats().acked, running.stats().stale]).toEqual([20, 0, 20, 0]);
    expect(stale.every(({ why }) => why === "settled")).toBe(true);
    await running.stop();
  });
});

describe("a store that does not answer at the end", () => {
  test("holds up neither close nor stop for more than two seconds; acks then say what is not known", async () => {
    const clock = new FrozenClock();
    const meddling: Meddling = {};
    await using rheo = await openOrders({
      clock,
      backend: meddled(memory(), meddling),
      payloads: numbers(5),
      group: { leaseMs: 60_000 },
    });
    const leases = consume(rheo, "orders", "g", { maxDemand: 2 });
    const { value } = await leases.next();
    const other = (await leases.next()).value;
    await turns();
    const hang = gate<unknown>();
    meddling.exchange = () => hang.promise;
    const ack = value?.ack();
    await turns();
    const startMs = clock.now();
    const closing = leases.close();
    expect(other?.signal.aborted).toBe(true); // at once
    await whilePassing(clock, closing, 10);
    expect(clock.now() - startMs).toBeLessThanOrEqual(2_100);
    await expect(ack).rejects.toMatchObject({ code: "outcome_unknown" });
    meddling.exchange = undefined;
    hang.open({ settled: [], grants: [], more: false, died: [] });
    await turns();
  });

  test("that refuses is asked again, so that what is held goes back once it can", async () => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend, payloads: numbers(5) });
    const leases = consume(rheo, "orders", "g");
    await leases.next();
    await turns();
    backend.failNext("exchange", "refused", "lost", "refused");
    await whilePassing(clock, leases.close(), 10);
    expect(await sequencesOf(rheo)).toEqual([]);
    expect((await rheo.fetch("orders", "g")).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1]);
  });
});

describe("a renewal that fails", () => {
  test("is told and tried again in time: nothing is lost by two failures", async () => {
    const clock = new FrozenClock();
    const backend = calm();
    await using rheo = await openOrders({ clock, backend, payloads: numbers(1), group: { leaseMs: 10_000 } });
    const told = record(rheo, "renew.failed", "lease.lost");
    const errors: Error[] = [];
    const leases = consume(rheo, "orders", "g", { onError: (error) => errors.push(error) });
    const { value } = await leases.next();
    backend.failNext("renew", "refused", "lost");
    await pass(clock, 30_000, 100);
    expect(told.map(({ type }) => type)).toEqual(["renew.failed", "renew.failed"]);
    expect([errors.length, value?.signal.aborted]).toEqual([2, false]);
    await value?.ack();
    await leases.close();
  });

  test("until the lease is over aborts the signal, takes nothing new, and an ack still counts if nobody has claimed it", async () => {
    const clock = new FrozenClock();
    const meddling: Meddling = { renew: undefined };
    await using rheo = await openOrders({
      clock,
      backend: meddled(memory(), meddling),
      payloads: numbers(3),
      group: { leaseMs: 1_000 },
    });
    const lost = record(rheo, "lease.lost");
    const leases = consume(rheo, "orders", "g", { maxDemand: 2 });
    const { value } = await leases.next();
    meddling.renew = () => Promise.reject(unavailable());
    await pass(clock, 1_200, 20);
    expect(value?.signal.aborted).toBe(true);
    expect(lost.map(({ sequence, why }) => [sequence, why])).toEqual([[1, "expired"]]);
    const next = leases.next(); // 2 waited, and was given up
    await pass(clock, 500, 20);
    expect(await sequencesOf(rheo)).toEqual([1, 2]); // 3 is not fetched, since it could not be kept
    meddling.renew = undefined;
    await value?.ack();
    expect(await lagOf(rheo)).toBe(2);
    expect((await whilePassing(clock, next, 20)).value?.sequence).toBe(2);
    await leases.close();
  });
});
