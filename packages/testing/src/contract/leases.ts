/** Leases: tokens that only rise, fencing, expiry, renewal, the store's clock and lost answers (F1–F7). */
import { ack, type Lease, type Rheo, reject, release, retry } from "@rheo/core";
import { expect } from "vitest";
import { type ContractCase, rule } from "./case.ts";
import { at, refusal, rising, sequencesOf, stale, upTo } from "./expectations.ts";
import { GROUP, LEASE_MS, STREAM, type World } from "./world.ts";

/** Every way in which a holder may try to settle or keep a delivery. */
const ATTEMPTS: readonly (readonly [name: string, attempt: (rheo: Rheo, lease: Lease) => Promise<unknown>])[] = [
  ["ack", (rheo, lease) => rheo.ack(lease)],
  ["nack", (rheo, lease) => rheo.nack(lease, { delayMs: 0 })],
  ["reject", (rheo, lease) => rheo.reject(lease, { reason: "late" })],
  ["release", (rheo, lease) => rheo.release(lease)],
  ["renew", (rheo, lease) => rheo.renew(lease, { leaseMs: 600_000 })],
];

/** Each of the five is refused, and none changes anything. */
const allRefused = async (world: World, lease: Lease, ...whys: Parameters<typeof stale>[1][]): Promise<void> => {
  const before = await world.snapshot();
  for (const [name, attempt] of ATTEMPTS) {
    await stale(attempt(world.rheo, lease), ...whys);
    expect(await world.snapshot(), `after a late ${name}`).toEqual(before);
  }
};

/** Ways to get the first delivery leased once more, given its lease. */
const RELEASES: readonly (readonly [name: string, again: (world: World, lease: Lease) => Promise<unknown>])[] = [
  ["expiry", async (world) => world.expire()],
  ["release", (world, lease) => world.rheo.release(lease)],
  ["nack", (world, lease) => world.rheo.nack(lease, { delayMs: 0 })],
  [
    "reject and redrive",
    async (world, lease) => {
      await world.rheo.reject(lease);
      await world.peer.redrive(STREAM, GROUP, { all: true });
    },
  ],
  [
    "ack and replay",
    async (world, lease) => {
      await world.rheo.ack(lease);
      await world.peer.replay(STREAM, GROUP, { fromSequence: 0 });
    },
  ],
  ["replay by query", (world) => world.peer.replay(STREAM, GROUP, { query: {} })],
  ["reset", (world) => world.peer.resetGroup(STREAM, GROUP, { confirm: true })],
  [
    "a group that is deleted and created again",
    async (world) => {
      await world.peer.deleteGroup(STREAM, GROUP, { confirm: true });
      await world.rheo.createGroup(STREAM, GROUP);
    },
  ],
  [
    "a stream that is deleted and created again",
    async (world) => {
      await world.peer.deleteStream(STREAM, { confirm: true });
      await world.group();
      await world.append(1);
    },
  ],
  [
    "a restart",
    async (world) => {
      await world.reopen();
      world.expire();
    },
  ],
  [
    "a clock that jumps back",
    async (world, lease) => {
      await world.rheo.release(lease);
      world.clock.set(new Date(world.clock.now() - 86_400_000));
    },
  ],
];

