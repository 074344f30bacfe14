/**
 * What a group keeps for one partition, as far as every fetch needs it: read once, then kept beside what is written. There is one owner,
 * so nobody else changes it; and a transaction that is rolled back has the whole of it forgotten.
 */
import type { Exception, Head, RangeLease, Revocation } from "@rheo/core/internal";
import type { Environment } from "./environment.ts";
import { leasedExceptions } from "./tables/exceptions.ts";
import { type Counts, readHead } from "./tables/heads.ts";
import { readLeases } from "./tables/leases.ts";
import type { Part } from "./tables/progress-keys.ts";
import { readRevocations } from "./tables/revocations.ts";

const NEVER = Number.POSITIVE_INFINITY;

export class PartState {
  head: Head;
  counts: Counts;
  /** Not later than the earliest due exception: whether one is due need not be looked up before. */
  dueBoundMs: number = -NEVER;
  readonly #part: Part;
  readonly #environment: Environment;
  readonly #leases = new Map<number, RangeLease[]>();
  /** Exceptions that are leased by themselves. */
  readonly #leased = new Map<number, Exception>();
  #sorted: readonly RangeLease[] | null = null;
  #revocations: Revocation[] | null = null;
  /** Open positions of all leases. */
  #open = 0;
  /** Leases of either kind with `alone` above 0. */
  #alone = 0;
  /** Not later than the earliest expiry of either kind. */
  #expiryBoundMs = NEVER;

  constructor(environment: Environment, part: Part) {
    this.#environment = environment;
    this.#part = part;
    const { exceptions, retrying, deadLetters, ...head } = readHead(environment, part);
    this.head = head;
    this.counts = { exceptions, retrying, deadLetters };
    for (const lease of readLeases(environment, part)) this.addLease(lease);
    if (exceptions > 0) for (const exception of leasedExceptions(environment, part)) this.addLeased(exception);
  }

  get alone(): boolean {
    return this.#alone > 0;
  }

  /** By first sequence. */
  get leases(): readonly RangeLease[] {
    this.#sorted ??= [...this.#leases.values()].flat().sort((a, b) => a.first - b.first);
    return this.#sorted;
  }

  get leased(): ReadonlyMap<number, Exception> {
    return this.#leased;
  }

  /** By token, then by first sequence. */
  get revocations(): Revocation[] {
    this.#revocations ??= readRevocations(this.#environment, this.#part);
    return this.#revocations;
  }

  leasesOfToken(token: number): readonly RangeLease[] {
    return this.#leases.get(token) ?? NO_LEASES;
  }

  addLease(lease: RangeLease): void {
    this.dropLease(lease.token, lease.first);
    const others = this.#leases.get(lease.token);
    if (others === undefined) this.#leases.set(lease.token, [lease]);
    else
      this.#leases.set(
        lease.token,
        [...others, lease].sort((a, b) => a.first - b.first),
      );
    this.#sorted = null;
    this.#open += lease.open;
    this.#expiryBoundMs = Math.min(this.#expiryBoundMs, lease.expiresAtMs);
    if (lease.alone > 0) this.#alone += 1;
  }

  dropLease(token: number, first: number): void {
    const leases = this.#leases.get(token);
    const lease = leases?.find((found) => found.first === first);
    if (leases === undefined || lease === undefined) return;
    if (leases.length === 1) this.#leases.delete(token);
    else
      this.#leases.set(
        token,
        leases.filter((found) => found !== lease),
      );
    this.#sorted = null;
    this.#open -= lease.open;
    if (lease.alone > 0) this.#alone -= 1;
  }

  addLeased(exception: Exception): void {
    this.dropLeased(exception.sequence);
    this.#leased.set(exception.sequence, exception);
    this.#expiryBoundMs = Math.min(this.#expiryBoundMs, exception.dueAtMs ?? NEVER);
    if (exception.alone > 0) this.#alone += 1;
  }

  dropLeased(sequence: number): void {
    const exception = this.#leased.get(sequence);
    if (exception === undefined) return;
    this.#leased.delete(sequence);
    if (exception.alone > 0) this.#alone -= 1;
  }

  /** Unexpired leases. The common case, that none has run out, looks at none of them. */
  inflight(nowMs: number): number {
    if (this.#boundMs(nowMs) > nowMs) return this.#open + this.#leased.size;
    let inflight = 0;
    for (const lease of this.leases) if (lease.expiresAtMs > nowMs) inflight += lease.open;
    for (const { dueAtMs } of this.#leased.values()) if ((dueAtMs ?? 0) > nowMs) inflight += 1;
    return inflight;
  }

  hasExpired(nowMs: number): boolean {
    return this.#boundMs(nowMs) <= nowMs && this.leases.some((lease) => lease.expiresAtMs <= nowMs);
  }

  /** The bound, made exact when it has been reached. */
  #boundMs(nowMs: number): number {
    if (this.#expiryBoundMs > nowMs) return this.#expiryBoundMs;
    let bound = NEVER;
    for (const leases of this.#leases.values()) for (const lease of leases) bound = Math.min(bound, lease.expiresAtMs);
    for (const { dueAtMs } of this.#leased.values()) bound = Math.min(bound, dueAtMs ?? NEVER);
    this.#expiryBoundMs = bound;
    return bound;
  }
}

const NO_LEASES: readonly RangeLease[] = [];
