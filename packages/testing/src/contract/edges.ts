/** Facts at the edges: each was found to be unproven by a wrong version of real code that nothing else noticed. */
import assert from "node:assert/strict";
import { ack, type Lease, reject } from "@rheo/core";
import { type ContractCase, rule } from "./case.ts";
import type { World } from "./world.ts";

const STREAM = "orders";
const GROUP = "billing";
/** Takeovers after which a store has dropped what it knew of the first; it keeps 256. */
const MANY_TAKEOVERS = 260;
const MANY_ATTEMPTS = 1_000;
/** For how long an instance may remember a group's options. */
const GROUP_MEMORY_MS = 5_000;
const LONG_MS = 60_000;
/** Calls join a write until it has 1,000 events. */
const MORE_THAN_HALF_A_WRITE = 600;
const HALF_LEASE_MS = 15_000;

/** One event that has failed once, with two attempts in all: its next is the last. */
const onLastAttempt = async (world: World): Promise<void> => {
  await world.group({ maxAttempts: 2 });
  const [lease] = await world.lease(1);
  await world.rheo.nack(present(lease), { delayMs: 0 });
};

const letters = async (world: World): Promise<number> => (await world.peer.deadLetters(STREAM, GROUP)).length;

export const edgeCases: readonly ContractCase[] = [
  rule("G3 T1 P1", "expired deliveries that do not fit in the bytes of a fetch stay, and come with another", async (world) => {
    await world.group();
    const input = { partition: 0, metadata: { padding: "x".repeat(1_000) } };
    await world.lease(3, input);
    await world.lease(3, input);
    world.expire();
    const first = await world.rheo.fetch(STREAM, GROUP, { limit: 6, maxBytes: 3_500 });
    assert.deepEqual(sequences(first), [1, 2, 3]);
    const rest = await world.peer.fetch(STREAM, GROUP, { limit: 6, consumerId: "other" });
    assert.deepEqual(sequences(rest), [4, 5, 6]);
    for (const lease of [...first, ...rest]) await world.rheo.ack(lease);
    const { lag, partitions } = await world.rheo.lag(STREAM, GROUP);
    assert.deepEqual([lag, partitions[0]?.skipped], [0, 0]);
  }),
  rule("T5", "a last attempt beside another delivery of its member is no proof when both run out", async (world) => {
    await world.group({ maxAttempts: 2 });
    const [first] = await world.lease(2);
    await world.rheo.nack(present(first), { delayMs: 0 });
    assert.equal((await world.takeOne()).attempt, 2);
    world.expire();
    assert.deepEqual(new Set(sequences(await world.drain())), new Set([1, 2]));
    assert.equal(await letters(world), 0);
  }),
  rule("T5", "a last attempt that began alone is no proof once its member was given more", async (world) => {
    await onLastAttempt(world);
    assert.equal((await world.takeOne()).attempt, 2);
    await world.lease(1);
    world.expire();
    assert.deepEqual(new Set(sequences(await world.drain())), new Set([1, 2]));
    assert.equal(await letters(world), 0);
  }),
  rule("T5", "a last attempt that ran alone to its expiry is proof", async (world) => {
    await onLastAttempt(world);
    assert.equal((await world.takeOne()).attempt, 2);
    world.expire();
    assert.deepEqual(await world.peerTake(10), []);
    assert.equal(await letters(world), 1);
  }),
  rule("T5", "the fetch that grants a suspect its last attempt grants nothing else", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.lease(1);
    await world.append(3);
    world.expire();
    assert.deepEqual(sequences(await world.peerTake(10)), [1]);
  }),
  rule("T5", "of suspects that are leased by themselves a member is given one at a time", async (world) => {
    await world.group({ maxAttempts: 8 });
    for (const lease of await world.lease(2)) await world.rheo.nack(lease, { delayMs: 0 });
    assert.equal((await world.take(10)).length, 2);
    world.expire();
    assert.equal((await world.peerTake(10)).length, 2);
    world.expire();
    assert.deepEqual(sequences(await world.take(10, { consumerId: "c" })), [1]);
  }),
  rule("T4", "a delivery that has had as many attempts as a lowered maxAttempts allows is dead", async (world) => {
    await world.group({ maxAttempts: 5 });
    await world.append(1);
    for (let attempt = 1; attempt <= 2; attempt++) await world.rheo.nack(await world.takeOne(), { delayMs: 0 });
    await world.peer.updateGroup(STREAM, GROUP, { maxAttempts: 2 });
    assert.deepEqual(await world.peerTake(10), []);
    assert.deepEqual(
      (await world.peer.deadLetters(STREAM, GROUP)).map(({ attempts }) => attempts),
      [2],
    );
  }),
  rule("T7", "whoever holds a delivery by itself is told that a replay took it", async (world) => {
    await world.group();
    const [first] = await world.lease(1);
    await world.rheo.nack(present(first), { delayMs: 0 });
    const lease = await world.takeOne();
    await world.peer.replay(STREAM, GROUP, { fromSequence: 0 });
    assert.deepEqual(await world.rheo.settle([{ lease, outcome: ack() }]), [{ status: "stale_lease", why: "reset" }]);
  }),
  rule("L10", "a forced trim takes the retry of the very last event that it removes", async (world) => {
    await world.group();
    await world.append(2);
    await world.rheo.nack(await world.takeOne(), { delayMs: LONG_MS });
    await world.rheo.trim(STREAM, { beforeSequence: 2, force: true });
    assert.equal(await world.frontier(), 1);
    assert.deepEqual(sequences(await world.drain()), [2]);
    assert.equal(await world.lag(), 0);
  }),
  rule("F2", "leases of one partition with different tokens are settled, and renewed, by one call", async (world) => {
    await world.group();
    await world.append(2);
    const leases = [await world.takeOne(), await world.takeOne()];
    assert.deepEqual(
      (await world.rheo.renewMany(leases)).map(({ status }) => status),
      ["renewed", "renewed"],
    );
    const answers = await world.rheo.settle(leases.map((lease) => ({ lease, outcome: ack() })));
    assert.deepEqual(answers, [
      { status: "settled", state: "acked" },
      { status: "settled", state: "acked" },
    ]);
  }),
  rule("F7", "a settle of a lease that was taken over too often to be remembered is never said to have worked", async (world) => {
    await world.group({ maxAttempts: MANY_ATTEMPTS });
    const [lease] = await world.lease(1);
    for (let takeover = 0; takeover < MANY_TAKEOVERS; takeover++) {
      world.expire();
      await world.peerTakeOne();
    }
    const answers = await world.rheo.settle([{ lease: present(lease), outcome: ack() }]);
    assert.deepEqual(answers, [{ status: "stale_lease", why: "reclaimed" }]);
  }),
  rule("T6", "failures that are settled together keep their own reasons", async (world) => {
    await world.group();
    const leases = await world.lease(2);
    await world.rheo.settle(leases.map((lease) => ({ lease, outcome: reject(`reason ${lease.sequence}`) })));
    const found = await world.peer.deadLetters(STREAM, GROUP);
    assert.deepEqual(
      found.map(({ reason }) => reason),
      ["reason 1", "reason 2"],
    );
  }),
  rule("T3", "retries with different delays each come at their own time", async (world) => {
    await world.group();
    const delays = [3_000, 1_000, 5_000];
    for (const [index, lease] of (await world.lease(3)).entries()) await world.rheo.nack(lease, { delayMs: delays[index] ?? 0 });
    world.clock.advance(1_000);
    assert.deepEqual(sequences(await world.peerTake(10)), [2]);
    world.clock.advance(2_000);
    assert.deepEqual(sequences(await world.peerTake(10)), [1]);
    world.clock.advance(2_000);
    assert.deepEqual(sequences(await world.peerTake(10)), [3]);
  }),
  rule("L4", "the id of an event that was trimmed is free again", async (world) => {
    await world.rheo.createStream(STREAM);
    await world.rheo.append(STREAM, { id: "same", payload: 1 });
    await world.rheo.trim(STREAM, { keepLast: 0 });
    assert.equal((await world.peer.append(STREAM, { id: "same", payload: 2 })).sequence, 2);
  }),
  rule("G3", "no partition starves while a retry is waiting for its time", async (world) => {
    await world.group({ partitions: 3 });
    for (const partition of [0, 1, 2]) await world.append(9, { partition });
    await world.rheo.nack(await world.takeOne(), { delayMs: LONG_MS });
    const leases: Lease[] = [];
    for (let fetch = 0; fetch < 6; fetch++) leases.push(await world.takeOne());
    assert.deepEqual(
      leases.map(({ partition }) => partition).sort((a, b) => a - b),
      [0, 0, 1, 1, 2, 2],
    );
  }),
  rule("G8", "a lease of a single delivery that ran out no longer counts", async (world) => {
    await world.group({ maxInflight: 1 });
    const [lease] = await world.lease(1);
    await world.rheo.nack(present(lease), { delayMs: 0 });
    await world.takeOne();
    world.expire();
    assert.deepEqual(sequences(await world.peerTake(10)), [1]);
  }),
  rule("T5", "what other members hold keeps nobody from being given a last attempt", async (world) => {
    await world.group({ maxAttempts: 2 });
    const [, second] = await world.lease(2);
    await world.rheo.nack(present(second), { delayMs: 0 });
    world.clock.advance(HALF_LEASE_MS);
    assert.deepEqual(sequences(await world.peerTake(10)), [2]);
    world.clock.advance(HALF_LEASE_MS);
    assert.deepEqual(sequences(await world.take(10)), [1]);
  }),
  rule("L5", "a batch that is refused at its end leaves no gap before what is appended at the same time", async (world) => {
    await world.rheo.createStream(STREAM);
    await world.rheo.append(STREAM, { id: "known", payload: 1 });
    const refusals = [
      [{ id: "known", payload: "other" }, "id_conflict"],
      [{ payload: 3, expectedSequence: MANY_ATTEMPTS }, "sequence_conflict"],
    ] as const;
    for (const [index, [last, code]] of refusals.entries()) {
      const refused = world.rheo.appendMany(STREAM, [{ payload: 2, partition: 0 }, last]);
      const appended = world.rheo.append(STREAM, { payload: 4, partition: 0 });
      await assert.rejects(refused, { code });
      assert.equal((await appended).sequence, index + 2);
    }
  }),
  rule("L5", "of appends that are too many to share one write each gets its answer", async (world) => {
    await world.rheo.createStream(STREAM);
    const batch = Array.from({ length: MORE_THAN_HALF_A_WRITE }, (_, payload) => ({ payload }));
    const answers = await Promise.all([1, 2, 3, 4].map(() => world.rheo.appendMany(STREAM, batch)));
    const last = answers.map((events) => events.at(-1)?.sequence ?? 0).sort((a, b) => a - b);
    assert.deepEqual(
      last,
      [1, 2, 3, 4].map((count) => count * MORE_THAN_HALF_A_WRITE),
    );
  }),
  rule("F5", "of a batch any one can be renewed alone: the first, one in the middle and the last", async (world) => {
    await world.group();
    for (const renewed of [0, 1, 2]) {
      const leases = await world.lease(3);
      world.clock.advance(HALF_LEASE_MS);
      await world.rheo.renew(present(leases[renewed]));
      world.clock.advance(HALF_LEASE_MS);
      const others = await world.peerTake(10);
      assert.deepEqual(sequences(others), sequences(leases.filter((_, index) => index !== renewed)));
      for (const lease of [...others, present(leases[renewed])]) await world.rheo.ack(lease);
    }
  }),
  rule("G9", "a run ends before an event of it that has to wait", async (world) => {
    await world.group({ ordering: "key", maxAttempts: 8 });
    await world.append(3, { key: "k", partition: 0 });
    for (const lease of await world.take(3, { runLimit: 3 })) await world.rheo.nack(lease, { delayMs: 0 });
    assert.deepEqual(sequences(await world.take(3, { runLimit: 3 })), [1, 2, 3]);
    world.expire();
    // now all of them are suspects; the third clears itself, so that of the first two one has to wait for the other
    const taken = await world.peerTake(3, { runLimit: 3 });
    assert.deepEqual(sequences(taken), [1, 2, 3]);
    await world.peer.nack(present(taken[2]), { delayMs: 0 });
    world.expire();
    assert.deepEqual(sequences(await world.take(3, { runLimit: 3, consumerId: "c" })), [1]);
  }),
  rule("T3", "a retry policy that somebody else changes takes hold within seconds", async (world) => {
    await world.group({ retry: { minMs: 1_000, maxMs: 1_000 } });
    const [first, second] = await world.lease(2);
    await world.rheo.nack(present(first));
    await world.peer.updateGroup(STREAM, GROUP, { retry: { minMs: LONG_MS, maxMs: LONG_MS } });
    world.clock.advance(GROUP_MEMORY_MS);
    await world.rheo.nack(present(second));
    assert.equal((await world.delivery(2)).until?.getTime(), world.clock.now() + LONG_MS);
  }),
];

const present = (lease: Lease | undefined): Lease => {
  assert.ok(lease);
  return lease;
};

const sequences = (leases: readonly Lease[]): number[] => leases.map(({ sequence }) => sequence);