const tokens: readonly ContractCase[] = [
  ...RELEASES.map(([name, again]) =>
    rule("F1 B72", `tokens rise across ${name}`, async (world) => {
      await world.group();
      let lease = at(await world.lease(1), 0);
      for (let round = 0; round < 3; round++) {
        await again(world, lease);
        const next = await world.peerTakeOne();
        expect(next.token).toBeGreaterThan(lease.token);
        lease = next;
      }
    }),
  ),
  rule(
    "F1",
    "a token is greater than every earlier one of its group and partition, whatever was fetched in between",
    async (world) => {
      await world.group({ partitions: 2, maxAttempts: 1_000 });
      for (const partition of [0, 1]) await world.append(12, { partition });
      const highest = new Map<number, number>();
      for (let round = 0; round < 20; round++) {
        const leases = round % 2 === 0 ? await world.take(3) : await world.peerTake(2);
        const given = new Map<number, Set<number>>();
        for (const { partition, token } of leases) given.set(partition, (given.get(partition) ?? new Set()).add(token));
        for (const [partition, fresh] of given) {
          expect(Math.min(...fresh)).toBeGreaterThan(highest.get(partition) ?? 0);
          highest.set(partition, Math.max(...fresh));
        }
        for (const [index, lease] of leases.entries()) {
          if (index % 3 === 0) await world.rheo.release(lease);
          if (index % 3 === 1) await world.rheo.nack(lease, { delayMs: 0 });
        }
        if (round % 5 === 4) world.expire();
      }
    },
  ),
  rule("F1 O17", "every lease has an id of its own, in its batch and over all fetches", async (world) => {
    await world.group({ partitions: 2 });
    for (const partition of [0, 1]) await world.append(5, { partition });
    const seen = new Set<string>();
    let count = 0;
    for (let round = 0; round < 3; round++) {
      const leases = await world.take(10);
      for (const lease of leases) {
        seen.add(lease.id);
        expect(Number.isSafeInteger(lease.token) && lease.token > 0).toBe(true);
      }
      count += leases.length;
      for (const lease of leases) await world.rheo.release(lease);
    }
    expect(count).toBe(30);
    expect(seen.size).toBe(30);
    expect(new Set((await world.peer.leases(STREAM, GROUP)).map(({ id }) => id)).size).toBe(0);
  }),
  rule("F1 O17", "each delivery of a batch is settled, counted and renewed by itself", async (world) => {
    await world.group();
    const leases = await world.lease(5);
    await world.rheo.ack(at(leases, 1));
    expect((await world.peer.groupInfo(STREAM, GROUP)).inflight).toBe(4);
    world.clock.advance(LEASE_MS - 1);
    await world.rheo.renew(at(leases, 3));
    world.clock.advance(1);
    expect((await world.peer.groupInfo(STREAM, GROUP)).inflight).toBe(1);
    expect(sequencesOf(await world.peerTake(10))).toEqual([1, 3, 5]);
  }),
];

