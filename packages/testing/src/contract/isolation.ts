/**
 * Last-chance isolation (T5): an event that kills its process ends in exactly one dead letter, and the innocents that shared its
 * process, lease or batch are acked.
 */
import type { Lease } from "@rheo/core";
import { expect } from "vitest";
import { type FleetOptions, type FleetResult, runFleet } from "../crashes/fleet.ts";
import { seeded } from "../random.ts";
import { type ContractCase, rule } from "./case.ts";
import { at, numberOf, placesOf, sequencesOf, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

interface Scene {
  readonly name: string;
  readonly events: number;
  readonly partitions?: number;
  readonly poison: readonly number[];
  readonly members: number;
  readonly maxAttempts: number;
  readonly prefetch: number;
}

/** Deaths that halving a batch may take until one event is found, beside its last attempts. */
const halvings = ({ prefetch, maxAttempts }: Scene): number => Math.ceil(Math.log2(prefetch)) + maxAttempts + 3;

const SCENES: readonly Scene[] = [
  { name: "one of a batch of 8", events: 8, poison: [3], members: 1, maxAttempts: 5, prefetch: 8 },
  {
    name: "one of a batch of 8, with three attempts and two members",
    events: 8,
    poison: [6],
    members: 2,
    maxAttempts: 3,
    prefetch: 8,
  },
  { name: "the first and the last of a batch", events: 10, poison: [1, 10], members: 1, maxAttempts: 3, prefetch: 10 },
  { name: "one of many events", events: 60, poison: [31], members: 3, maxAttempts: 3, prefetch: 20 },
  { name: "three of many events", events: 60, poison: [2, 30, 31], members: 3, maxAttempts: 4, prefetch: 20 },
  { name: "one in each of two partitions", events: 24, partitions: 2, poison: [4, 5], members: 2, maxAttempts: 3, prefetch: 12 },
  { name: "every single one", events: 5, poison: [1, 2, 3, 4, 5], members: 2, maxAttempts: 2, prefetch: 5 },
  { name: "one where a single attempt is allowed", events: 9, poison: [5], members: 2, maxAttempts: 1, prefetch: 9 },
  { name: "one alone in its lease", events: 6, poison: [2], members: 1, maxAttempts: 3, prefetch: 1 },
];

const fleet = (world: World, scene: Scene, options: Pick<FleetOptions, "atOnce">): Promise<FleetResult> =>
  runFleet({
    instances: [world.rheo, world.peer],
    clock: world.clock,
    stream: STREAM,
    group: GROUP,
    random: seeded(7),
    members: scene.members,
    prefetch: scene.prefetch,
    leaseMs: LEASE_MS,
    isPoison: (lease) => scene.poison.includes(Number(numberOf(lease))),
    ...options,
  });

const play = async (world: World, scene: Scene, atOnce: boolean): Promise<void> => {
  const partitions = scene.partitions ?? 1;
  await world.group({ partitions, maxAttempts: scene.maxAttempts });
  for (const n of upTo(scene.events)) await world.append(1, { partition: n % partitions });
  const { crashes, acked, ackedTwice, lag } = await fleet(world, scene, { atOnce });
  expect(lag).toBe(0);
  const letters = await world.peer.deadLetters(STREAM, GROUP);
  expect(
    letters.map((letter) => numberOf(letter.event ?? expect.fail("a dead letter without its event"))).sort(byNumber),
  ).toEqual(scene.poison);
  for (const letter of letters) expect(letter.attempts).toBe(scene.maxAttempts);
  expect(acked.size).toBe(scene.events - scene.poison.length);
  expect(ackedTwice).toEqual([]);
  expect(Math.max(...crashes.values())).toBeLessThanOrEqual(halvings(scene) * (scene.prefetch > 1 ? scene.poison.length : 1));
  expect(Math.max(...acked.values())).toBeLessThanOrEqual(scene.maxAttempts);
};

const byNumber = (a: unknown, b: unknown): number => Number(a) - Number(b);

const scenes: readonly ContractCase[] = SCENES.flatMap((scene) =>
  [true, false].map((atOnce) =>
    rule(
      `T5 O12 B50`,
      `events that kill their process end in one dead letter each, the others are acked: ${scene.name}, worked on ${atOnce ? "at once" : "in turn"}`,
      (world) => play(world, scene, atOnce),
    ),
  ),
);

/** Lease lengths for which a last attempt may keep its member from other work, at the very most. */
const MAX_RESERVED_LEASES = 20;

/** Leases event 1 until its next attempt is the last, each time alone. */
const untilLast = async (world: World, maxAttempts: number): Promise<void> => {
  for (let attempt = 1; attempt < maxAttempts; attempt++) {
    expect(await world.take(1)).toHaveLength(1);
    world.expire();
  }
};

const cases: readonly ContractCase[] = [
  rule("T5", "those that shared a lease that ran out on its last attempt are not condemned for it", async (world) => {
    await world.group({ maxAttempts: 1 });
    await world.lease(6);
    world.expire();
    for (let round = 0; round < 40 && (await world.lag()) > 0; round++) {
      for (const lease of await world.peerTake(10)) await world.peer.ack(lease);
      world.clock.advance(LEASE_MS / 2);
    }
    expect(await world.lag()).toBe(0);
    expect(await world.peer.deadLetters(STREAM, GROUP)).toEqual([]);
  }),
  rule(
    "T5",
    "a lone delivery is dead once its last attempt ran out, not before, and after exactly that many attempts",
    async (world) => {
      await world.group({ maxAttempts: 3 });
      await world.append(1);
      await untilLast(world, 3);
      const last = await world.takeOne();
      expect(last.attempt).toBe(3);
      world.clock.advance(LEASE_MS - 1);
      expect(await world.peerTake()).toEqual([]);
      expect(await world.peer.deadLetters(STREAM, GROUP)).toEqual([]);
      world.clock.advance(1);
      expect(await world.peerTake()).toEqual([]);
      expect((await world.peer.deadLetters(STREAM, GROUP)).map(({ sequence, attempts }) => [sequence, attempts])).toEqual([
        [1, 3],
      ]);
      expect(await world.lag()).toBe(0);
    },
  ),
  rule("T5 B44", "a last attempt that is renewed and acked is no dead letter, however long it took", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.append(1);
    await untilLast(world, 2);
    const last = await world.takeOne();
    for (let beat = 0; beat < 10; beat++) {
      world.clock.advance(LEASE_MS - 1);
      await world.rheo.renew(last);
      expect(await world.peerTake()).toEqual([]);
    }
    await world.rheo.ack(last);
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 0, deadLetters: 0 });
  }),
  rule("T5", "a member on a suspect's last attempt is given nothing else meanwhile; others are", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.append(1);
    await untilLast(world, 2);
    const last = await world.peerTakeOne();
    expect(last.attempt).toBe(2);
    await world.append(4);
    expect(await world.peerTake(10)).toEqual([]);
    expect(sequencesOf(await world.take(2))).toEqual([2, 3]);
    await world.peer.ack(last);
    expect(sequencesOf(await world.peerTake(10))).toEqual([4, 5]);
  }),
  rule(
    "T5",
    "it is given nothing else for a bounded time only, so that a long handler does not idle its member for ever",
    async (world) => {
      await world.group({ maxAttempts: 2 });
      await world.append(1);
      await untilLast(world, 2);
      const last = await world.peerTakeOne();
      await world.append(2);
      const given: Lease[] = [];
      for (let step = 0; step < MAX_RESERVED_LEASES * 2 && given.length === 0; step++) {
        world.clock.advance(LEASE_MS / 2);
        await world.peer.renew(last);
        given.push(...(await world.peerTake(10)));
      }
      expect(sequencesOf(given)).toEqual([2, 3]);
      await world.peer.ack(last);
    },
  ),
  rule("T5", "a last attempt beside which its member was given more, as it took so long, condemns nobody", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.append(1);
    await untilLast(world, 2);
    const last = await world.peerTakeOne();
    await world.append(2);
    for (let step = 0; step < MAX_RESERVED_LEASES * 2 && (await world.peerTake(10)).length === 0; step++) {
      world.clock.advance(LEASE_MS / 2);
      await world.peer.renew(last);
    }
    for (let round = 0; round < 20 && (await world.lag()) > 0; round++) {
      world.expire();
      for (const lease of await world.take(10, { consumerId: `healthy-${round}` })) await world.rheo.ack(lease);
    }
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 0, deadLetters: 0 });
  }),
  rule("T5", "a last attempt waits for a member that holds nothing else", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.append(1);
    await world.takeOne();
    await world.append(1);
    const other = await world.peerTakeOne();
    world.clock.advance(LEASE_MS);
    await world.peer.renew(other);
    expect(sequencesOf(await world.peerTake(10))).toEqual([]);
    await world.peer.ack(other);
    expect((await world.peerTake(10)).map(({ sequence, attempt }) => [sequence, attempt])).toEqual([[1, 2]]);
  }),
  rule("T5", "a member that is never idle works on while a last attempt waits, and an idle one is given it", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.append(1);
    await world.takeOne();
    await world.append(1);
    const busy = await world.peerTakeOne();
    world.expire();
    await world.peer.renew(busy);
    await world.append(3);
    const given: Lease[] = [];
    for (let step = 0; step < 12 && given.length < 3; step++) {
      world.clock.advance(LEASE_MS / 3);
      await world.peer.renewMany([busy, ...given]);
      given.push(...(await world.peerTake(10)).filter(({ sequence }) => sequence !== 1));
    }
    expect(sequencesOf(given)).toEqual([3, 4, 5]);
    const idle = await world.rheo.fetch(STREAM, GROUP, { limit: 10, consumerId: "idle" });
    const state = await world.delivery(1);
    expect(state).toMatchObject({ state: "leased", attempt: 2 });
    if (state.consumerId === "idle") expect(sequencesOf(idle)).toEqual([1]);
  }),
  rule("T5", "a last attempt beside which other suspects of its member came back to life condemns nobody", async (world) => {
    await world.group({ maxAttempts: 3 });
    await world.append(3);
    await world.take(1);
    await world.take(2);
    world.expire();
    expect((await world.rheo.fetch(STREAM, GROUP, { limit: 1, consumerId: "c" })).map(({ sequence }) => sequence)).toEqual([1]);
    const suspects = await world.peerTake(2);
    expect(suspects.map(({ sequence, attempt }) => [sequence, attempt])).toEqual([
      [2, 2],
      [3, 2],
    ]);
    world.expire();
    expect((await world.peerTake(1)).map(({ sequence, attempt }) => [sequence, attempt])).toEqual([[1, 3]]);
    await world.peer.renewMany(suspects);
    for (let round = 0; round < 20 && (await world.lag()) > 0; round++) {
      world.expire();
      for (const lease of await world.take(10, { consumerId: `healthy-${round}` })) await world.rheo.ack(lease);
    }
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 0, deadLetters: 0 });
  }),
  rule("T5", "a delivery that failed by itself is no crash suspect: it retries beside others", async (world) => {
    await world.group({ maxAttempts: 3 });
    const leases = await world.lease(4);
    for (const lease of leases) await world.rheo.nack(lease, { delayMs: 0 });
    const second = await world.peerTake(10);
    expect(second.map(({ attempt }) => attempt)).toEqual([2, 2, 2, 2]);
    for (const lease of second) await world.peer.nack(lease, { delayMs: 0 });
    const third = await world.take(10);
    expect(third.map(({ attempt }) => attempt)).toEqual([3, 3, 3, 3]);
    expect(placesOf(third)).toHaveLength(4);
  }),
  rule("T5 B41", "what was dead-lettered for expiring is dead for the member that comes back late", async (world) => {
    await world.group({ maxAttempts: 2 });
    await world.append(1);
    await untilLast(world, 2);
    const last = await world.takeOne();
    world.expire();
    await world.peerTake();
    const [answer] = await world.rheo.settle([{ lease: last, outcome: { kind: "ack" } }]);
    expect(answer).toEqual({ status: "stale_lease", why: "reclaimed" });
    expect(await world.peer.groupInfo(STREAM, GROUP)).toMatchObject({ lag: 0, deadLetters: 1 });
    expect(at(await world.peer.deadLetters(STREAM, GROUP), 0).attempts).toBe(2);
  }),
];

export const isolationCases: readonly ContractCase[] = [...scenes, ...cases];
