/**
 * How assignment is kept in the store: on Rheo's own primitives, so that every backend has it. For each stream and group there is a
 * stream of two partitions. The first has an event for each partition of the real stream, and the lease on it is the lease on that
 * partition. The second has an event for each seat, and whoever takes part holds the lease of one: so the members are known.
 *
 * A lease that is taken over from a dead member is a crash suspect to the store (T5), and after several deaths suspects are given
 * out one by one. These are not what their holders died of, so whatever was taken over is at once settled as failed without a
 * delay and leased anew, in one step: that ends the suspicion. It also costs an attempt, so before those run out the group is reset.
 */
import { type Backend, type ExchangeRequest, type Grant, RheoError, type Settlement, type StaleReason } from "@rheo/core";
import { assignmentStream, LIMITS, streamNotFound } from "@rheo/core/internal";

/** A lease on a partition, or on a seat. */
export interface Claim {
  /** In the internal stream. */
  readonly sequence: number;
  readonly token: number;
}

/** What the store says of the others. */
export interface Look {
  /** Members with a seat. */
  readonly members: readonly string[];
  /** Partitions that each member holds, by name. */
  readonly held: ReadonlyMap<string, number>;
}

type Kind = "partitions" | "seats";

const PARTITION_OF: Readonly<Record<Kind, number>> = { partitions: 0, seats: 1 };
const KINDS: readonly Kind[] = ["partitions", "seats"];
/** The most that a group may have. */
const MAX_ATTEMPTS = 1_000;
/** Each death of a holder costs two attempts. */
const RESET_AT = 900;
/** Members that take the last free seat at the same time make new ones; so many rounds are far more than it takes. */
const SEAT_ROUNDS = 10;

export class AssignmentStore {
  readonly #backend: Backend;
  readonly #stream: string;
  readonly #partitions: number;
  readonly #consumerId: string;
  readonly #leaseMs: () => number;
  #isThere = false;

  /** @param leaseMs - of partitions and seats */
  constructor(
    backend: Backend,
    { stream, group, partitions, consumerId }: { stream: string; group: string; partitions: number; consumerId: string },
    leaseMs: () => number,
  ) {
    this.#backend = backend;
    this.#stream = assignmentStream(stream, group);
    this.#partitions = partitions;
    this.#consumerId = consumerId;
    this.#leaseMs = leaseMs;
  }

  /** Whose wake-ups say that something was given up. */
  get stream(): string {
    return this.#stream;
  }

