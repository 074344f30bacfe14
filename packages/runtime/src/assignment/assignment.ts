/**
 * A member's part in sharing out the partitions of its group. In each beat it renews what it holds, looks who else takes part, and
 * moves towards its share: takes what is free, and gives up what is too much. What is to be given up is not fetched from any more,
 * and given up once nothing of it is held, or at the latest after a lease length. Nothing here keeps order or exclusion: the store
 * does, whoever fetches from where.
 */
import type { StaleReason, Timer } from "@rheo/core";
import { isMissing, isTransient, type RheoInternals } from "@rheo/core/internal";
import type { Claim } from "../claims/claim-store.ts";
import { waitAtMost } from "../time-limit.ts";
import { AssignmentStore } from "./assignment-store.ts";
import { shareOf } from "./share.ts";

export interface AssignmentHost {
  readonly internals: RheoInternals;
  readonly stream: string;
  readonly group: string;
  readonly consumerId: string;
  /** Of the stream. */
  readonly partitions: number;
  /** Length of the leases on events; those on partitions are half of that, so that a death is made good within it. */
  leaseMs(): number;
  /** Nothing of the partition is held, nor being fetched. */
  isFree(partition: number): boolean;
  /** `held` has changed. */
  onChange(): void;
  /** It cannot go on. */
  onFailure(error: Error): void;
}

/** Beats per lease on a partition: two may fail before it matters. */
const BEATS_PER_LEASE = 4;
/** Beats out of turn follow the one before after this share of a beat, so that many wake-ups cost no more than a few beats. */
const POKE_SHARE = 0.25;
/** A beat is spread by this share to either side, so that members do not look in step. */
const JITTER = 0.1;
/** The margin before the local deadline, as a share of the lease. */
const MARGIN_SHARE = 0.1;
/** Bound on giving everything back at the end. */
const FAREWELL_MS = 1_000;

interface Held extends Claim {
  /** When it has surely run out, by the monotonic clock, less a margin. */
  deadlineMs: number;
  /** When it was decided to give it up; null: kept. */
  revokedAtMs: number | null;
}

export class Assignment {
  readonly #host: AssignmentHost;
  readonly #store: AssignmentStore;
  readonly #held = new Map<number, Held>();
  #seat: Claim | null = null;
  #isActive = true;
  #isStopped = false;
  #timer: Timer | null = null;
  #beat: Promise<void> | null = null;
  /** Something happened that the beat under way may have missed. */
  #isPoked = false;
  #endedAtMs = Number.NEGATIVE_INFINITY;
  #renewedAtMs = Number.NEGATIVE_INFINITY;
  #share = 0;
  #members = 0;
  #failures = 0;

  constructor(host: AssignmentHost) {
    this.#host = host;
    this.#store = new AssignmentStore(host.internals.backend, host, () => this.#leaseMs());
  }

  /** The name of the stream whose wake-ups are to be told to {@link poke}. */
  get stream(): string {
    return this.#store.stream;
  }

