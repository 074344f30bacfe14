/**
 * Keeps the leases of one group: one call per interval for everything held, off the handlers' path, never two at once. What the
 * store says is lost is reported; when renewals keep failing, everything is given up at the local deadline: the last success plus
 * the lease, less a margin. A process that slept renews first, before it settles or starts anything.
 */
import type { RenewRequest, StaleReason, Timer } from "@rheo/core";
import type { RheoInternals } from "@rheo/core/internal";
import type { ConsumerDefinition } from "../consumer.ts";
import { type Batch, HELD, type Ledger, RUNNING } from "./ledger.ts";

export interface RenewerHost {
  readonly internals: RheoInternals;
  readonly consumer: ConsumerDefinition;
  readonly consumerId: string;
  readonly ledger: Ledger;
  leaseMs(): number;
  /** A delivery is no longer ours; with `expired`, as far as we know. */
  lost(batch: Batch, index: number, why: StaleReason | "expired"): void;
  /** A renewal was answered (0) or failed for the nth time in a row. */
  renewed(failures: number): void;
  /** Everything was given up, because renewals kept failing. */
  gaveUp(): void;
  /** Once per interval. */
  interval(): void;
}

/** Renewals per lease length: two may fail before it matters. */
const RENEWALS_PER_LEASE = 3;
/** A failed renewal is tried again this share of the lease after it began. */
const RETRY_SHARE = 0.1;
/** A call that takes longer than this share of the lease is given up as failed, so that a hanging one does not stop all others. */
const CALL_SHARE = 0.52;
/** The margin before the local deadline: this share of the lease, and at most so many ms. */
const MARGIN_SHARE = 0.1;
const MARGIN_MAX_MS = 1_000;
/** A wall clock that runs ahead of the monotonic one by more than this between two looks means that the machine slept. */
const SLEEP_MS = 1_000;

export class Renewer {
  readonly #host: RenewerHost;
  #timer: Timer | null = null;
  /** Of the call in flight. */
  #limit: Timer | null = null;
  #dueAtMs = 0;
  #failures = 0;
  #stopped = false;
  /** The call in flight; several may share its end. */
  #call: Promise<void> | null = null;
  #lookedAt: { readonly wallMs: number; readonly monotonicMs: number };

  constructor(host: RenewerHost) {
    this.#host = host;
    this.#lookedAt = this.#look();
  }

  start(): void {
    this.#arm(this.#intervalMs());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#limit?.cancel();
  }

  /** When the process has slept: the renewal that must come first. Else null. */
  wokeUp(): Promise<void> | null {
    return this.#hasSlept() ? this.renewNow() : null;
  }

  /** Whether a lease is good enough to start work on; if not, its renewal is begun. */
  isFresh(batch: Batch): boolean {
    if (this.#monotonic() < batch.deadlineMs - this.#marginMs()) return true;
    if (this.#failures === 0) void this.renewNow(); // a failed one is repeated by the timer, not by everyone who asks
    return false;
  }

  /** Ends when a renewal has been answered or has failed; never rejects. */
  renewNow(): Promise<void> {
    this.#call ??= this.#renew().finally(() => {
      this.#call = null;
    });
    return this.#call;
  }

