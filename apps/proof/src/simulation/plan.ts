/**
 * Swarm testing: each seed switches a random part of the features and of the faults on, and draws its sizes. A run with everything on
 * hides what only shows when something is off.
 */
import type { Ordering } from "@rheo/core";
import { type Random, seeded } from "@rheo/testing/internal";

/** What becomes of an event in each group, whoever handles it. */
export type Fate =
  /** Acked at once, or after `ms`. */
  | { readonly kind: "ack"; readonly ms: number }
  /** Fails so many times, then is acked. */
  | { readonly kind: "fails"; readonly times: number; readonly how: "retry" | "throw"; readonly ms: number }
  | { readonly kind: "reject" }
  /** Goes on until its signal aborts. */
  | { readonly kind: "hangs" }
  /** Takes long, and asks for time. */
  | { readonly kind: "extends"; readonly ms: number }
  /** Ends its thread. */
  | { readonly kind: "kills thread" }
  /** Ends its process. */
  | { readonly kind: "kills process" };

export interface GroupPlan {
  readonly name: string;
  readonly ordering: Ordering;
  /** Only events whose number leaves this remainder by 3 are for it. Null: all. */
  readonly filter: number | null;
  readonly maxAttempts: number;
  readonly leaseMs: number;
  readonly retry: { readonly minMs: number; readonly maxMs: number };
  readonly maxInflight: number | null;
  readonly execution: "inline" | "worker";
  readonly concurrency: number;
  readonly maxDemand: number | null;
  readonly batch: { readonly size: number; readonly waitMs: number; readonly by?: "key" | "partition" } | null;
  readonly timeoutMs: number | null;
  readonly breaker: { readonly failures: number; readonly openMs: number } | null;
  readonly rateLimit: { readonly events: number; readonly perMs: number } | null;
  readonly assigned: boolean;
  readonly pollMs: number;
}

/** Shares of calls, or mean times between, in ms; 0: off. */
export interface FaultPlan {
  readonly lose: number;
  readonly refuse: number;
  readonly delay: number;
  readonly maxDelayMs: number;
  readonly dropWakes: number;
  readonly repeatWakes: number;
  readonly killEveryMs: number;
  readonly stopEveryMs: number;
  readonly replaceEveryMs: number;
  readonly killThreadEveryMs: number;
  readonly skewMs: number;
}

interface OperatorPlan {
  readonly everyMs: number;
  readonly acts: readonly ("pause" | "replay" | "reset" | "redrive" | "trim" | "change")[];
}

export interface Plan {
  readonly seed: number;
  readonly partitions: number;
  readonly hosts: number;
  readonly threads: number;
  readonly events: number;
  readonly keys: number;
  /** Events of one append at most. */
  readonly appendMany: number;
  readonly appendEveryMs: number;
  readonly groups: readonly GroupPlan[];
  readonly fates: readonly Fate[];
  readonly faults: FaultPlan;
  readonly operator: OperatorPlan;
}

export const planOf = (seed: number): Plan => {
  const random = seeded(seed);
  const groups = Array.from({ length: random.chance(0.25) ? 2 : 1 }, (_, index) => groupOf(random, `g${index}`));
  const events = 5 + random.below(random.chance(0.2) ? 60 : 25);
  return {
    seed,
    partitions: 1 + random.below(3),
    hosts: 1 + random.below(3),
    threads: 1 + random.below(3),
    events,
    keys: random.chance(0.3) ? 0 : 1 + random.below(6),
    appendMany: 1 + random.below(8),
    appendEveryMs: random.pick([0, 20, 200, 1_000]),
    groups,
    fates: fatesOf(random, events, groups),
    faults: faultsOf(random),
    operator: operatorOf(random),
  };
};

