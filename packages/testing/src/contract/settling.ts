/** Settling: the table of transitions, holes, retries and their delays, the bound on attempts, dead letters (T1–T4, T6). */
import { ack, type DeadLetterInfo, type Lease, reject, retry } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, refusal, sequencesOf, stale, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

const MAX_REASON_BYTES = 4_096;
const DAY_MS = 86_400_000;

const transitions: readonly ContractCase[] = [
  rule("T1", "fetch: pending to leased, with the first attempt", async (world) => {
    await world.group();
    await world.append(1);
    expect(await world.delivery(1)).toMatchObject({ state: "pending", attempt: 0 });
    const lease = await world.takeOne();
    expect(lease.attempt).toBe(1);
    expect(await world.delivery(1)).toMatchObject({
      state: "leased",
      attempt: 1,
      consumerId: "a",
      since: lease.leasedAt,
      until: lease.expiresAt,
    });
  }),
  rule("T1", "fetch of an expired lease: leased again, attempt + 1, a new token", async (world) => {
    await world.group();
    const lease = at(await world.lease(1), 0);
    world.expire();
    expect(await world.delivery(1)).toMatchObject({ state: "leased", expired: true, attempt: 1, since: lease.expiresAt });
    const second = await world.peerTakeOne();
    expect(second).toMatchObject({ attempt: 2, consumerId: "b" });
    expect(second.token).toBeGreaterThan(lease.token);
    expect(await world.delivery(1)).toMatchObject({ state: "leased", attempt: 2, consumerId: "b" });
  }),
  rule("T1", "ack: leased to settled, and never offered again", async (world) => {
    await world.group();
    for (const lease of await world.lease(3)) await world.rheo.ack(lease);
    expect(await world.state(2)).toBe("acked");
    world.clock.advance(DAY_MS);
    expect(await world.peerTake()).toEqual([]);
    expect(await world.peer.leases(STREAM, GROUP)).toEqual([]);
  }),
  rule("T1", "nack: leased to retrying, offered again after the delay with the next attempt", async (world) => {
    await world.group();
    const lease = at(await world.lease(1), 0);
    expect(await world.rheo.nack(lease, { reason: "busy", delayMs: 700 })).toEqual({ state: "retrying" });
    const until = new Date(world.clock.now() + 700);
    expect(await world.delivery(1)).toMatchObject({ state: "retrying", attempt: 1, lastError: "busy", until });
    world.clock.advance(700);
    expect((await world.peerTakeOne()).attempt).toBe(2);
  }),
  rule("T1", "nack of the last attempt: leased to dead", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.rheo.nack(at(await world.lease(1), 0), { delayMs: 0 });
    expect(await world.rheo.nack(await world.takeOne(), { reason: "still" })).toEqual({ state: "dead" });
    expect(await world.delivery(1)).toMatchObject({ state: "dead", attempt: 2, lastError: "still" });
    world.clock.advance(DAY_MS);
    expect(await world.peerTake()).toEqual([]);
    expect(await world.lag()).toBe(0);
  }),
  rule("T1", "reject: leased to dead, whatever the attempt", async (world) => {
    await world.group();
    await world.rheo.reject(at(await world.lease(1), 0), { reason: "bad" });
    expect(await world.delivery(1)).toMatchObject({
      state: "dead",
      attempt: 1,
      lastError: "bad",
      since: new Date(world.clock.now()),
    });
    world.clock.advance(DAY_MS);
    expect(await world.peerTake()).toEqual([]);
  }),
  rule("T1 B36 B53", "release: back to pending at once, with the attempt given back, however often", async (world) => {
    await world.group({ maxAttempts: 3 });
    await world.append(1);
    for (let cycle = 0; cycle < 6; cycle++) {
      const lease = await (cycle % 2 === 0 ? world.takeOne() : world.peerTakeOne());
      expect(lease.attempt).toBe(1);
      await world.rheo.release(lease);
      expect(await world.delivery(1)).toMatchObject({ state: "pending", attempt: 0 });
    }
    await world.rheo.nack(await world.takeOne(), { delayMs: 0 });
    await world.rheo.release(await world.takeOne());
    expect((await world.takeOne()).attempt).toBe(2);
  }),
  rule("T1", "renew: leased stays leased", async (world) => {
    await world.group();
    await world.rheo.renew(at(await world.lease(1), 0));
    expect(await world.delivery(1)).toMatchObject({ state: "leased", attempt: 1 });
  }),
  rule("T1", "settle takes every outcome and answers with the new state", async (world) => {
    await world.group({ maxAttempts: 1 });
    const leases = await world.lease(3);
    const answers = await world.rheo.settle([
      { lease: at(leases, 0), outcome: ack() },
      { lease: at(leases, 1), outcome: retry("no") },
      { lease: at(leases, 2), outcome: reject("no") },
    ]);
    expect(answers.map((answer) => answer.status === "settled" && answer.state)).toEqual(["acked", "dead", "dead"]);
  }),
];

