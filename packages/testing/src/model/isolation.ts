/**
 * Last-chance isolation (T5, ADR 4) in the model: what a fetch may give of deliveries whose leases ran out, as which attempt, and
 * which of them may die of it. It knows what each member held at any time; what a store may have forgotten since, it leaves open.
 */
import type { Lease } from "@rheo/core";
import { LEASE_MS } from "./commands.ts";
import { type ModelDelivery, must, placeOf } from "./delivery.ts";
import type { Proof } from "./suspicion.ts";

/** A delivery as it was before the fetch that gave its lease. */
export interface Taken {
  readonly lease: Lease;
  readonly delivery: ModelDelivery;
}

/** How often a run came by what this rule is about. */
export interface IsolationTally {
  readonly halvings: number;
  readonly reservations: number;
  readonly deaths: number;
}

/** A last attempt keeps its member from other work for at most so many lease lengths. */
const RESERVED_LEASES = 10;

export class Isolation {
  readonly tally: { -readonly [Name in keyof IsolationTally]: number } = { halvings: 0, reservations: 0, deaths: 0 };
  readonly #group: string;
  readonly #maxAttempts: number;
  readonly #ordered: boolean;
  #batches = 0;

  constructor(group: string, maxAttempts: number, ordered: boolean) {
    this.#group = group;
    this.#maxAttempts = maxAttempts;
    this.#ordered = ordered;
  }

