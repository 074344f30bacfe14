/**
 * Leases on things that are not events: seats, partitions, an office. They are kept on Rheo's own primitives, so that every backend
 * has them and a dead holder is found as any dead consumer is: an internal stream with one partition and one group for each kind of
 * thing, and in it an event for each thing.
 *
 * A lease that is taken over from a dead holder is a crash suspect to the store (T5), and after several deaths suspects are given
 * out one by one. These are not what their holders died of, so whatever was taken over is at once settled as failed without a
 * delay and leased anew, in one step: that ends the suspicion. It also costs an attempt, so before those run out the group is reset.
 */
import {
  type Backend,
  type EventRecord,
  type ExchangeRequest,
  type Grant,
  type GroupStats,
  RheoError,
  type Settlement,
  type StaleReason,
} from "@rheo/core";
import { LIMITS, streamNotFound } from "@rheo/core/internal";

/** A lease on a thing. */
export interface Claim {
  /** Of its event, within its kind. */
  readonly sequence: number;
  readonly token: number;
}

export interface ClaimStoreOptions<Kind extends string> {
  /** The internal stream. */
  readonly stream: string;
  /** What there is to claim at the beginning, by kind: ids. */
  readonly kinds: Readonly<Record<Kind, readonly string[]>>;
  readonly consumerId: string;
  leaseMs(): number;
}

export interface Renewals {
  /** By place in what was asked: null when renewed, else why not. */
  readonly stale: readonly (StaleReason | null)[];
  /** The store's time, in ms since the epoch. */
  readonly nowMs: number;
}

/** The most that a group may have. */
const MAX_ATTEMPTS = 1_000;
/** Each death of a holder costs two attempts. */
const RESET_AT = 900;
/** Metadata and payload of an event that has none. */
const OVERHEAD_BYTES = 6;

export class ClaimStore<Kind extends string> {
  readonly #backend: Backend;
  readonly #options: ClaimStoreOptions<Kind>;
  readonly #kinds: readonly Kind[];
  #isThere = false;

  constructor(backend: Backend, options: ClaimStoreOptions<Kind>) {
    this.#backend = backend;
    this.#options = options;
    this.#kinds = Object.keys(options.kinds) as Kind[]; // the keys of that record
  }

  /** Whose wake-ups say that something was given up. */
  get stream(): string {
    return this.#options.stream;
  }