const fencing: readonly ContractCase[] = [
  rule(
    "F2 O03 B22",
    "ack, nack, reject, release and renew under a token that was taken over change nothing: reclaimed",
    async (world) => {
      await world.group();
      const lease = at(await world.lease(2), 0);
      world.expire();
      const [taken] = await world.peerTake(10);
      await allRefused(world, lease, "reclaimed");
      await world.peer.ack(taken as Lease);
      await allRefused(world, lease, "reclaimed");
      expect(await world.state(1)).toBe("acked");
    },
  ),
  rule("F2 B22", "they change nothing when the new holder's lease ran out as well, or was given back", async (world) => {
    await world.group();
    const lease = await takeOneOf(world, 1);
    world.expire();
    const second = await world.peerTakeOne();
    world.expire();
    await allRefused(world, lease, "reclaimed");
    await world.peer.release(second);
    await allRefused(world, lease, "reclaimed");
  }),
  rule("F2 B18", "the new holder's ack counts and the old one's is refused, in either order", async (world) => {
    await world.group();
    const lease = await takeOneOf(world, 1);
    world.expire();
    const second = await world.peerTakeOne();
    expect(second.attempt).toBe(2);
    await stale(world.rheo.ack(lease), "reclaimed");
    await world.peer.ack(second);
    await stale(world.rheo.ack(lease), "reclaimed");
    expect(await world.frontier()).toBe(1);
  }),
  ...(
    [
      ["a replay", (world: World) => world.peer.replay(STREAM, GROUP, { fromSequence: 0 })],
      ["a replay by query", (world: World) => world.peer.replay(STREAM, GROUP, { query: { untilSequence: 100 } })],
      ["a replay from a time", (world: World) => world.peer.replay(STREAM, GROUP, { from: new Date(0) })],
      ["a reset", (world: World) => world.peer.resetGroup(STREAM, GROUP, { confirm: true })],
      ["a reset to the end", (world: World) => world.peer.resetGroup(STREAM, GROUP, { confirm: true, start: "latest" })],
    ] as const
  ).map(([name, reopen]) =>
    rule("F2 B68", `leases taken before ${name} are stale: reset`, async (world) => {
      await world.group();
      const leases = await world.lease(3);
      await reopen(world);
      await allRefused(world, at(leases, 1), "reset");
      const again = await world.peerTake(10);
      await allRefused(world, at(leases, 1), "reset", "reclaimed");
      for (const lease of again) await world.peer.ack(lease);
      await allRefused(world, at(leases, 1), "reset", "reclaimed");
    }),
  ),
  rule("F2", "leases of a deleted group or stream are stale: gone", async (world) => {
    await world.group();
    const lease = await takeOneOf(world, 3);
    await world.peer.deleteGroup(STREAM, GROUP, { confirm: true });
    for (const [, attempt] of ATTEMPTS) await stale(attempt(world.rheo, lease), "gone");
    await stale(world.rheo.nack(lease), "gone");
    await world.peer.deleteStream(STREAM, { confirm: true });
    for (const [, attempt] of ATTEMPTS) await stale(attempt(world.rheo, lease), "gone");
    await stale(world.rheo.nack(lease), "gone");
  }),
  rule(
    "F2 B72",
    "a lease of a group that was deleted settles nothing in the next group of that name, and is not said to be settled",
    async (world) => {
      await world.group();
      const lease = await takeOneOf(world, 3);
      await world.peer.deleteGroup(STREAM, GROUP, { confirm: true });
      await world.peer.createGroup(STREAM, GROUP);
      await allRefused(world, lease, "gone", "reset");
      await world.peerTake(3);
      await allRefused(world, lease, "gone", "reset", "reclaimed");
    },
  ),
  rule(
    "F2 B72",
    "a lease of a stream that was deleted settles nothing in the next stream of that name, and is not said to be settled",
    async (world) => {
      await world.group();
      const lease = await takeOneOf(world, 3);
      await world.peer.deleteStream(STREAM, { confirm: true });
      await world.group();
      await world.append(3);
      await allRefused(world, lease, "gone", "reset");
      await world.peerTake(3);
      await allRefused(world, lease, "gone", "reset", "reclaimed");
    },
  ),
  rule("F2", "a token that was made up settles nothing", async (world) => {
    await world.group();
    const [first, second] = await world.lease(2);
    await world.peer.release(second as Lease);
    const held = at([first], 0) as Lease;
    const before = await world.snapshot();
    const forged = [
      { ...held, token: held.token + 1 },
      { ...held, token: held.token + 1_000_000 },
      { ...held, token: Number.MAX_SAFE_INTEGER },
      { ...held, sequence: 99 },
      { ...held, sequence: 2 },
      { ...held, partition: 1_000 },
    ];
    for (const lease of forged) {
      for (const [, attempt] of ATTEMPTS) await refusal(attempt(world.peer, lease), "stale_lease");
    }
    expect(await world.snapshot()).toEqual(before);
    await world.rheo.ack(held);
  }),
  rule("F2", "a lease may be settled from another member: the token decides, not who calls", async (world) => {
    await world.group();
    const leases = await world.lease(2);
    await world.peer.ack(at(leases, 0));
    await world.peer.ack(structuredClone(at(leases, 1)));
    expect(await world.frontier()).toBe(2);
  }),
  rule("F2 B23", "of settles made at the same time by two members exactly one takes effect", async (world) => {
    await world.group();
    for (const lease of await world.lease(20)) {
      const calls = await Promise.allSettled([
        world.rheo.ack(lease),
        world.peer.reject(lease),
        world.peer.ack(lease),
        world.rheo.nack(lease, { delayMs: 86_400_000 }),
      ]);
      expect(calls.filter((call) => call.status === "fulfilled")).toHaveLength(1);
    }
    const { lag, retrying, deadLetters } = await world.peer.groupInfo(STREAM, GROUP);
    expect(lag === 0 || retrying > 0).toBe(true);
    expect(retrying + deadLetters).toBeLessThanOrEqual(20);
  }),
  rule("F2", "in a batch each lease gets its own answer, in order, and a stale one does not harm the others", async (world) => {
    await world.group({ partitions: 2 });
    await world.append(3, { partition: 0 });
    const [taken, ...mine] = await world.take(3, { leaseMs: 1_000 });
    world.clock.advance(1_000);
    await world.peerTake(1);
    await world.append(2, { partition: 1 });
    const others = await world.take(10, { partitions: [1] });
    const items = [at(others, 0), taken as Lease, ...mine, at(others, 1)];
    const outcomes = [retry("busy", { delayMs: 5 }), ack(), ack(), reject("bad"), release()];
    const answers = await world.rheo.settle(items.map((lease, index) => ({ lease, outcome: at(outcomes, index) })));
    const stillMine = answers[2]?.status === "settled";
    expect(answers[0]).toEqual({ status: "settled", state: "retrying" });
    expect(answers[1]).toEqual({ status: "stale_lease", why: "reclaimed" });
    expect(answers[4]).toEqual({ status: "settled", state: "pending" });
    if (stillMine)
      expect(answers.slice(2, 4)).toEqual([
        { status: "settled", state: "acked" },
        { status: "settled", state: "dead" },
      ]);
    else
      expect(answers.slice(2, 4)).toEqual([
        { status: "stale_lease", why: "reclaimed" },
        { status: "stale_lease", why: "reclaimed" },
      ]);
  }),
  rule("F2", "the same lease twice in one batch is settled once", async (world) => {
    await world.group();
    const leases = await world.lease(2);
    const lease = at(leases, 0);
    const answers = await world.rheo.settle([
      { lease, outcome: ack() },
      { lease, outcome: reject() },
      { lease, outcome: ack() },
      { lease: at(leases, 1), outcome: ack() },
    ]);
    expect(answers).toEqual([
      { status: "settled", state: "acked" },
      { status: "stale_lease", why: "settled" },
      { status: "stale_lease", why: "settled" },
      { status: "settled", state: "acked" },
    ]);
    expect(await world.rheo.settle([])).toEqual([]);
  }),
];