const holes: readonly ContractCase[] = [
  rule(
    "T2 B10",
    "a later ack does not move the frontier past an open delivery; the ack of the hole moves it over all at once",
    async (world) => {
      await world.group();
      const [first, second, third] = await world.lease(3);
      await world.rheo.ack(third as Lease);
      expect([await world.frontier(), await world.lag()]).toEqual([0, 3]);
      await world.rheo.ack(second as Lease);
      expect(await world.frontier()).toBe(0);
      await world.rheo.ack(first as Lease);
      expect([await world.frontier(), await world.lag()]).toEqual([3, 0]);
    },
  ),
  rule(
    "T2 B14",
    "the ack of a redelivered hole moves the frontier over what was acked, though later ones are in flight",
    async (world) => {
      await world.group();
      const leases = await world.lease(5);
      for (const lease of leases.slice(1)) await world.rheo.ack(lease);
      world.expire();
      const again = await world.peerTakeOne();
      expect([again.sequence, again.attempt]).toEqual([1, 2]);
      await world.append(4);
      expect(await world.take(4)).toHaveLength(4);
      await world.peer.ack(again);
      expect(await world.frontier()).toBe(5);
      expect((await world.peer.groupInfo(STREAM, GROUP)).inflight).toBe(4);
    },
  ),
  rule("T2 B10 B15", "acks out of order survive a restart: only the hole comes again", async (world) => {
    await world.group();
    const leases = await world.lease(500);
    for (const lease of leases.slice(1)) await world.rheo.ack(lease);
    await world.reopen();
    expect(await world.frontier()).toBe(0);
    world.expire();
    expect(sequencesOf(await world.take(1_000))).toEqual([1]);
    expect(sequencesOf(await world.peer.leases(STREAM, GROUP))).toEqual([1]);
  }),
  rule("T2", "dead letters count as settled for the frontier", async (world) => {
    await world.group();
    const leases = await world.lease(4);
    await world.rheo.reject(at(leases, 1));
    await world.rheo.ack(at(leases, 0));
    expect(await world.frontier()).toBe(2);
    await world.rheo.reject(at(leases, 3));
    await world.rheo.reject(at(leases, 2));
    expect(await world.lag()).toBe(0);
  }),
  rule("T2 O04", "acks of two members at the same time, in any order, leave the frontier where it belongs", async (world) => {
    await world.group();
    const leases = await world.lease(60);
    const shuffled = leases.map((lease, index) => ({ lease, at: (index * 37) % 61 })).sort((a, b) => a.at - b.at);
    await Promise.all(shuffled.map(({ lease }, index) => (index % 2 === 0 ? world.rheo : world.peer).ack(lease)));
    expect([await world.frontier(), await world.lag()]).toEqual([60, 0]);
  }),
];