const groupOf = (random: Random, name: string): GroupPlan => {
  const isBatched = random.chance(0.25);
  const ordering = random.pick(["none", "none", "key", "partition"] as const);
  const by = ordering === "none" ? random.pick([null, null, "key", "partition"] as const) : ordering;
  const rated = random.chance(0.15);
  return {
    name,
    ordering,
    filter: random.chance(0.2) ? random.below(3) : null,
    maxAttempts: random.pick([1, 2, 3, 5, 8]),
    leaseMs: random.pick([200, 500, 1_000, 3_000]),
    retry: random.pick([
      { minMs: 0, maxMs: 0 },
      { minMs: 10, maxMs: 100 },
      { minMs: 200, maxMs: 2_000 },
    ]),
    maxInflight: random.chance(0.2) ? 1 + random.below(6) : null,
    execution: random.pick(["inline", "worker"] as const),
    concurrency: random.pick([1, 2, 4, 8]),
    maxDemand: random.chance(0.3) ? 1 + random.below(10) : null,
    batch: isBatched
      ? { size: 1 + random.below(5), waitMs: random.pick([0, 20]), ...(by === null || random.chance(0.3) ? {} : { by }) }
      : null,
    timeoutMs: random.chance(0.4) ? random.pick([50, 400, 2_000]) : null,
    breaker: random.chance(0.15) ? { failures: 2 + random.below(4), openMs: 100 + random.below(400) } : null,
    rateLimit: rated ? { events: 1 + random.below(10), perMs: random.pick([50, 500]) } : null,
    assigned: random.chance(0.2),
    pollMs: random.pick([50, 200, 1_000]),
  };
};

/** Kinds of misfortune that this seed has at all, then one for each event. */
const fatesOf = (random: Random, events: number, groups: readonly GroupPlan[]): Fate[] => {
  const isOn = (): boolean => random.chance(0.35);
  const canTimeOut = groups.every(({ timeoutMs }) => timeoutMs !== null);
  // what fails for ever would keep a breaker open for ever, as it should
  const mayFailForGood = groups.every(({ breaker }) => breaker === null);
  const bad: ((ms: number) => Fate)[] = [];
  if (isOn()) {
    const times = mayFailForGood ? [1, 2, 20] : [1];
    bad.push((ms) => ({ kind: "fails", times: random.pick(times), how: random.pick(["retry", "throw"] as const), ms }));
  }
  if (isOn()) bad.push(() => ({ kind: "reject" }));
  if (isOn() && canTimeOut && mayFailForGood) bad.push(() => ({ kind: "hangs" }));
  if (isOn()) bad.push((ms) => ({ kind: "extends", ms: 500 + 10 * ms }));
  if (isOn() && mayFailForGood) bad.push(() => ({ kind: "kills thread" }));
  if (random.chance(0.2)) bad.push(() => ({ kind: "kills process" }));
  const share = random.pick([0.05, 0.2, 0.5]);
  const slow = random.pick([0, 0, 5, 50, 300]);
  const killers = { left: 3 };
  return Array.from({ length: events }, (): Fate => {
    const ms = slow === 0 || random.chance(0.5) ? 0 : random.below(slow + 1);
    const fate: Fate = bad.length > 0 && random.chance(share) ? random.pick(bad)(ms) : { kind: "ack", ms };
    if (fate.kind !== "kills process" && fate.kind !== "kills thread") return fate;
    killers.left -= 1;
    return killers.left >= 0 ? fate : { kind: "ack", ms };
  });
};

const faultsOf = (random: Random): FaultPlan => {
  const often = (value: number): number => (random.chance(0.4) ? value : 0);
  return {
    lose: often(random.pick([0.02, 0.1, 0.3])),
    refuse: often(random.pick([0.02, 0.1, 0.3])),
    delay: often(random.pick([0.1, 0.5, 1])),
    maxDelayMs: random.pick([5, 50, 800]),
    dropWakes: often(0.5),
    repeatWakes: often(0.3),
    killEveryMs: often(random.pick([300, 1_000, 3_000])),
    stopEveryMs: often(random.pick([300, 1_000, 3_000])),
    replaceEveryMs: often(random.pick([1_000, 3_000])),
    killThreadEveryMs: often(random.pick([100, 500, 2_000])),
    skewMs: often(random.pick([1_000, 3_600_000])),
  };
};

const operatorOf = (random: Random): OperatorPlan => {
  const acts = (["pause", "replay", "reset", "redrive", "trim", "change"] as const).filter(() => random.chance(0.25));
  return { everyMs: random.pick([200, 700, 2_000]), acts };
};