const takeOneOf = async (world: World, count: number): Promise<Lease> => {
  await world.append(count);
  return world.takeOne();
};

const expiry: readonly ContractCase[] = [
  ...ATTEMPTS.map(([name, attempt]) =>
    rule("F3 B32 B22", `a late ${name} is accepted when nobody has claimed the delivery since`, async (world) => {
      await world.group();
      const [lease] = await world.lease(2);
      world.clock.advance(LEASE_MS * 3);
      await attempt(world.rheo, lease as Lease);
      const expected = { ack: "acked", nack: "retrying", reject: "dead", release: "pending", renew: "leased" }[name];
      expect(await world.state(1)).toBe(expected);
      expect(await world.state(2)).toBe("expired");
    }),
  ),
  rule("F3", "a late settle is accepted after others fetched something else", async (world) => {
    await world.group();
    const lease = await takeOneOf(world, 1);
    world.expire();
    await world.append(1);
    await world.rheo.pauseGroup(STREAM, GROUP);
    await world.peerTake(10);
    await world.rheo.resumeGroup(STREAM, GROUP);
    await world.rheo.ack(lease);
    expect(sequencesOf(await world.peerTake(10))).toEqual([2]);
  }),
  rule(
    "F3 B35",
    "a member that comes back under the same name takes its own expired lease over with a new token",
    async (world) => {
      await world.group();
      const lease = await takeOneOf(world, 1);
      expect(await world.take(10)).toEqual([]);
      world.expire();
      const again = await world.takeOne();
      expect([again.consumerId, again.attempt]).toEqual([lease.consumerId, 2]);
      expect(again.token).toBeGreaterThan(lease.token);
      await stale(world.rheo.ack(lease), "reclaimed");
      await world.rheo.ack(again);
    },
  ),
  rule("F3 B41", "an ack at the moment of the takeover: exactly one of the two has the delivery", async (world) => {
    await world.group();
    for (let round = 0; round < 30; round++) {
      const [lease] = await world.lease(1);
      world.expire();
      const [late, taken] = await Promise.all([
        world.rheo.settle([{ lease: lease as Lease, outcome: ack() }]),
        world.peerTake(1),
      ]);
      expect(late[0]?.status === "settled").toBe(taken.length === 0);
      for (const next of taken) await world.peer.ack(next);
    }
    expect(await world.lag()).toBe(0);
  }),
];

const again: readonly ContractCase[] = [
  ...ATTEMPTS.filter(([name]) => name !== "renew").map(([first, settle]) =>
    rule(
      "F4 B23",
      `after ${first} a second settle or renewal is refused as settled, changes no count and harms no neighbour`,
      async (world) => {
        await world.group();
        const [lease, neighbour] = await world.lease(3);
        await settle(world.rheo, lease as Lease);
        await allRefused(world, lease as Lease, "settled");
        await world.rheo.ack(neighbour as Lease);
        expect(await world.state(2)).toBe("acked");
        expect(await world.state(3)).toBe("leased");
      },
    ),
  ),
  rule("F4 B23", "two acks at the same time: one settles, the other is told so", async (world) => {
    await world.group();
    const [lease] = await world.lease(2);
    const calls = await Promise.allSettled([world.rheo.ack(lease as Lease), world.peer.ack(lease as Lease)]);
    const refused = calls.flatMap((call) => (call.status === "rejected" ? [call.reason as unknown] : []));
    expect(refused).toHaveLength(1);
    await stale(Promise.reject(refused[0]), "settled");
    expect(await world.lag()).toBe(1);
  }),
  rule("F4", "a settled lease stays settled after a restart", async (world) => {
    await world.group();
    const leases = await world.lease(3);
    await world.rheo.ack(at(leases, 0));
    await world.rheo.nack(at(leases, 1), { delayMs: 1_000 });
    await world.reopen();
    for (const lease of leases.slice(0, 2)) await stale(world.rheo.ack(lease), "settled");
    await world.rheo.ack(at(leases, 2));
  }),
];