  /** Makes what is not there yet. To be called first, and again after {@link forget}. */
  async ensure(): Promise<void> {
    if (this.#isThere) return;
    await this.#backend.createStream(this.#stream, KINDS.length);
    await this.#append(
      "partitions",
      Array.from({ length: this.#partitions }, (_, partition) => `partition-${partition}`),
    );
    const leaseMs = this.#leaseMs();
    for (const kind of KINDS) {
      const retry = { minMs: 0, maxMs: 0, factor: 1, jitter: 0 };
      const options = { maxAttempts: MAX_ATTEMPTS, leaseMs, retry, ordering: "none", filter: null, maxInflight: null } as const;
      await this.#backend.createGroup(this.#stream, kind, options, { kind: "earliest" });
    }
    this.#isThere = true;
  }

  /** It may have been deleted. */
  forget(): void {
    this.#isThere = false;
  }

  async look(): Promise<Look> {
    const seats = await this.#backend.groupStats(this.#stream, "seats");
    const partitions = await this.#backend.groupStats(this.#stream, "partitions");
    const holding = partitions.members.filter(({ leases }) => leases > 0);
    return {
      members: seats.members.filter(({ leases }) => leases > 0).map(({ consumerId }) => consumerId),
      held: new Map(holding.map(({ consumerId, leases }) => [consumerId, leases])),
    };
  }

  /** Leases a seat, an own new one if none is free. */
  async takeSeat(): Promise<Claim> {
    for (let round = 0; round < SEAT_ROUNDS; round++) {
      const [seat] = await this.#fetch("seats", 1);
      if (seat !== undefined) return seat;
      const marks = await this.#backend.watermarks(this.#stream);
      const last = marks[PARTITION_OF.seats]?.highWatermark ?? 0;
      await this.#append("seats", [`seat-${last + 1}`]);
    }
    throw new RheoError("unavailable", `No seat of ${this.#stream} could be had: too many members came at the same time.`);
  }

  /** Leases up to `limit` partitions that are free. */
  async take(limit: number): Promise<Claim[]> {
    const claims = await this.#fetch("partitions", limit);
    if (claims.every(({ sequence }) => sequence <= this.#partitions)) return claims;
    // made for a stream of that name that had more partitions, and is no more
    await this.#backend.deleteStream(this.#stream);
    this.forget();
    return [];
  }

  /** By place in `claims`: null when renewed, else why not. */
  async renew(kind: Kind, claims: readonly Claim[]): Promise<(StaleReason | null)[]> {
    if (claims.length === 0) return [];
    const items = claims.map(({ sequence, token }) => ({ partition: PARTITION_OF[kind], token, sequences: [sequence] }));
    const { stale } = await this.#backend.renew({
      stream: this.#stream,
      group: kind,
      consumerId: this.#consumerId,
      items,
      leaseMs: this.#leaseMs(),
    });
    return stale.map(([why]) => why ?? null);
  }

  async release(kind: Kind, claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const settlements = claims.map((claim) => settlement(kind, [claim.sequence], claim.token, { kind: "release" }));
    await this.#backend.exchange({ stream: this.#stream, group: kind, settlements, fetch: null });
  }

  async #fetch(kind: Kind, limit: number): Promise<Claim[]> {
    const { grants } = await this.#backend.exchange(this.#request(kind, [], limit));
    const taken = grants.filter(({ attempt }) => attempt > 1);
    if (taken.length === 0) return claimsOf(grants);
    if (taken.some(({ attempt }) => attempt >= RESET_AT)) {
      await this.#backend.reset(this.#stream, kind, { kind: "earliest" });
      return [];
    }
    const failed = { kind: "retry", delayMs: 0, reason: "taken over", stack: null } as const;
    const sequences = (grant: Grant): number[] => grant.events.map(({ sequence }) => sequence);
    const settlements = taken.map((grant) => settlement(kind, sequences(grant), grant.token, failed));
    const count = taken.reduce((sum, { events }) => sum + events.length, 0);
    const again = await this.#backend.exchange(this.#request(kind, settlements, count));
    return [...claimsOf(grants.filter(({ attempt }) => attempt === 1)), ...claimsOf(again.grants)];
  }

  #request(kind: Kind, settlements: readonly Settlement[], limit: number): ExchangeRequest {
    const fetch = {
      limit,
      maxBytes: LIMITS.fetchBytes,
      consumerId: this.#consumerId,
      leaseMs: this.#leaseMs(),
      partitions: [PARTITION_OF[kind]],
    };
    return { stream: this.#stream, group: kind, settlements, fetch };
  }

  /** Events that are there already stay as they are (L4). */
  async #append(kind: Kind, ids: readonly string[]): Promise<void> {
    const values = Object.freeze({ metadata: Object.freeze({}), payload: null });
    const events = ids.map((id) => ({
      partition: PARTITION_OF[kind],
      id,
      timestampMs: null,
      type: null,
      key: null,
      metadata: "{}",
      payload: "null",
      bytes: id.length + OVERHEAD_BYTES,
      expectedSequence: null,
      values,
    }));
    const [answer] = await this.#backend.append([{ stream: this.#stream, partitions: KINDS.length, events }]);
    if (answer?.kind === "stream_not_found") throw streamNotFound(this.#stream);
  }
}

/** Metadata and payload of an event that has none. */
const OVERHEAD_BYTES = 6;

const claimsOf = (grants: readonly Grant[]): Claim[] =>
  grants.flatMap(({ token, events }) => events.map(({ sequence }) => ({ sequence, token })));

const settlement = (kind: Kind, sequences: readonly number[], token: number, outcome: Settlement["outcome"]): Settlement => ({
  partition: PARTITION_OF[kind],
  token,
  sequences,
  outcome,
});