const delays: readonly ContractCase[] = [
  rule(
    "T3 B34 O13",
    "during the delay nobody holds a lease and nobody is given the delivery; at the due time one is",
    async (world) => {
      await world.group();
      await world.rheo.nack(at(await world.lease(1), 0), { delayMs: LEASE_MS * 10 });
      expect(await world.peer.leases(STREAM, GROUP)).toEqual([]);
      for (let step = 0; step < 10; step++) {
        expect([...(await world.take()), ...(await world.peerTake())]).toEqual([]);
        world.clock.advance(LEASE_MS - (step === 9 ? 1 : 0));
      }
      expect(await world.take()).toEqual([]);
      expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ inflight: 0, retrying: 1, lag: 1 });
      world.clock.advance(1);
      expect([...(await world.take()), ...(await world.peerTake())].map((lease) => lease.attempt)).toEqual([2]);
    },
  ),
  rule(
    "T3",
    "without a delay of its own a nack takes the default policy: 1 s, doubled each time, at most 5 min",
    async (world) => {
      await world.group({ maxAttempts: 20 });
      let lease = at(await world.lease(1), 0);
      for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]) {
        await world.rheo.nack(lease);
        const { until } = await world.delivery(1);
        expect((until?.getTime() ?? 0) - world.clock.now()).toBe(seconds * 1_000);
        world.clock.advance(seconds * 1_000);
        lease = await world.takeOne();
      }
    },
  ),
  rule("T3", "the group's retry policy decides, also when it was just changed", async (world) => {
    await world.group({ retry: { minMs: 100, maxMs: 250, factor: 2, jitter: 0 }, maxAttempts: 10 });
    let lease = at(await world.lease(1), 0);
    for (const delayMs of [100, 200, 250]) {
      await world.rheo.nack(lease);
      expect((await world.delivery(1)).until?.getTime()).toBe(world.clock.now() + delayMs);
      world.clock.advance(delayMs);
      lease = await world.takeOne();
    }
    await world.rheo.updateGroup(STREAM, GROUP, { retry: { minMs: 7, maxMs: 7 } });
    await world.rheo.nack(lease);
    expect((await world.delivery(1)).until?.getTime()).toBe(world.clock.now() + 7);
  }),
  rule("T3 B135", "retries that failed together are spread over a fifth of their delay", async (world) => {
    let drawn = 0;
    const spread = await world.instance({ random: () => (drawn++ % 100) / 100 });
    await world.group();
    for (const lease of await world.lease(100)) await spread.nack(lease);
    const dues = new Set<number>();
    for (let n = 1; n <= 100; n++) dues.add(((await world.delivery(n)).until?.getTime() ?? 0) - world.clock.now());
    expect(Math.min(...dues)).toBe(900);
    expect(Math.max(...dues)).toBe(1_098);
    expect(dues.size).toBe(100);
  }),
  rule("T3", "a delay of 0 makes the delivery claimable at once", async (world) => {
    await world.group();
    await world.rheo.nack(at(await world.lease(1), 0), { delayMs: 0 });
    expect((await world.peerTakeOne()).attempt).toBe(2);
  }),
  rule("T3 B134", "a delay may be a month; what is not a whole number of ms from 0 up is refused", async (world) => {
    await world.group({ maxAttempts: 5 });
    const lease = at(await world.lease(1), 0);
    const before = await world.snapshot();
    for (const delayMs of [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 53, "5", null, true]) {
      await refusal(world.rheo.nack(lease, { delayMs: delayMs as never }), "invalid_option"); // the types forbid some of them too
    }
    expect(await world.snapshot()).toEqual(before);
    await world.rheo.nack(lease, { delayMs: 30 * DAY_MS });
    world.clock.advance(30 * DAY_MS - 1);
    expect(await world.take()).toEqual([]);
    world.clock.advance(1);
    expect(await world.take()).toHaveLength(1);
  }),
];