  /** A member was given `taken`, of `all`; notes what that says of these, and of what it holds. @throws Fault */
  granted(taken: readonly Taken[], all: readonly ModelDelivery[], consumerId: string, nowMs: number): void {
    if (taken.length === 0) return;
    const held = all.filter((delivery) => delivery.state === "leased" && delivery.consumerId === consumerId);
    const live = held.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
    const reserved = live.some(
      ({ proof, leasedAtMs }) => proof === "reserved" && nowMs - leasedAtMs < RESERVED_LEASES * LEASE_MS,
    );
    must(!reserved, `${this.#group}: ${consumerId} was given more beside a last attempt`);
    const sizes = sizesOf(all);
    this.#checkSearch(taken, live, sizes, nowMs);
    const idle = live.length === 0 && taken.length === 1;
    const proofs = taken.map((one) => this.#proofOf(one, idle, sizes, nowMs));
    const given = new Set(taken.map(({ delivery }) => delivery));
    for (const delivery of held) if (!given.has(delivery)) delivery.proof = besideMore(delivery, nowMs);
    this.#note(taken, proofs, all, consumerId, nowMs);
  }

  /** It was found out of attempts. @throws Fault */
  died(delivery: ModelDelivery): void {
    must(
      delivery.proof !== "none",
      `${this.#group} ${placeOf(delivery.event)} died of an expiry that proves nothing: ${delivery.consumerId} held more`,
    );
    this.tally.deaths += 1;
  }

  /** Renewed together: what had run out lives again beside all that its member holds. */
  renewed(deliveries: readonly ModelDelivery[], all: readonly ModelDelivery[], nowMs: number): void {
    const revived = new Set(deliveries.filter(({ expiresAtMs }) => expiresAtMs <= nowMs).map(({ consumerId }) => consumerId));
    for (const delivery of all) if (revived.has(delivery.consumerId)) delivery.proof = "none";
    const batches = new Map<number, number>();
    for (const delivery of deliveries) {
      const batch = batches.get(delivery.batch) ?? this.#newBatch();
      batches.set(delivery.batch, batch);
      Object.assign(delivery, { batch, loose: true });
    }
  }

  /** Suspects are searched in halves, one part at a time. */
  #checkSearch(taken: readonly Taken[], live: readonly ModelDelivery[], sizes: ReadonlyMap<number, number>, nowMs: number): void {
    const searched = taken.filter(({ delivery }) => this.#isSearched(delivery, nowMs));
    const [first] = searched;
    if (first === undefined) return;
    const size = sizeOf(first.delivery, sizes);
    const places = searched.map(({ delivery }) => placeOf(delivery.event)).join(", ");
    must(
      searched.every(({ delivery }) => delivery === first.delivery || (size > 1 && delivery.batch === first.delivery.batch)),
      `${this.#group}: suspects of several leases were given together: ${places}`,
    );
    must(searched.length <= Math.ceil(size / 2), `${this.#group}: more than half of ${size} suspects were given: ${places}`);
    must(
      live.every(({ takeovers, proof }) => takeovers < 2 && proof !== "reserved"),
      `${this.#group}: suspects were given to a member that had others already: ${places}`,
    );
    if (size > 1) this.tally.halvings += 1;
  }

  #isSearched(delivery: ModelDelivery, nowMs: number): boolean {
    return delivery.takeovers > 0 || (isExpired(delivery, nowMs) && delivery.attempt + 1 >= this.#maxAttempts);
  }

  /** What the new lease is going to prove. @throws Fault - another attempt, or at another time, than it may be */
  #proofOf({ lease, delivery }: Taken, idle: boolean, sizes: ReadonlyMap<number, number>, nowMs: number): Proof {
    const size = sizeOf(delivery, sizes);
    const where = `${this.#group} ${placeOf(delivery.event)}`;
    const expired = isExpired(delivery, nowMs);
    const attempts = this.#attempts(delivery, size, nowMs);
    must(
      attempts.includes(lease.attempt),
      `${where}: attempt ${lease.attempt} after ${delivery.attempt} of ${this.#maxAttempts}, expected ${attempts.join(" or ")}`,
    );
    const proven = delivery.proof === "chance" || delivery.proof === "reserved";
    must(
      !(expired && size === 1 && proven && delivery.attempt >= this.#maxAttempts),
      `${where}: given again, though its last attempt ran out alone`,
    );
    const suspect = expired || delivery.takeovers > 0;
    const last = this.#maxAttempts > 1 && lease.attempt === this.#maxAttempts;
    if (suspect && delivery.attempt + 1 >= this.#maxAttempts && (size === 1 || last)) {
      must(
        idle || !expired || nowMs - delivery.expiresAtMs > LEASE_MS,
        `${where}: a last attempt did not wait for an idle member`,
      );
      if (idle) this.tally.reservations += 1;
      return idle ? "reserved" : "none";
    }
    return idle && lease.attempt >= this.#maxAttempts - 1 ? "chance" : "none";
  }

  /** Which attempt the next one may be. */
  #attempts({ attempt, takeovers, proof, loose, ...delivery }: ModelDelivery, size: number, nowMs: number): readonly number[] {
    const next = attempt + 1;
    if ((takeovers === 0 && !isExpired(delivery, nowMs)) || next < this.#maxAttempts) return [next];
    const uncharged = Math.max(attempt, this.#maxAttempts - 1);
    if (size > 1 && !loose) return [uncharged];
    if (size > 1 || (proof === "forgotten" && takeovers > 0)) return [uncharged, this.#maxAttempts];
    return [takeovers === 0 || proof !== "none" ? this.#maxAttempts : uncharged];
  }

  #note(
    taken: readonly Taken[],
    proofs: readonly Proof[],
    all: readonly ModelDelivery[],
    consumerId: string,
    nowMs: number,
  ): void {
    const hasNew = all.some(({ state }) => state === "new");
    const batches = new Map<string, number>();
    const changes = taken.map(({ delivery }, index) => {
      const source = sourceOf(delivery, index);
      const batch = batches.get(source) ?? this.#newBatch();
      batches.set(source, batch);
      // where new events wait, a fetch may visit a partition twice; of a busy key the store may have noted each event by itself
      const loose = delivery.state === "new" ? this.#ordered : delivery.loose || hasNew;
      const takeovers = delivery.takeovers + (isExpired(delivery, nowMs) ? 1 : 0);
      return { batch, loose, takeovers, proof: proofs[index], consumerId, leasedAtMs: nowMs };
    });
    for (const [index, { delivery }] of taken.entries()) Object.assign(delivery, changes[index]);
  }

  #newBatch(): number {
    this.#batches += 1;
    return this.#batches;
  }
}

const isExpired = ({ state, expiresAtMs }: Pick<ModelDelivery, "state" | "expiresAtMs">, nowMs: number): boolean =>
  state === "leased" && expiresAtMs <= nowMs;

/** What a lease proves once its member was given more. */
const besideMore = ({ proof, expiresAtMs }: ModelDelivery, nowMs: number): Proof => {
  if (expiresAtMs > nowMs) return "none";
  return proof === "chance" ? "forgotten" : proof;
};

/** How many are left of each batch. */
const sizesOf = (all: readonly ModelDelivery[]): ReadonlyMap<number, number> => {
  const sizes = new Map<number, number>();
  for (const { state, batch } of all) if (state === "leased") sizes.set(batch, (sizes.get(batch) ?? 0) + 1);
  return sizes;
};

/** How many are left of what a delivery was leased with, itself included. */
const sizeOf = ({ state, batch }: ModelDelivery, sizes: ReadonlyMap<number, number>): number =>
  state === "leased" ? (sizes.get(batch) ?? 1) : 1;

/** The same for what is leased together now: new events of a partition, or what is left of a batch. */
const sourceOf = ({ state, batch, event }: ModelDelivery, index: number): string => {
  if (state === "leased") return `batch ${batch}`;
  return state === "new" ? `new ${event.partition}` : `alone ${index}`;
};