const renewal: readonly ContractCase[] = [
  rule("F5 B28", "a renewal sets the expiry to now + length, however often it is repeated", async (world) => {
    await world.group({ leaseMs: 1_000 });
    const lease = await takeOneOf(world, 1);
    for (let beat = 0; beat < 20; beat++) {
      world.clock.advance(50);
      const renewed = await world.rheo.renew(lease);
      expect(renewed.expiresAt.getTime()).toBe(world.clock.now() + 1_000);
      expect(renewed.token).toBe(lease.token);
    }
    const [listed] = await world.peer.leases(STREAM, GROUP);
    expect(listed?.expiresAt.getTime()).toBe(world.clock.now() + 1_000);
    world.clock.advance(999);
    expect(await world.peerTake()).toEqual([]);
    world.clock.advance(1);
    expect(await world.peerTake()).toHaveLength(1);
  }),
  rule("F5", "a renewed lease is still settled by what was fetched, and by what the renewal returned", async (world) => {
    await world.group();
    const [first, second] = await world.lease(2);
    const renewed = await world.rheo.renew(first as Lease);
    await world.rheo.renew(second as Lease);
    await world.rheo.ack(renewed);
    await world.rheo.ack(second as Lease);
    expect(await world.lag()).toBe(0);
  }),
  rule(
    "F5 B25",
    "a shorter renewal never moves an expiry backwards, neither in the store nor in what is returned",
    async (world) => {
      await world.group();
      const lease = await takeOneOf(world, 1);
      world.clock.advance(1_000);
      const renewed = await world.rheo.renew(lease, { leaseMs: 1_000 });
      const [listed] = await world.peer.leases(STREAM, GROUP);
      expect(listed?.expiresAt).toEqual(lease.expiresAt);
      world.clock.advance(5_000);
      expect(await world.peerTake()).toEqual([]);
      expect(renewed.expiresAt.getTime()).toBeGreaterThanOrEqual(lease.expiresAt.getTime());
    },
  ),
  rule("F5", "a renewal may ask for a longer lease", async (world) => {
    await world.group();
    const lease = await takeOneOf(world, 1);
    await world.rheo.renew(lease, { leaseMs: 90_000 });
    world.clock.advance(89_999);
    expect(await world.peerTake()).toEqual([]);
    world.clock.advance(1);
    expect(await world.peerTake()).toHaveLength(1);
  }),
  rule("F5 B27", "renewMany answers each lease in order; of a batch only what is named is renewed", async (world) => {
    await world.group();
    const leases = await world.lease(6);
    await world.rheo.ack(at(leases, 0));
    world.clock.advance(LEASE_MS / 2);
    const answers = await world.rheo.renewMany([at(leases, 4), at(leases, 0), at(leases, 1), at(leases, 2)]);
    expect(answers.map((answer) => answer.status)).toEqual(["renewed", "stale_lease", "renewed", "renewed"]);
    expect(answers[1]).toEqual({ status: "stale_lease", why: "settled" });
    world.clock.advance(LEASE_MS / 2);
    const taken = await world.peerTake(10);
    expect(sequencesOf(taken)).toEqual([4, 6]);
    for (const index of [1, 2, 4]) await world.rheo.ack(at(leases, index));
    expect(await world.frontier()).toBe(3);
    expect(await world.rheo.renewMany([])).toEqual([]);
  }),
  rule("F5", "a lease on a retried delivery is renewed like any other", async (world) => {
    await world.group();
    await world.rheo.nack(await takeOneOf(world, 1), { delayMs: 0 });
    const lease = await world.takeOne();
    world.clock.advance(LEASE_MS - 1);
    await world.rheo.renew(lease);
    world.clock.advance(LEASE_MS - 1);
    expect(await world.peerTake()).toEqual([]);
    await world.rheo.ack(lease);
    expect(await world.lag()).toBe(0);
  }),
  rule("F5", "a late renewal holds off those who would have claimed it", async (world) => {
    await world.group();
    const lease = await takeOneOf(world, 1);
    world.clock.advance(LEASE_MS * 2);
    await world.rheo.renew(lease);
    expect(await world.peerTake()).toEqual([]);
    await world.rheo.ack(lease);
  }),
];