const attempts: readonly ContractCase[] = [
  rule("T4 O12 B50", "the attempt is counted when it starts, so one that crashes its member counts", async (world) => {
    await world.group({ maxAttempts: 3 });
    await world.append(1);
    for (const attempt of [1, 2, 3]) {
      const lease = await (attempt % 2 === 0 ? world.peerTakeOne() : world.takeOne());
      expect(lease.attempt).toBe(attempt);
      world.expire();
    }
    expect(await world.peerTake()).toEqual([]);
    expect(await world.take()).toEqual([]);
    const [letter] = await world.peer.deadLetters(STREAM, GROUP);
    expect(letter).toMatchObject({ sequence: 1, attempts: 3 });
    expect(await world.lag()).toBe(0);
  }),
  rule("T4", "nacks, expiries and releases share one count", async (world) => {
    await world.group({ maxAttempts: 4 });
    await world.append(1);
    await world.rheo.nack(await world.takeOne(), { delayMs: 0 });
    await world.takeOne();
    world.expire();
    const third = await world.takeOne();
    expect(third.attempt).toBe(3);
    await world.rheo.release(third);
    await world.rheo.nack(await world.takeOne(), { delayMs: 0 });
    const last = await world.takeOne();
    expect(last.attempt).toBe(4);
    expect(await world.rheo.nack(last)).toEqual({ state: "dead" });
  }),
  rule("T4", "by default a delivery is started five times", async (world) => {
    await world.group();
    await world.append(1);
    const seen: number[] = [];
    for (let round = 0; round < 10; round++) {
      for (const lease of await world.take()) {
        seen.push(lease.attempt);
        await world.rheo.nack(lease, { delayMs: 0 });
      }
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(await world.state(1)).toBe("dead");
  }),
  rule("T4", "with maxAttempts 1 the first failure is the last", async (world) => {
    await world.group({ maxAttempts: 1 });
    const [lease] = await world.lease(1);
    expect(await world.rheo.nack(lease as Lease, { delayMs: 0 })).toEqual({ state: "dead" });
    expect(await world.take()).toEqual([]);
  }),
  rule("T4", "a bound that is lowered holds for what is on its way", async (world) => {
    await world.group({ maxAttempts: 10 });
    await world.append(1);
    for (let n = 0; n < 3; n++) await world.rheo.nack(await world.takeOne(), { delayMs: 0 });
    await world.peer.updateGroup(STREAM, GROUP, { maxAttempts: 2 });
    for (const lease of await world.take()) await world.rheo.nack(lease, { delayMs: 0 });
    expect(await world.take()).toEqual([]);
    expect(await world.state(1)).toBe("dead");
  }),
];

const deadLetter = async (world: World): Promise<DeadLetterInfo> => at(await world.peer.deadLetters(STREAM, GROUP), 0);

const utf8 = (text: string): number => Buffer.byteLength(text, "utf8");

/** What people throw. */
const ODD_REASONS: readonly (readonly [name: string, reason: () => unknown])[] = [
  ["undefined", () => undefined],
  ["null", () => null],
  ["a number", () => 17],
  ["a symbol", () => Symbol("s")],
  ["an empty object", () => ({})],
  ["an object without a prototype", () => Object.create(null) as unknown],
  ["an object with a message", () => ({ message: "from an object" })],
  [
    "a circular object",
    () => {
      const circular: Record<string, unknown> = {};
      circular.self = circular;
      return circular;
    },
  ],
  ["a BigInt", () => 10n],
  ["a function", () => () => 1],
  [
    "an error whose message throws",
    () =>
      Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("no");
        },
      }),
  ],
  [
    "a hostile proxy",
    () =>
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
  [
    "an aggregate of 10,000 errors",
    () =>
      new AggregateError(
        upTo(10_000).map((n) => new Error(String(n))),
        "many",
      ),
  ],
];

