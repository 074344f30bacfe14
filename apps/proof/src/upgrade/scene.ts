/** A store with something of everything in it, made and described at an instant that stands still: so that a description can be compared. */
import { type Backend, FrozenClock, type Lease, Rheo } from "@rheo/core";

const NOW = new Date("2026-03-01T12:00:00.000Z");
const LEASE_MS = 30_000;
const STREAM = "orders";

/** Leases, retries, dead letters, parked and released deliveries, holes, a replay, a trim, several kinds of groups. */
export const fillScene = async (backend: Backend): Promise<void> => {
  const clock = new FrozenClock(NOW);
  const rheo = await Rheo.open({ backend, clock, random: () => 0.5 });
  await rheo.createStream(STREAM, { partitions: 2 });
  await rheo.createStream("audit");
  await rheo.createGroup(STREAM, "plain", {
    leaseMs: LEASE_MS,
    maxAttempts: 3,
    retry: { minMs: 1_000, maxMs: 1_000, jitter: 0 },
  });
  await rheo.createGroup(STREAM, "keyed", { leaseMs: LEASE_MS, ordering: "key" });
  await rheo.createGroup(STREAM, "large", { filter: { "payload.total": { gte: 50 } }, maxInflight: 3 });
  await rheo.createGroup(STREAM, "asleep", { start: "latest" });
  await rheo.pauseGroup(STREAM, "asleep");
  for (let n = 0; n < 40; n++) {
    clock.advance(10);
    await rheo.append(STREAM, {
      id: `order-${n}`,
      type: n % 3 === 0 ? "placed" : "paid",
      key: `customer-${n % 5}`,
      metadata: { trace: `t-${n}`, n },
      payload: { total: n * 2.5, text: "grüße \u{1f600}", nested: [{ deep: [null, true, -0.5] }] },
    });
  }
  await rheo.append("audit", { id: "audit-1", payload: null });
  await workOn(rheo, clock);
  await rheo.close();
};

const workOn = async (rheo: Rheo, clock: FrozenClock): Promise<void> => {
  const first = await rheo.fetch(STREAM, "plain", { limit: 12, consumerId: "a" });
  await settleSome(rheo, first);
  await rheo.fetch(STREAM, "plain", { limit: 5, consumerId: "crashed" });
  clock.advance(LEASE_MS + 1);
  const taken = await rheo.fetch(STREAM, "plain", { limit: 3, consumerId: "b" });
  if (taken[0] !== undefined) await rheo.ack(taken[0]);
  const keyed = await rheo.fetch(STREAM, "keyed", { limit: 20, consumerId: "a" });
  for (const lease of keyed.slice(0, 3)) await rheo.ack(lease);
  if (keyed[3] !== undefined) await rheo.nack(keyed[3], { reason: "not yet", delayMs: 5_000 });
  const large = await rheo.fetch(STREAM, "large", { limit: 20, consumerId: "a" });
  for (const lease of large) await rheo.ack(lease);
  await rheo.replay(STREAM, "large", { query: { type: "placed" } });
};

const settleSome = async (rheo: Rheo, leases: readonly Lease[]): Promise<void> => {
  for (const [index, lease] of leases.entries()) {
    if (index % 6 === 0) await rheo.reject(lease, { reason: `no good: ${index}` });
    else if (index % 6 === 1) await rheo.nack(lease, { reason: "busy" });
    else if (index % 6 === 2) await rheo.release(lease);
    else if (index % 6 !== 5) await rheo.ack(lease);
  }
};

/** Everything that can be seen of a store, as JSON, and when. */
export const describeStore = async (backend: Backend, now: Date): Promise<unknown> => {
  const clock = new FrozenClock(now);
  const rheo = await Rheo.open({ backend, clock, migrate: true });
  const streams = await rheo.listStreams();
  const described: Record<string, unknown> = {};
  for (const { name } of streams) {
    const groups: Record<string, unknown> = {};
    for (const { name: group } of await rheo.listGroups(name)) {
      const { members: _seen, ...info } = await rheo.groupInfo(name, group);
      groups[group] = {
        info,
        lag: await rheo.lag(name, group),
        holders: await rheo.explainLag(name, group),
        leases: await rheo.leases(name, group),
        deadLetters: await rheo.deadLetters(name, group, { limit: 100 }),
      };
    }
    described[name] = { info: await rheo.streamInfo(name), events: await rheo.query(name, { limit: 1_000 }), groups };
  }
  await rheo.close();
  return JSON.parse(JSON.stringify(described));
};

/** When the scene was left. */
export const LEFT_AT = new Date(NOW.getTime() + 400 + LEASE_MS + 1);

/** Works all groups to their end; how often each event was given to each, by name. Throws when one does not come to its end. */
export const drainAll = async (backend: Backend): Promise<Readonly<Record<string, number>>> => {
  const clock = new FrozenClock(LEFT_AT);
  const rheo = await Rheo.open({ backend, clock });
  await rheo.resumeGroup(STREAM, "asleep");
  const given: Record<string, number> = {};
  for (const { name: group } of await rheo.listGroups(STREAM)) {
    for (let round = 0; (await rheo.lag(STREAM, group)).lag > 0; round++) {
      if (round > 200) throw new Error(`${group} does not drain: ${JSON.stringify(await rheo.explainLag(STREAM, group))}`);
      const leases = await rheo.fetch(STREAM, group, { limit: 50, consumerId: "heir" });
      for (const lease of leases) {
        given[`${group}/${lease.event.id}`] = (given[`${group}/${lease.event.id}`] ?? 0) + 1;
        await rheo.ack(lease);
      }
      if (leases.length === 0) clock.advance(LEASE_MS);
    }
  }
  await rheo.close();
  return given;
};
