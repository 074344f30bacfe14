/**
 * One stream and its groups as plain arrays: what must be true after each step. Where the rules leave a choice (which deliveries a
 * fetch gives, when a crash suspect is tried again) the model takes what the store did and checks that it was allowed to.
 */
import type { Lease, Ordering, StaleReason } from "@rheo/core";
import { LEASE_MS, PARTITIONS } from "./commands.ts";

export interface ModelEvent {
  readonly partition: number;
  readonly sequence: number;
  readonly id: string;
  readonly key: string | null;
}

export interface ModelDelivery {
  readonly event: ModelEvent;
  state: "new" | "pending" | "leased" | "retrying" | "dead" | "acked";
  attempt: number;
  token: number;
  expiresAtMs: number;
  dueAtMs: number;
  /** A lease on it ran out: it may have crashed its member. */
  suspect: boolean;
  /** Before the group's start: it counts as acked, and nothing re-opens it. */
  outside: boolean;
}

export const MAX_ATTEMPTS = 3;

export class Fault extends Error {}

/** @throws Fault */
export const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Fault(what);
};

/** Why a lease ended, for what a late settle is told. */
interface Ended {
  readonly why: StaleReason;
}

export class ModelGroup {
  readonly name: string;
  readonly ordering: Ordering;
  paused = false;
  /** Highest token given, by partition; outlives deletion (F1). */
  readonly highest: number[] = new Array<number>(PARTITIONS).fill(0);
  #deliveries = new Map<string, ModelDelivery>();
  readonly #ended = new Map<string, Ended>();
  /** Leases given out, that a reset or deletion since may have made stale. */
  readonly #given = new Set<string>();

  constructor(name: string, ordering: Ordering) {
    this.name = name;
    this.ordering = ordering;
  }