const deadLetters: readonly ContractCase[] = [
  rule("T6", "a dead letter keeps event, attempts, reason, stack, consumer, and when it failed first and last", async (world) => {
    await world.group({ maxAttempts: 2 });
    const [event] = await world.append(1, { type: "t", key: "k", metadata: { m: 1 } });
    await world.rheo.nack(await world.takeOne(), { reason: "first", delayMs: 5_000 });
    const firstFailedAt = new Date(world.clock.now());
    world.clock.advance(5_000);
    const error = new TypeError("no such account");
    await world.peer.nack(await world.peerTakeOne(), { reason: error });
    expect(await deadLetter(world)).toEqual({
      eventId: event?.id,
      stream: STREAM,
      group: GROUP,
      partition: 0,
      sequence: 1,
      attempts: 2,
      reason: "TypeError: no such account",
      stack: error.stack,
      consumerId: "b",
      firstFailedAt,
      deadAt: new Date(world.clock.now()),
      event,
    });
  }),
  rule("T6", "a reason without a stack leaves none, and a missing reason reads as one", async (world) => {
    await world.group();
    const [first, second] = await world.lease(2);
    await world.rheo.reject(first as Lease, { reason: "bad input" });
    await world.rheo.reject(second as Lease);
    const [one, two] = await world.peer.deadLetters(STREAM, GROUP);
    expect(one).toMatchObject({ reason: "bad input", attempts: 1, consumerId: "a" });
    expect(one && "stack" in one).toBe(false);
    expect(two?.reason.length).toBeGreaterThan(3);
  }),
  rule("T6 B83", "a reason is cut to 4 KiB of UTF-8, never inside a character", async (world) => {
    await world.group();
    for (const length of [4_090, 4_092, 4_093, 4_094, 4_095, 4_096, 4_097, 100_000]) {
      const reason = `${"a".repeat(length)}\u{1f600}${"é".repeat(10)}`;
      await world.rheo.reject(at(await world.lease(1), 0), { reason });
      const letter = at(await world.peer.deadLetters(STREAM, GROUP), -1);
      expect(utf8(letter.reason)).toBeLessThanOrEqual(MAX_REASON_BYTES);
      expect(utf8(letter.reason)).toBeGreaterThan(Math.min(length, MAX_REASON_BYTES) - 4);
      expect(letter.reason.isWellFormed()).toBe(true);
      expect(reason.startsWith(letter.reason)).toBe(true);
    }
  }),
  rule("T6 B82", "a reason that no store takes as it is never fails the write", async (world) => {
    await world.group();
    for (const reason of [
      "nul \u0000 inside",
      "lone \ud800 surrogate",
      "\udc00",
      "'; DROP TABLE x; --",
      "\u2028 <script>",
      "%s %d {}",
      "\ufffe\uffff",
    ]) {
      await world.rheo.reject(at(await world.lease(1), 0), { reason });
      const letter = at(await world.peer.deadLetters(STREAM, GROUP), -1);
      expect(letter.reason.isWellFormed()).toBe(true);
      expect(letter.reason).not.toContain("\u0000");
      if (reason.isWellFormed() && !reason.includes("\u0000")) expect(letter.reason).toBe(reason);
    }
  }),
  ...ODD_REASONS.map(([name, reason]) =>
    rule("T6 B55 B56", `whatever is given as a reason, the failure is recorded: ${name}`, async (world) => {
      await world.group();
      const [first, second] = await world.lease(2);
      const answers = await world.rheo.settle([
        { lease: first as Lease, outcome: retry(reason(), { delayMs: 5 }) },
        { lease: second as Lease, outcome: reject(reason()) },
      ]);
      expect(answers.map(({ status }) => status)).toEqual(["settled", "settled"]);
      expect((await deadLetter(world)).reason.length).toBeGreaterThan(0);
      expect((await world.delivery(1)).lastError?.length).toBeGreaterThan(0);
    }),
  ),
  rule("T6 B61", "a delivery has one dead letter, and ack and dead letter are one step", async (world) => {
    await world.group();
    const lease = at(await world.lease(1), 0);
    await Promise.allSettled([world.rheo.reject(lease), world.peer.reject(lease), world.rheo.reject(lease)]);
    await world.reopen();
    expect(await world.peer.deadLetters(STREAM, GROUP)).toHaveLength(1);
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ deadLetters: 1, lag: 0, inflight: 0 });
    world.clock.advance(DAY_MS);
    expect(await world.peerTake()).toEqual([]);
  }),
  rule("T6 B62", "a settle that comes after the dead letter is refused, and a redrive runs it once more", async (world) => {
    await world.group({ maxAttempts: 1 });
    const lease = at(await world.lease(1), 0);
    world.expire();
    expect(await world.peerTake()).toEqual([]);
    await world.peerTake();
    if ((await world.peer.deadLetters(STREAM, GROUP)).length === 0)
      expect.fail("a lone last attempt that ran out is dead at the next fetch");
    const before = await world.snapshot();
    await stale(world.rheo.ack(lease), "reclaimed");
    await stale(world.rheo.nack(lease), "reclaimed");
    await stale(world.rheo.renew(lease), "reclaimed");
    expect(await world.snapshot()).toEqual(before);
    expect(await world.rheo.redrive(STREAM, GROUP, { all: true })).toEqual({ reopened: 1 });
    expect(sequencesOf(await world.drain())).toEqual([1]);
    expect(await world.peer.deadLetters(STREAM, GROUP)).toEqual([]);
  }),
  rule("T6", "a dead letter by expiry says which attempt ran out, and whose it was", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.append(1);
    const first = await world.takeOne();
    world.expire();
    await world.peerTakeOne();
    world.expire();
    expect(await world.take()).toEqual([]);
    const letter = await deadLetter(world);
    expect(letter).toMatchObject({
      attempts: 2,
      consumerId: "b",
      firstFailedAt: first.expiresAt,
      deadAt: new Date(world.clock.now()),
    });
    expect(letter.reason.length).toBeGreaterThan(10);
  }),
];

export const settlingCases: readonly ContractCase[] = [...transitions, ...holes, ...delays, ...attempts, ...deadLetters];
