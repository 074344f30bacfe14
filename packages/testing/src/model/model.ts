/**
 * One stream and its groups as plain arrays: what must be true after each step. Where the rules leave a choice (which deliveries a
 * fetch gives, when a crash suspect is tried again) the model takes what the store did and checks that it was allowed to.
 */
import type { Lease, Ordering, StaleReason } from "@rheo/core";
import { LEASE_MS, PARTITIONS } from "./commands.ts";
import { Fault, type ModelDelivery, type ModelEvent, must, placeOf } from "./delivery.ts";
import { Isolation, type Taken } from "./isolation.ts";
import { UNSUSPECTED } from "./suspicion.ts";

/** Why a lease ended, for what a late settle is told. */
interface Ended {
  readonly why: StaleReason;
}

export class ModelGroup {
  readonly name: string;
  readonly ordering: Ordering;
  readonly maxAttempts: number;
  /** Crash suspects (T5). */
  readonly isolation: Isolation;
  paused = false;
  /** Highest token given, by partition; outlives deletion (F1). */
  readonly highest: number[] = new Array<number>(PARTITIONS).fill(0);
  #deliveries = new Map<string, ModelDelivery>();
  readonly #ended = new Map<string, Ended>();
  /** Leases given out, that a reset or deletion since may have made stale. */
  readonly #given = new Set<string>();

  constructor(name: string, ordering: Ordering, maxAttempts: number) {
    this.name = name;
    this.ordering = ordering;
    this.maxAttempts = maxAttempts;
    this.isolation = new Isolation(name, maxAttempts, ordering !== "none");
  }

  offer(event: ModelEvent): void {
    this.#deliveries.set(placeOf(event), {
      event,
      state: "new",
      attempt: 0,
      token: 0,
      expiresAtMs: 0,
      dueAtMs: 0,
      outside: false,
      ...UNSUSPECTED,
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
  granted(leases: readonly Lease[], limit: number, consumerId: string, nowMs: number): void {
    must(!this.paused || leases.length === 0, "a paused group was given leases");
    must(leases.length <= limit, `${leases.length} leases for a limit of ${limit}`);
    const before = [...this.highest];
    const seen = new Map<number, number>();
    const taken: Taken[] = [];
    for (const lease of leases) {
      const where = `${this.name} ${placeOf(lease)}`;
      must(
        lease.token > (before[lease.partition] ?? 0),
        `${where}: token ${lease.token} is not above ${before[lease.partition]}`,
      );
      must((seen.get(lease.partition) ?? 0) < lease.sequence, `${where}: out of order, or twice`);
      seen.set(lease.partition, lease.sequence);
      this.highest[lease.partition] = Math.max(this.highest[lease.partition] ?? 0, lease.token);
      const delivery = this.find(lease);
      if (delivery === undefined) throw new Fault(`${where}: there is no such delivery`);
      taken.push({ lease, delivery });
    }
    this.isolation.granted(taken, this.deliveries(), consumerId, nowMs);
    for (const { lease, delivery } of taken) this.#grantedOne(lease, delivery, nowMs);
  }

  #grantedOne(lease: Lease, delivery: ModelDelivery, nowMs: number): void {
    const where = `${this.name} ${placeOf(lease)}`;
    must(
      this.#isClaimable(delivery, nowMs),
      `${where}: leased though ${delivery.state} until ${delivery.state === "leased" ? delivery.expiresAtMs : delivery.dueAtMs}, now ${nowMs}`,
    );
    must(this.#isFree(delivery, nowMs), `${where}: leased before an earlier event of its key was settled`);
    must(lease.expiresAt.getTime() === nowMs + LEASE_MS, `${where}: expires at ${lease.expiresAt.getTime()}`);
    if (delivery.state === "leased") this.#end(delivery, "reclaimed");
    this.#given.add(leaseName(lease));
    Object.assign(delivery, {
      state: "leased",
      attempt: lease.attempt,
      token: lease.token,
      expiresAtMs: nowMs + LEASE_MS,
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
        ({ state, takeovers, expiresAtMs }) =>
          (takeovers > 0 && state !== "acked" && state !== "dead") || (state === "leased" && expiresAtMs <= nowMs),
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
    const dead = how === "reject" || (how === "nack" && delivery.attempt >= this.maxAttempts);
    const state = dead ? "dead" : how === "ack" ? "acked" : how === "nack" ? "retrying" : "pending";
    must(told === state, `${where}, expected ${state}`);
    delivery.state = state;
    delivery.proof = "none";
    if (state === "pending") delivery.attempt -= 1;
    if (state === "retrying") Object.assign(delivery, { dueAtMs: nowMs + delayMs, takeovers: 0 });
  }

  /** Renewed in one call. @throws Fault */
  renewed(leases: readonly Lease[], lengthMs: number, accepted: readonly boolean[], nowMs: number): void {
    for (const [index, lease] of leases.entries())
      must(
        accepted[index] === this.isCurrent(lease),
        `${this.name} ${placeOf(lease)} under ${lease.token}: renewal was ${accepted[index] ? "accepted" : "refused"}`,
      );
    const renewed = leases.filter((lease) => this.isCurrent(lease)).flatMap((lease) => this.find(lease) ?? []);
    const moved = renewed.filter(({ expiresAtMs }) => expiresAtMs < nowMs + lengthMs);
    this.isolation.renewed(moved, this.deliveries(), nowMs);
    for (const delivery of moved) delivery.expiresAtMs = nowMs + lengthMs;
  }

  /** A fetch found it out of attempts. @throws Fault */
  died(place: { readonly partition: number; readonly sequence: number }, nowMs: number): void {
    const delivery = this.find(place);
    const fits =
      delivery !== undefined &&
      delivery.state === "leased" &&
      delivery.expiresAtMs <= nowMs &&
      delivery.attempt >= this.maxAttempts;
    must(fits, `${this.name} ${placeOf(place)} died, though ${delivery?.state} at attempt ${delivery?.attempt}`);
    if (delivery === undefined) return;
    this.isolation.died(delivery);
    this.#end(delivery, "reclaimed");
    delivery.state = "dead";
  }

  /** `as`: "new" where the group goes back to before they were offered, "pending" where they are re-opened one by one. */
  reopened(deliveries: readonly ModelDelivery[], as: "new" | "pending"): void {
    for (const delivery of deliveries) {
      if (delivery.state === "leased") this.#end(delivery, "reset");
      this.#blur(delivery);
      Object.assign(delivery, { state: as, attempt: 0, ...UNSUSPECTED });
    }
  }

  /** Starts anew after these sequences, by partition. */
  reset(after: readonly number[], why: StaleReason): void {
    for (const delivery of this.deliveries()) {
      if (delivery.state === "leased") this.#end(delivery, why);
      const before = delivery.event.sequence <= (after[delivery.event.partition] ?? 0);
      Object.assign(delivery, { state: before ? "acked" : "new", attempt: 0, outside: before, ...UNSUSPECTED });
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

const leaseName = (lease: { readonly partition: number; readonly sequence: number; readonly token: number }): string =>
  `${placeOf(lease)} ${lease.token}`;