  offer(event: ModelEvent): void {
    this.#deliveries.set(placeOf(event), {
      event,
      state: "new",
      attempt: 0,
      token: 0,
      expiresAtMs: 0,
      dueAtMs: 0,
      suspect: false,
      outside: false,
    });
  }

  deliveries(partition?: number): ModelDelivery[] {
    const all = [...this.#deliveries.values()];
    return partition === undefined ? all : all.filter(({ event }) => event.partition === partition);
  }

  find(place: { readonly partition: number; readonly sequence: number }): ModelDelivery | undefined {
    return this.#deliveries.get(placeOf(place));
  }

  isCurrent(lease: Pick<Lease, "partition" | "sequence" | "token">): boolean {
    const delivery = this.find(lease);
    return delivery !== undefined && delivery.state === "leased" && delivery.token === lease.token;
  }

  /** Why a stale lease is stale; null when several answers are right. */
  whyStale(lease: Pick<Lease, "partition" | "sequence" | "token">): StaleReason | null {
    return this.#ended.get(leaseName(lease))?.why ?? null;
  }

  wasGiven(lease: Pick<Lease, "partition" | "sequence" | "token">): boolean {
    return this.#given.has(leaseName(lease));
  }

  /** @throws Fault - a lease that was not allowed */
  granted(leases: readonly Lease[], limit: number, nowMs: number): void {
    must(!this.paused || leases.length === 0, "a paused group was given leases");
    must(leases.length <= limit, `${leases.length} leases for a limit of ${limit}`);
    const before = [...this.highest];
    const seen = new Map<number, number>();
    for (const lease of leases) {
      const where = `${this.name} ${placeOf(lease)}`;
      must(
        lease.token > (before[lease.partition] ?? 0),
        `${where}: token ${lease.token} is not above ${before[lease.partition]}`,
      );
      must((seen.get(lease.partition) ?? 0) < lease.sequence, `${where}: out of order, or twice`);
      seen.set(lease.partition, lease.sequence);
      this.highest[lease.partition] = Math.max(this.highest[lease.partition] ?? 0, lease.token);
      this.#grantedOne(lease, nowMs, where);
    }
  }

  #grantedOne(lease: Lease, nowMs: number, where: string): void {
    const delivery = this.find(lease);
    if (delivery === undefined) throw new Fault(`${where}: there is no such delivery`);
    must(
      this.#isClaimable(delivery, nowMs),
      `${where}: leased though ${delivery.state} until ${delivery.state === "leased" ? delivery.expiresAtMs : delivery.dueAtMs}, now ${nowMs}`,
    );
    must(this.#isFree(delivery, nowMs), `${where}: leased before an earlier event of its key was settled`);
    const expired = delivery.state === "leased";
    const suspect = delivery.suspect || expired;
    const capped = suspect && delivery.attempt >= MAX_ATTEMPTS - 1 && lease.attempt === delivery.attempt;
    must(lease.attempt === delivery.attempt + 1 || capped, `${where}: attempt ${lease.attempt} after ${delivery.attempt}`);
    must(lease.attempt <= MAX_ATTEMPTS, `${where}: attempt ${lease.attempt} of ${MAX_ATTEMPTS}`);
    must(lease.expiresAt.getTime() === nowMs + LEASE_MS, `${where}: expires at ${lease.expiresAt.getTime()}`);
    if (expired) this.#end(delivery, "reclaimed");
    this.#given.add(leaseName(lease));
    Object.assign(delivery, {
      state: "leased",
      attempt: lease.attempt,
      token: lease.token,
      expiresAtMs: nowMs + LEASE_MS,
      suspect,
    });
  }

  #isClaimable({ state, dueAtMs, expiresAtMs }: ModelDelivery, nowMs: number): boolean {
    if (state === "retrying") return dueAtMs <= nowMs;
    return state === "new" || state === "pending" || (state === "leased" && expiresAtMs <= nowMs);
  }

  /** Whether order allows it: nothing earlier of its key is open, and nothing later of its key is out. */
  #isFree({ event }: ModelDelivery, nowMs: number): boolean {
    if (this.ordering !== "key" || event.key === null) return true;
    return this.deliveries(event.partition).every((other) => {
      if (other.event.key !== event.key || other.event.sequence === event.sequence) return true;
      if (other.event.sequence < event.sequence) return other.state === "acked" || other.state === "dead";
      return other.state !== "leased" || other.expiresAtMs <= nowMs;
    });
  }

  /** How many a fetch without crash suspects must give; null where the rules leave a choice. */
  available(nowMs: number): number | null {
    if (this.ordering !== "none") return null;
    const all = this.deliveries();
    if (
      all.some(
        ({ state, suspect, expiresAtMs }) =>
          (suspect && state !== "acked" && state !== "dead") || (state === "leased" && expiresAtMs <= nowMs),
      )
    )
      return null;
    return this.paused ? 0 : all.filter((delivery) => this.#isClaimable(delivery, nowMs)).length;
  }

  /** @throws Fault - the answer is not what the token says */
  settled(lease: Lease, how: "ack" | "nack" | "reject" | "release", delayMs: number, told: string, nowMs: number): void {
    const delivery = this.find(lease);
    const where = `${this.name} ${placeOf(lease)} under ${lease.token}: ${how} was told ${told}`;
    if (!this.isCurrent(lease) || delivery === undefined) return must(told === "stale", `${where}, though stale`);
    must(told !== "stale", `${where}, though current`);
    this.#end(delivery, "settled");
    const dead = how === "reject" || (how === "nack" && delivery.attempt >= MAX_ATTEMPTS);
    const state = dead ? "dead" : how === "ack" ? "acked" : how === "nack" ? "retrying" : "pending";
    must(told === state, `${where}, expected ${state}`);
    delivery.state = state;
    if (state === "pending") delivery.attempt -= 1;
    if (state === "retrying") Object.assign(delivery, { dueAtMs: nowMs + delayMs, suspect: false });
  }

  renewed(lease: Lease, lengthMs: number, accepted: boolean, nowMs: number): void {
    const delivery = this.find(lease);
    must(
      accepted === this.isCurrent(lease),
      `${this.name} ${placeOf(lease)} under ${lease.token}: renewal was ${accepted ? "accepted" : "refused"}`,
    );
    if (accepted && delivery !== undefined) delivery.expiresAtMs = Math.max(delivery.expiresAtMs, nowMs + lengthMs);
  }

  /** A fetch found it out of attempts. @throws Fault */
  died(place: { readonly partition: number; readonly sequence: number }, nowMs: number): void {
    const delivery = this.find(place);
    const fits =
      delivery !== undefined && delivery.state === "leased" && delivery.expiresAtMs <= nowMs && delivery.attempt >= MAX_ATTEMPTS;
    must(fits, `${this.name} ${placeOf(place)} died, though ${delivery?.state} at attempt ${delivery?.attempt}`);
    if (delivery === undefined) return;
    this.#end(delivery, "reclaimed");
    delivery.state = "dead";
  }

  /** `as`: "new" where the group goes back to before they were offered, "pending" where they are re-opened one by one. */
  reopened(deliveries: readonly ModelDelivery[], as: "new" | "pending"): void {
    for (const delivery of deliveries) {
      if (delivery.state === "leased") this.#end(delivery, "reset");
      this.#blur(delivery);
      Object.assign(delivery, { state: as, attempt: 0, suspect: false });
    }
  }

  /** Starts anew after these sequences, by partition. */
  reset(after: readonly number[], why: StaleReason): void {
    for (const delivery of this.deliveries()) {
      if (delivery.state === "leased") this.#end(delivery, why);
      const before = delivery.event.sequence <= (after[delivery.event.partition] ?? 0);
      Object.assign(delivery, { state: before ? "acked" : "new", attempt: 0, suspect: false, outside: before });
    }
    for (const name of this.#given) if (this.#ended.get(name)?.why !== why) this.#ended.delete(name);
  }

  /** The log lost everything up to these sequences. */
  trimmed(upTo: readonly number[]): void {
    for (const [place, { event }] of this.#deliveries) {
      if (event.sequence > (upTo[event.partition] ?? 0)) continue;
      const delivery = this.#deliveries.get(place);
      if (delivery !== undefined) this.#blur(delivery);
      this.#deliveries.delete(place);
    }
  }

  frontier(partition: number, firstSequence: number, highWatermark: number): number {
    for (let sequence = firstSequence; sequence <= highWatermark; sequence++) {
      const state = this.find({ partition, sequence })?.state;
      if (state !== "acked" && state !== "dead") return sequence - 1;
    }
    return highWatermark;
  }

  #end(delivery: ModelDelivery, why: StaleReason): void {
    this.#ended.set(leaseName({ ...delivery.event, token: delivery.token }), { why });
  }

  /** Its earlier leases may be told one thing or another from here on. */
  #blur({ event }: ModelDelivery): void {
    for (const name of this.#ended.keys()) if (name.startsWith(`${placeOf(event)} `)) this.#ended.delete(name);
  }
}

export const placeOf = ({ partition, sequence }: { readonly partition: number; readonly sequence: number }): string =>
  `${partition}/${sequence}`;

const leaseName = (lease: { readonly partition: number; readonly sequence: number; readonly token: number }): string =>
  `${placeOf(lease)} ${lease.token}`;