const clocks: readonly ContractCase[] = [
  rule(
    "F6 B30",
    "an injected clock is the store's time: for events, leases, expiry and delays, whatever the host's says",
    async (world) => {
      for (const start of ["1999-12-31T23:59:59.500Z", "2400-02-29T12:00:00.000Z"]) {
        world.clock.set(new Date(start));
        const name = `s${start.slice(0, 4)}`;
        await world.rheo.createStream(name);
        await world.rheo.createGroup(name, GROUP);
        const event = await world.rheo.append(name, { payload: 1 });
        expect(event.timestamp).toEqual(new Date(start));
        const [lease] = await world.rheo.fetch(name, GROUP);
        expect(lease?.leasedAt).toEqual(new Date(start));
        expect(await world.peer.fetch(name, GROUP)).toEqual([]);
        world.clock.advance(LEASE_MS - 1);
        expect(await world.peer.fetch(name, GROUP)).toEqual([]);
        world.clock.advance(1);
        const [taken] = await world.peer.fetch(name, GROUP);
        await world.peer.nack(taken as Lease, { delayMs: 500 });
        world.clock.advance(499);
        expect(await world.rheo.fetch(name, GROUP)).toEqual([]);
        world.clock.advance(1);
        expect(await world.rheo.fetch(name, GROUP)).toHaveLength(1);
      }
    },
  ),
  rule("F6 B30", "who asks does not matter: every member finds the same lease live, and then expired", async (world) => {
    await world.group();
    const [lease] = await world.lease(1);
    const members = ["early", "late", "x", "member-7", "zz"];
    for (const consumerId of members) expect(await world.peer.fetch(STREAM, GROUP, { consumerId })).toEqual([]);
    world.clock.advance(LEASE_MS - 1);
    for (const consumerId of members) expect(await world.peer.fetch(STREAM, GROUP, { consumerId })).toEqual([]);
    world.clock.advance(1);
    const [taken] = await world.peer.fetch(STREAM, GROUP, { consumerId: "late" });
    expect(taken?.expiresAt.getTime()).toBe(world.clock.now() + LEASE_MS);
    expect(taken?.token).toBeGreaterThan(lease?.token ?? 0);
  }),
  rule("F6", "a clock that jumps back takes no lease away, and none is lost", async (world) => {
    await world.group();
    const leases = await world.lease(3);
    world.clock.set(new Date(world.clock.now() - 3_600_000));
    expect(await world.peerTake()).toEqual([]);
    await world.rheo.ack(at(leases, 0));
    await world.rheo.renew(at(leases, 1));
    await world.append(1);
    expect(sequencesOf(await world.peerTake())).toEqual([4]);
    world.clock.advance(3_600_000 + LEASE_MS);
    expect(rising(sequencesOf(await world.peerTake()))).toEqual([2, 3, 4]);
  }),
];

