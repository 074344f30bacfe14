/**
 * Keeps what is held: one call per interval for everything, never two at once. What the store says is lost is reported; when
 * renewals keep failing, everything is reported as expired at the local deadline: the last success plus the lease, less a margin.
 * A process that slept renews first, before it settles or begins anything.
 */
import type { RenewRequest, StaleReason, Timer } from "@rheo/core";
import type { RheoInternals } from "@rheo/core/internal";
import type { Delivery, HeldGrant, Holding, LossReason } from "./holding.ts";

export interface RenewerHost<Item> {
  readonly internals: RheoInternals;
  readonly holding: Holding<Item>;
  readonly stream: string;
  readonly group: string;
  readonly consumerId: string;
  /** The length asked for; null: the group's. */
  readonly askedMs: number | null;
  /** The length in force. */
  leaseMs(): number;
  /** A lease is no longer ours; with `expired`, as far as we know. */
  lost(delivery: Delivery<Item>, why: LossReason): void;
  /** Everything was renewed, or there was nothing. */
  renewed(): void;
  failed(error: Error, count: number, failures: number): void;
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

export class Renewer<Item> {
  readonly #host: RenewerHost<Item>;
  #timer: Timer | null = null;
  #dueAtMs = 0;
  #failures = 0;
  #stopped = false;
  /** The call in flight; several may share its end. */
  #call: Promise<void> | null = null;
  #lookedAt: { readonly wallMs: number; readonly monotonicMs: number };

  constructor(host: RenewerHost<Item>) {
    this.#host = host;
    this.#lookedAt = this.#look();
  }

  /** Renewals failed in a row. Above 0 nothing new should be taken: it could not be kept. */
  get failures(): number {
    return this.#failures;
  }

  start(): void {
    this.#arm(this.#intervalMs());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** When the process has slept: the renewal that must come first. Else null. */
  wokeUp(): Promise<void> | null {
    return this.#hasSlept() ? this.#renewNow() : null;
  }

  /** Whether a lease is good enough to begin work on; if not, its renewal is begun, and `renewed` follows. */
  isFresh(grant: HeldGrant<Item>): boolean {
    if (this.#monotonic() < grant.deadlineMs - this.#marginMs()) return true;
    if (this.#failures === 0) void this.#renewNow(); // a failed one is repeated by the timer, not by everyone who asks
    return false;
  }

  #renewNow(): Promise<void> {
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
    await this.#renewNow();
    if (this.#failures > 0) this.#giveUpExpired();
  }

  async #renew(): Promise<void> {
    const { holding, stream, group, consumerId, askedMs } = this.#host;
    const items = [...holding.grants].map((grant) => asItem(grant, holding)).filter(({ deliveries }) => deliveries.length > 0);
    const count = items.reduce((sum, { sequences }) => sum + sequences.length, 0);
    if (count === 0) return this.#answered();
    const startedAtMs = this.#monotonic();
    try {
      const call = this.#host.internals.renew({
        stream,
        group,
        consumerId,
        items: items.map(({ partition, token, sequences }) => ({ partition, token, sequences })),
        leaseMs: askedMs,
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

  #apply({ grant, deliveries }: RenewItem<Item>, stale: readonly (StaleReason | null)[], startedAtMs: number): void {
    grant.deadlineMs = Math.max(grant.deadlineMs, startedAtMs + this.#host.leaseMs());
    for (const [at, delivery] of deliveries.entries()) {
      const why = stale[at] ?? null;
      if (why !== null) this.#host.lost(delivery, why);
    }
  }

  /** A late answer still counts: `call` goes on, only nobody waits for it. */
  async #limited(call: Promise<void>): Promise<void> {
    let timer: Timer | undefined;
    const limit = new Promise<never>((_, reject) => {
      const limitMs = this.#host.leaseMs() * CALL_SHARE;
      timer = this.#host.internals.clock.schedule(
        limitMs,
        () => reject(new Error(`no answer within ${Math.round(limitMs)} ms`)),
        { keepAlive: false },
      );
    });
    try {
      await Promise.race([call, limit]);
    } finally {
      timer?.cancel();
      call.catch(() => undefined); // reported as the time limit already
    }
  }

  #answered(): void {
    this.#failures = 0;
    if (!this.#stopped) this.#host.renewed();
  }

  #failed(cause: unknown, count: number, tookMs: number): void {
    if (this.#stopped) return;
    this.#failures += 1;
    this.#host.failed(cause instanceof Error ? cause : new Error(String(cause)), count, this.#failures);
    this.#arm(Math.max(1, this.#host.leaseMs() * RETRY_SHARE - tookMs));
  }

  #giveUpExpired(): void {
    const nowMs = this.#monotonic() + this.#marginMs();
    for (const grant of [...this.#host.holding.grants]) {
      if (nowMs < grant.deadlineMs) continue;
      for (const delivery of grant.deliveries) if (delivery !== null) this.#host.lost(delivery, "expired");
    }
  }

  #hasSlept(): boolean {
    const before = this.#lookedAt;
    const now = this.#look();
    this.#lookedAt = now;
    const aheadMs = now.wallMs - before.wallMs - (now.monotonicMs - before.monotonicMs);
    if (aheadMs < SLEEP_MS) return false;
    for (const grant of this.#host.holding.grants) grant.deadlineMs -= aheadMs; // time went on for the store
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

type RenewItem<Item> = RenewRequest["items"][number] & {
  readonly grant: HeldGrant<Item>;
  readonly deliveries: readonly Delivery<Item>[];
};

const asItem = <Item>(grant: HeldGrant<Item>, holding: Holding<Item>): RenewItem<Item> => {
  const deliveries = holding.renewable(grant);
  const sequences = deliveries.map(({ sequence }) => sequence);
  return { grant, partition: grant.partition, token: grant.token, sequences, deliveries };
};