  /** Makes what is not there yet. To be called first, and again after {@link forget} or {@link remove}. */
  async ensure(): Promise<void> {
    if (this.#isThere) return;
    await this.#backend.createStream(this.stream, this.#kinds.length);
    const leaseMs = this.#options.leaseMs();
    for (const kind of this.#kinds) {
      if (this.#options.kinds[kind].length > 0) await this.append(kind, this.#options.kinds[kind]);
      const retry = { minMs: 0, maxMs: 0, factor: 1, jitter: 0 };
      const options = { maxAttempts: MAX_ATTEMPTS, leaseMs, retry, ordering: "none", filter: null, maxInflight: null } as const;
      await this.#backend.createGroup(this.stream, kind, options, { kind: "earliest" });
    }
    this.#isThere = true;
  }

  /** It may have been deleted. */
  forget(): void {
    this.#isThere = false;
  }

  async remove(): Promise<void> {
    await this.#backend.deleteStream(this.stream);
    this.forget();
  }

  /** Who holds how many. */
  stats(kind: Kind): Promise<GroupStats> {
    return this.#backend.groupStats(this.stream, kind);
  }

  /** How many things of a kind there are. */
  async count(kind: Kind): Promise<number> {
    const marks = await this.#backend.watermarks(this.stream);
    return marks[this.#partitionOf(kind)]?.highWatermark ?? 0;
  }

  /** Leases up to `limit` things that are free. */
  async take(kind: Kind, limit: number): Promise<Claim[]> {
    const claims: Claim[] = [];
    const cleared = new Set<number>();
    let settlements: Settlement[] = [];
    for (let wanted = limit; wanted > 0; wanted = countOf(settlements)) {
      const { grants } = await this.#backend.exchange(this.#request(kind, settlements, wanted));
      if (grants.some(({ attempt }) => attempt >= RESET_AT)) {
        await this.#backend.reset(this.stream, kind, { kind: "earliest" });
        return [];
      }
      const isSuspect = ({ attempt }: Grant, { sequence }: EventRecord): boolean => attempt > 1 && !cleared.has(sequence);
      claims.push(...claimsOf(grants, (grant, event) => !isSuspect(grant, event)));
      // what another dead holder had may come before what was just cleared, so that is looked at again, too
      settlements = this.#clear(kind, claimsOf(grants, isSuspect));
      for (const sequence of settlements.flatMap(({ sequences }) => sequences)) cleared.add(sequence);
    }
    return claims;
  }

  /** Ends the suspicion that a takeover has cast on them, and gives them up: whoever fetches next may have them. */
  #clear(kind: Kind, suspects: readonly Claim[]): Settlement[] {
    const failed = { kind: "retry", delayMs: 0, reason: "taken over", stack: null } as const;
    return suspects.map(({ sequence, token }) => this.#settlement(kind, [sequence], token, failed));
  }

  async renew(kind: Kind, claims: readonly [Claim, ...Claim[]]): Promise<Renewals> {
    const leaseMs = this.#options.leaseMs();
    const { stale, expiresAtMs } = await this.#backend.renew({
      stream: this.stream,
      group: kind,
      consumerId: this.#options.consumerId,
      items: claims.map(({ sequence, token }) => ({ partition: this.#partitionOf(kind), token, sequences: [sequence] })),
      leaseMs,
    });
    return { stale: stale.map(([why]) => why ?? null), nowMs: expiresAtMs - leaseMs };
  }

  async release(kind: Kind, claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return;
    const settlements = claims.map((claim) => this.#settlement(kind, [claim.sequence], claim.token, { kind: "release" }));
    await this.#backend.exchange({ stream: this.stream, group: kind, settlements, fetch: null });
  }

  /** More things. Those that are there already stay as they are (L4). */
  async append(kind: Kind, ids: readonly string[]): Promise<void> {
    const values = Object.freeze({ metadata: Object.freeze({}), payload: null });
    const events = ids.map((id) => ({
      partition: this.#partitionOf(kind),
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
    const [answer] = await this.#backend.append([{ stream: this.stream, partitions: this.#kinds.length, events }]);
    if (answer?.kind === "stream_not_found") throw streamNotFound(this.stream);
    if (answer?.kind !== "appended")
      throw new RheoError("unavailable", `${this.stream} could not be appended to: ${answer?.kind}.`);
  }

  #partitionOf(kind: Kind): number {
    return this.#kinds.indexOf(kind);
  }

  #request(kind: Kind, settlements: readonly Settlement[], limit: number): ExchangeRequest {
    const fetch = {
      limit,
      maxBytes: LIMITS.fetchBytes,
      consumerId: this.#options.consumerId,
      leaseMs: this.#options.leaseMs(),
      partitions: [this.#partitionOf(kind)],
      runLimit: 1,
    };
    return { stream: this.stream, group: kind, settlements, fetch };
  }

  #settlement(kind: Kind, sequences: readonly number[], token: number, outcome: Settlement["outcome"]): Settlement {
    return { partition: this.#partitionOf(kind), token, sequences, outcome };
  }
}

const claimsOf = (grants: readonly Grant[], isMeant: (grant: Grant, event: EventRecord) => boolean): Claim[] =>
  grants.flatMap((grant) =>
    grant.events.filter((event) => isMeant(grant, event)).map(({ sequence }) => ({ sequence, token: grant.token })),
  );

const countOf = (settlements: readonly Settlement[]): number =>
  settlements.reduce((sum, { sequences }) => sum + sequences.length, 0);