const lost: readonly ContractCase[] = [
  rule(
    "F7 B08",
    "an append whose answer is lost is outcome_unknown; appended again under its id it is stored once",
    async (world) => {
      await world.rheo.createStream(STREAM);
      const { rheo, faults } = await world.unreliable();
      faults.failNext("append", "lost");
      const error = await refusal(rheo.append(STREAM, { payload: 1, id: "x" }), "outcome_unknown");
      expect(error.cause).toBeInstanceOf(Error);
      const event = await rheo.append(STREAM, { payload: 1, id: "x" });
      expect(event.sequence).toBe(1);
      expect(await world.peer.query(STREAM)).toEqual([event]);
    },
  ),
  rule(
    "F7 O26",
    "an ack whose answer is lost is outcome_unknown; the same lease again says settled: it had worked",
    async (world) => {
      await world.group();
      await world.append(2);
      const { rheo, faults } = await world.unreliable();
      const [lease] = await rheo.fetch(STREAM, GROUP, { limit: 1 });
      faults.failNext("exchange", "lost");
      await refusal(rheo.ack(lease as Lease), "outcome_unknown");
      await stale(rheo.ack(lease as Lease), "settled");
      expect(await world.state(1)).toBe("acked");
      expect(await world.frontier()).toBe(1);
    },
  ),
  rule("F7", "a nack whose answer is lost counts once", async (world) => {
    await world.group({ maxAttempts: 3 });
    await world.append(1);
    const { rheo, faults } = await world.unreliable();
    const [lease] = await rheo.fetch(STREAM, GROUP);
    faults.failNext("exchange", "lost");
    await refusal(rheo.nack(lease as Lease, { delayMs: 0 }), "outcome_unknown");
    await stale(rheo.nack(lease as Lease, { delayMs: 0 }), "settled");
    expect((await world.takeOne()).attempt).toBe(2);
  }),
  rule("F7", "after a lost answer and a takeover the same lease says reclaimed, never settled", async (world) => {
    await world.group();
    await world.append(1);
    const { rheo, faults } = await world.unreliable();
    const [lease] = await rheo.fetch(STREAM, GROUP);
    faults.failNext("exchange", "refused");
    await refusal(rheo.ack(lease as Lease), "unavailable");
    world.expire();
    await world.peerTakeOne();
    await stale(rheo.ack(lease as Lease), "reclaimed");
  }),
  rule("F7", "a fetch whose answer is lost holds its deliveries until they expire, and no longer", async (world) => {
    await world.group();
    await world.append(3);
    const { rheo, faults } = await world.unreliable();
    faults.failNext("exchange", "lost");
    await refusal(rheo.fetch(STREAM, GROUP, { limit: 2 }), "outcome_unknown");
    expect(sequencesOf(await world.peerTake())).toEqual([3]);
    world.expire();
    const taken = await world.take();
    expect(taken.filter((lease) => lease.sequence < 3).map(({ sequence, attempt }) => [sequence, attempt])).toEqual([
      [1, 2],
      [2, 2],
    ]);
  }),
  rule("F7", "a renewal whose answer is lost has still renewed", async (world) => {
    await world.group();
    await world.append(1);
    const { rheo, faults } = await world.unreliable();
    const [lease] = await rheo.fetch(STREAM, GROUP);
    world.clock.advance(LEASE_MS - 1);
    faults.failNext("renew", "lost");
    await refusal(rheo.renew(lease as Lease), "outcome_unknown");
    world.clock.advance(1);
    expect(await world.peerTake()).toEqual([]);
    await rheo.ack(lease as Lease);
  }),
  rule("F7 B60", "what is refused as unavailable was not applied, and can be done again", async (world) => {
    await world.group();
    await world.append(1);
    const { rheo, faults } = await world.unreliable();
    const [lease] = await rheo.fetch(STREAM, GROUP);
    const before = await world.snapshot();
    faults.failNext("exchange", "refused", "refused", "refused");
    await refusal(rheo.ack(lease as Lease), "unavailable");
    await refusal(rheo.reject(lease as Lease), "unavailable");
    await refusal(rheo.nack(lease as Lease, { delayMs: 1 }), "unavailable");
    faults.failNext("append", "refused");
    const error = await refusal(rheo.append(STREAM, { payload: 2 }), "unavailable");
    expect(error.cause).toBeInstanceOf(Error);
    expect(await world.snapshot()).toEqual(before);
    await rheo.reject(lease as Lease);
    expect(await world.state(1)).toBe("dead");
  }),
  rule(
    "F7",
    "of coalesced appends whose answer is lost each is told so, and each is stored once when repeated",
    async (world) => {
      await world.rheo.createStream(STREAM);
      const { rheo, faults } = await world.unreliable();
      await rheo.append(STREAM, { payload: 0, id: "e0" });
      faults.failNext("append", "lost");
      const batch = (): Promise<PromiseSettledResult<unknown>[]> =>
        Promise.allSettled(upTo(5).map((n) => rheo.append(STREAM, { payload: n, id: `e${n}` })));
      const first = await batch();
      for (const call of first) expect(call.status).toBe("rejected");
      const second = await batch();
      for (const call of second) expect(call.status).toBe("fulfilled");
      expect(sequencesOf(await world.peer.query(STREAM))).toEqual(upTo(6));
    },
  ),
];

export const leaseCases: readonly ContractCase[] = [...tokens, ...fencing, ...expiry, ...again, ...renewal, ...clocks, ...lost];