  #arm(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer?.cancel();
    this.#dueAtMs = this.#monotonic() + delayMs;
    this.#timer = this.#host.internals.clock.schedule(delayMs, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const lateMs = this.#monotonic() - this.#dueAtMs;
    const slept = this.#hasSlept() || lateMs > this.#intervalMs();
    this.#arm(this.#intervalMs());
    this.#host.interval();
    if (!slept && this.#failures > 0) this.#giveUpExpired();
    await this.renewNow();
    if (this.#failures > 0) this.#giveUpExpired();
  }

  async #renew(): Promise<void> {
    const items = [...this.#host.ledger.batches]
      .map((batch) => asItem(this.#host.ledger, batch))
      .filter(({ indexes }) => indexes.length > 0);
    const count = items.reduce((sum, { sequences }) => sum + sequences.length, 0);
    if (count === 0) return this.#answered();
    const { stream, group, leaseMs } = this.#host.consumer;
    const startedAtMs = this.#monotonic();
    try {
      const call = this.#host.internals.renew({
        stream,
        group,
        consumerId: this.#host.consumerId,
        items: items.map(({ partition, token, sequences }) => ({ partition, token, sequences })),
        leaseMs,
      });
      const apply = call.then((answer) => {
        for (const [at, item] of items.entries()) this.#apply(item, answer.stale[at] ?? [], startedAtMs);
      });
      await this.#limited(apply);
      this.#answered();
    } catch (cause) {
      this.#failed(cause, count, this.#monotonic() - startedAtMs);
    }
  }

  #apply({ batch, indexes }: RenewItem, stale: readonly (StaleReason | null)[], startedAtMs: number): void {
    batch.deadlineMs = Math.max(batch.deadlineMs, startedAtMs + this.#host.leaseMs());
    indexes.forEach((index, at) => {
      const why = stale[at] ?? null;
      if (why === null || (why === "settled" && this.#host.ledger.isSettling(batch, index))) return; // our own settlement overtook the renewal
      this.#host.lost(batch, index, why);
    });
  }

  /** A late answer still counts: `call` goes on, only nobody waits for it. */
  async #limited(call: Promise<void>): Promise<void> {
    const limit = new Promise<never>((_, reject) => {
      const limitMs = this.#host.leaseMs() * CALL_SHARE;
      this.#limit = this.#host.internals.clock.schedule(
        limitMs,
        () => reject(new Error(`no answer within ${Math.round(limitMs)} ms`)),
        { keepAlive: false },
      );
    });
    try {
      await Promise.race([call, limit]);
    } finally {
      this.#limit?.cancel();
      call.catch(() => undefined); // reported as the time limit already
    }
  }

  #answered(): void {
    const failing = this.#failures > 0;
    this.#failures = 0;
    if (failing) this.#host.renewed(0);
    else if (this.#host.ledger.unstarted > 0) this.#host.renewed(0);
  }

  #failed(cause: unknown, count: number, tookMs: number): void {
    if (this.#stopped) return;
    this.#failures += 1;
    const { stream, group } = this.#host.consumer;
    const error = cause instanceof Error ? cause : new Error(String(cause));
    this.#host.internals.emit("renew.failed", {
      stream,
      group,
      consumerId: this.#host.consumerId,
      count,
      failures: this.#failures,
      error,
    });
    this.#host.renewed(this.#failures);
    this.#arm(Math.max(1, this.#host.leaseMs() * RETRY_SHARE - tookMs));
  }

  #giveUpExpired(): void {
    const nowMs = this.#monotonic() + this.#marginMs();
    let lost = 0;
    for (const batch of [...this.#host.ledger.batches]) {
      if (nowMs < batch.deadlineMs) continue;
      batch.states.forEach((state, index) => {
        if (state !== HELD && state !== RUNNING) return;
        this.#host.lost(batch, index, "expired");
        lost += 1;
      });
    }
    if (lost > 0) this.#host.gaveUp();
  }

  #hasSlept(): boolean {
    const before = this.#lookedAt;
    const now = this.#look();
    this.#lookedAt = now;
    const aheadMs = now.wallMs - before.wallMs - (now.monotonicMs - before.monotonicMs);
    if (aheadMs < SLEEP_MS) return false;
    for (const batch of this.#host.ledger.batches) batch.deadlineMs -= aheadMs; // time went on for the store
    return true;
  }

  #look(): { wallMs: number; monotonicMs: number } {
    const { clock } = this.#host.internals;
    return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
  }

  #monotonic(): number {
    return this.#host.internals.clock.monotonic();
  }

  #intervalMs(): number {
    return this.#host.leaseMs() / RENEWALS_PER_LEASE;
  }

  #marginMs(): number {
    return Math.min(this.#host.leaseMs() * MARGIN_SHARE, MARGIN_MAX_MS);
  }
}

type RenewItem = RenewRequest["items"][number] & { readonly batch: Batch; readonly indexes: readonly number[] };

const asItem = (ledger: Ledger, batch: Batch): RenewItem => {
  const indexes = ledger.renewable(batch);
  const sequences = indexes.map((index) => batch.sequenceAt(index));
  return { batch, partition: batch.partition, token: batch.token, sequences, indexes };
};