  /** The partitions to fetch from, rising. */
  get held(): readonly number[] {
    const nowMs = this.#monotonic();
    const kept = [...this.#held].filter(([, { revokedAtMs, deadlineMs }]) => revokedAtMs === null && nowMs < deadlineMs);
    return kept.map(([partition]) => partition).sort((a, b) => a - b);
  }

  start(): void {
    this.#begin();
  }

  /** An inactive member gives up everything, its seat first. */
  setActive(isActive: boolean): void {
    if (this.#isActive === isActive) return;
    this.#isActive = isActive;
    this.poke();
  }

  /** Looks again soon: something may have been given up, or finished here. */
  poke(): void {
    if (this.#isStopped || this.#isPoked) return;
    this.#isPoked = true;
    if (this.#beat === null) this.#beginLater();
  }

  /** Deliveries were settled: what waited for them can be given up. */
  settled(): void {
    for (const [partition, { revokedAtMs }] of this.#held) {
      if (revokedAtMs !== null && this.#host.isFree(partition)) return this.poke();
    }
  }

  /** Gives everything up, as far as the store answers. Idempotent; bounded. */
  async stop(): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#timer?.cancel();
    const farewell = (async () => {
      await this.#beat;
      await this.#leave([...this.#held.keys()]);
    })().catch(() => undefined); // then the leases run out
    await waitAtMost(this.#host.internals.clock, FAREWELL_MS, farewell);
  }

  details(): Readonly<Record<string, number | readonly number[]>> {
    return { partitions: this.held, share: this.#share, members: this.#members, assignmentFailures: this.#failures };
  }

  // Beats

  #begin(): void {
    this.#timer?.cancel();
    this.#isPoked = false;
    this.#beat = this.#run().finally(() => {
      this.#beat = null;
      this.#endedAtMs = this.#monotonic();
      if (!this.#isStopped) this.#beginLater();
    });
  }

  #beginLater(): void {
    this.#timer?.cancel();
    const spread = 1 + JITTER * (2 * this.#host.internals.random() - 1);
    const afterMs = this.#beatMs() * (this.#isPoked && this.#failures === 0 ? POKE_SHARE : spread);
    const delayMs = Math.max(0, Math.ceil(this.#endedAtMs + afterMs - this.#monotonic()));
    this.#timer = this.#host.internals.clock.schedule(delayMs, () => this.#begin());
  }

  async #run(): Promise<void> {
    try {
      await this.#store.ensure();
      await this.#renew();
      if (this.#isActive) await this.#approachShare();
      else await this.#giveUp();
      this.#failures = 0;
    } catch (cause) {
      this.#failed(cause instanceof Error ? cause : new Error(String(cause)));
    }
    this.#loseOverdue();
  }

  #failed(error: Error): void {
    if (this.#isStopped) return;
    if (isMissing(error)) {
      this.#store.forget(); // deleted with the group, or by hand: made again in the next beat
      this.#seat = null;
      this.#lose([...this.#held.keys()]);
    } else if (!isTransient(error)) return this.#host.onFailure(error);
    this.#failures += 1;
    this.#host.internals.emit("assignment.failed", { ...this.#names(), failures: this.#failures, error });
  }

  async #renew(): Promise<void> {
    const nowMs = this.#monotonic();
    if (nowMs - this.#renewedAtMs < this.#beatMs() / 2) return; // a beat out of turn
    const held = [...this.#held];
    const partitions = await this.#store.renew(
      "partitions",
      held.map(([, claim]) => claim),
    );
    const deadlineMs = this.#deadlineAfter(nowMs);
    const answeredAtMs = this.#monotonic();
    let isBack = false;
    for (const [at, [partition, claim]] of held.entries()) {
      if (isKept(partitions[at])) {
        isBack ||= answeredAtMs >= claim.deadlineMs;
        claim.deadlineMs = deadlineMs;
      } else this.#lose([partition]);
    }
    if (isBack) this.#host.onChange(); // whoever looked since its deadline was told that it is not held
    const [seat] = await this.#store.renew("seats", this.#seat === null ? [] : [this.#seat]);
    if (!isKept(seat)) this.#seat = null;
    this.#renewedAtMs = nowMs;
  }

  /** Towards the share of this member. */
  async #approachShare(): Promise<void> {
    this.#seat ??= await this.#store.takeSeat();
    const { partitions, consumerId: self } = this.#host;
    const { members, held } = await this.#store.look();
    this.#members = members.length;
    this.#share = shareOf({ partitions, members, held, self });
    this.#revokeDownTo(this.#share);
    await this.#releaseFree();
    const taken = [...held].reduce((sum, [member, count]) => sum + (member === self ? 0 : count), this.#held.size);
    const wanted = Math.min(this.#share - this.#kept().length, partitions - taken);
    if (wanted > 0 && this.#isActive && !this.#isStopped) await this.#take(wanted);
  }

  /** All of it, while nothing here is active: the seat first, so that the others already share without this member. */
  async #giveUp(): Promise<void> {
    this.#share = 0;
    this.#revokeDownTo(0);
    await this.#releaseSeat();
    await this.#releaseFree();
  }

  async #take(wanted: number): Promise<void> {
    const askedAtMs = this.#monotonic();
    const claims = await this.#store.take(wanted);
    for (const claim of claims) {
      const partition = claim.sequence - 1;
      this.#held.set(partition, { ...claim, deadlineMs: this.#deadlineAfter(askedAtMs), revokedAtMs: null });
      this.#host.internals.emit("partition.assigned", { ...this.#names(), partition, token: claim.token });
    }
    if (claims.length > 0) this.#host.onChange();
  }

  /** Marks what is too much, the idle ones first; takes marks back when it is not. */
  #revokeDownTo(share: number): void {
    let changed = false;
    const kept = this.#kept();
    const surplus = kept.length - share;
    const byIdle = [...kept].sort((a, b) => Number(this.#host.isFree(b)) - Number(this.#host.isFree(a)) || b - a);
    for (const partition of byIdle.slice(0, Math.max(0, surplus))) changed = this.#mark(partition, this.#monotonic()) || changed;
    const revoked = [...this.#held.keys()].filter((partition) => !kept.includes(partition)).sort((a, b) => a - b);
    for (const partition of revoked.slice(0, Math.max(0, -surplus))) changed = this.#mark(partition, null) || changed;
    if (changed) this.#host.onChange();
  }

  #mark(partition: number, revokedAtMs: number | null): boolean {
    const held = this.#held.get(partition);
    if (held === undefined) return false;
    held.revokedAtMs = revokedAtMs;
    return true;
  }

  async #releaseFree(): Promise<void> {
    const dueMs = this.#monotonic() - this.#host.leaseMs();
    const due = [...this.#held].flatMap(([partition, { revokedAtMs }]) =>
      revokedAtMs !== null && (revokedAtMs <= dueMs || this.#host.isFree(partition)) ? [partition] : [],
    );
    await this.#release(due);
  }

  async #release(partitions: readonly number[]): Promise<void> {
    const claims = partitions.flatMap((partition) => this.#held.get(partition) ?? []);
    if (claims.length === 0) return;
    await this.#store.release("partitions", claims);
    for (const partition of partitions) {
      this.#held.delete(partition);
      this.#host.internals.emit("partition.released", { ...this.#names(), partition });
    }
  }

  async #releaseSeat(): Promise<void> {
    if (this.#seat === null) return;
    await this.#store.release("seats", [this.#seat]);
    this.#seat = null;
  }

  async #leave(partitions: readonly number[]): Promise<void> {
    await this.#releaseSeat();
    await this.#release(partitions);
  }

  #loseOverdue(): void {
    const nowMs = this.#monotonic();
    this.#lose([...this.#held].flatMap(([partition, { deadlineMs }]) => (nowMs < deadlineMs ? [] : [partition])));
  }

  #lose(partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#held.delete(partition);
      this.#host.internals.emit("partition.lost", { ...this.#names(), partition });
    }
    if (partitions.length > 0) this.#host.onChange();
  }

  #kept(): number[] {
    return [...this.#held].flatMap(([partition, { revokedAtMs }]) => (revokedAtMs === null ? [partition] : []));
  }

  // Times

  #leaseMs(): number {
    return Math.ceil(this.#host.leaseMs() / 2);
  }

  #beatMs(): number {
    return this.#leaseMs() / BEATS_PER_LEASE;
  }

  #deadlineAfter(atMs: number): number {
    return atMs + this.#leaseMs() * (1 - MARGIN_SHARE);
  }

  #monotonic(): number {
    return this.#host.internals.clock.monotonic();
  }

  #names(): { stream: string; group: string; consumerId: string } {
    const { stream, group, consumerId } = this.#host;
    return { stream, group, consumerId };
  }
}

const isKept = (why: StaleReason | null | undefined): boolean => why === null || why === undefined;
