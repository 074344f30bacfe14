/**
 * Members that share the work of a group, some of whose events kill their process. A member that dies forgets its leases and
 * comes back under a new name; nothing else in the store or the clock knows about it.
 */
import { type FrozenClock, type Lease, type Rheo, RheoError } from "@rheo/core";
import type { Random } from "../random.ts";

export interface FleetOptions {
  /** Members take these in turn. */
  readonly instances: readonly Rheo[];
  readonly clock: FrozenClock;
  readonly stream: string;
  readonly group: string;
  readonly random: Random;
  readonly members: number;
  /** Leases that a member asks for at a time. */
  readonly prefetch: number;
  /** Whether a member works on all it holds at once, so that a death takes everything down, or on one after another. */
  readonly atOnce: boolean;
  readonly leaseMs: number;
  readonly isPoison: (lease: Lease) => boolean;
}

export interface FleetResult {
  /** Deaths by event id. */
  readonly crashes: ReadonlyMap<string, number>;
  /** The attempt with which each event was acked, by id. */
  readonly acked: ReadonlyMap<string, number>;
  /** Events that were acked more than once, by id. */
  readonly ackedTwice: readonly string[];
  /** What was still unsettled when the fleet gave up; 0 if all went well. */
  readonly lag: number;
}

/** Rounds without an end of the work after which it counts as stuck. */
const MAX_ROUNDS = 20_000;

interface Member {
  readonly rheo: Rheo;
  consumerId: string;
  held: Lease[];
}

/** Works until the group's lag is 0. */
export const runFleet = async (options: FleetOptions): Promise<FleetResult> => {
  const { instances, clock, stream, group, random, leaseMs } = options;
  const result = { crashes: new Map<string, number>(), acked: new Map<string, number>(), ackedTwice: [] as string[] };
  let born = 0;
  const members: Member[] = Array.from({ length: options.members }, (_, index) => {
    const rheo = instances[index % instances.length];
    if (rheo === undefined) throw new TypeError("a fleet needs an instance");
    return { rheo, consumerId: `m${born++}`, held: [] };
  });
  const die = (member: Member, killer: Lease): void => {
    result.crashes.set(killer.event.id, (result.crashes.get(killer.event.id) ?? 0) + 1);
    member.held = [];
    member.consumerId = `m${born++}`;
  };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let busy = false;
    for (const member of members) {
      if (member.held.length === 0) {
        member.held = await member.rheo.fetch(stream, group, { limit: options.prefetch, consumerId: member.consumerId });
        if (!options.atOnce && random.chance(0.5)) member.held.reverse();
      }
      busy ||= member.held.length > 0;
      await work(member, options, result, die);
      clock.advance(1);
    }
    if (busy) continue;
    const { lag } = await (members[0]?.rheo ?? fail()).lag(stream, group);
    if (lag === 0) return { ...result, lag };
    clock.advance(Math.ceil(leaseMs / 2));
  }
  const { lag } = await (members[0]?.rheo ?? fail()).lag(stream, group);
  return { ...result, lag };
};

const fail = (): never => {
  throw new TypeError("a fleet needs a member");
};

type Mutable = { readonly acked: Map<string, number>; readonly ackedTwice: string[] };

const work = async (
  member: Member,
  options: FleetOptions,
  result: Mutable,
  die: (member: Member, killer: Lease) => void,
): Promise<void> => {
  const { random, isPoison } = options;
  const killer = options.atOnce ? member.held.find(isPoison) : undefined;
  if (killer !== undefined) return die(member, killer);
  const steps = options.atOnce ? member.held.length : 1 + random.below(3);
  for (const lease of member.held.splice(0, steps)) {
    if (isPoison(lease)) return die(member, lease);
    await finish(member, lease, result);
  }
};

const finish = async (member: Member, lease: Lease, result: Mutable): Promise<void> => {
  try {
    await member.rheo.ack(lease);
  } catch (error) {
    if (RheoError.is(error, "stale_lease")) return;
    throw error;
  }
  if (result.acked.has(lease.event.id)) result.ackedTwice.push(lease.event.id);
  result.acked.set(lease.event.id, lease.attempt);
};
