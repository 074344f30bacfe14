/** Settle and renew: compare the token, then write, item by item (F2–F5, T1–T4, T6). */
import type { RenewAnswer, RenewRequest, Settlement, SettleOutcome, SettleResult } from "../backend.ts";
import type { StaleReason } from "../errors.ts";
import { clearAllAlone } from "./last-chance.ts";
import { holds, openSequences, rangeOf, withoutSequences } from "./ranges.ts";
import type { Exception, ProgressStore, RangeLease } from "./records.ts";
import { bury, replaceLease } from "./writes.ts";

const ACKED: SettleResult = Object.freeze({ state: "acked" });
const RETRYING: SettleResult = Object.freeze({ state: "retrying" });
const DEAD: SettleResult = Object.freeze({ state: "dead" });
const PENDING: SettleResult = Object.freeze({ state: "pending" });
const STALE: Record<StaleReason, SettleResult> = {
  reclaimed: { state: "stale", why: "reclaimed" },
  settled: { state: "stale", why: "settled" },
  reset: { state: "stale", why: "reset" },
  gone: { state: "stale", why: "gone" },
};

/** One result per sequence. */
export const settle = (store: ProgressStore, settlement: Settlement, nowMs: number): readonly SettleResult[] => {
  const { partition, token, sequences, outcome } = settlement;
  if (partition >= store.partitions) return sequences.map(() => STALE.gone);
  const leases = store.leasesOfToken(partition, token);
  const whole = leases.length === 1 && leases[0] !== undefined && covers(leases[0], sequences) ? leases[0] : null;
  if (whole !== null) return settleRange(store, partition, whole, sequences, outcome, nowMs);
  return sequences.map((sequence) => settleOne(store, partition, token, sequence, outcome, nowMs));
};

/** Whether all of `sequences` are open in a lease, each once. */
const covers = (lease: RangeLease, sequences: readonly number[]): boolean => {
  let previous = 0;
  for (const sequence of sequences) {
    if (sequence <= previous || !holds(lease, sequence)) return false;
    previous = sequence;
  }
  return sequences.length > 0;
};

const settleRange = (
  store: ProgressStore,
  partition: number,
  lease: RangeLease,
  sequences: readonly number[],
  outcome: SettleOutcome,
  nowMs: number,
): readonly SettleResult[] => {
  replaceLease(store, partition, lease, withoutSequences(lease, sequences));
  if (outcome.kind === "ack") return new Array<SettleResult>(sequences.length).fill(ACKED);
  const keys =
    store.group.options.ordering === "key"
      ? new Map(store.headersAt(partition, sequences).map((event) => [event.sequence, event.key]))
      : null;
  return sequences.map((sequence) =>
    apply(store, partition, asException(lease, sequence, keys?.get(sequence) ?? null), outcome, nowMs),
  );
};

const settleOne = (
  store: ProgressStore,
  partition: number,
  token: number,
  sequence: number,
  outcome: SettleOutcome,
  nowMs: number,
): SettleResult => {
  const lease = store.leasesOfToken(partition, token).find((found) => holds(found, sequence));
  if (lease !== undefined) return settleRange(store, partition, lease, [sequence], outcome, nowMs)[0] ?? STALE.gone;
  const exception = store.exception(partition, sequence);
  if (exception?.state !== "leased" || exception.token !== token) return STALE[whyStale(store, partition, token, sequence)];
  store.deleteException(partition, sequence);
  return apply(store, partition, exception, outcome, nowMs);
};

/** A delivery that leaves its range. */
const asException = (lease: RangeLease, sequence: number, key: string | null): Exception => ({
  sequence,
  state: "leased",
  attempt: lease.attempt,
  takeovers: lease.takeovers,
  token: lease.token,
  alone: lease.alone,
  consumerId: lease.consumerId,
  leasedAtMs: lease.leasedAtMs,
  dueAtMs: lease.expiresAtMs,
  key,
  reason: null,
  stack: null,
  firstFailedAtMs: lease.firstFailedAtMs,
  failedAtMs: null,
});

/** The outcome of a delivery whose lease record has just been removed. */
const apply = (
  store: ProgressStore,
  partition: number,
  delivery: Exception,
  outcome: SettleOutcome,
  nowMs: number,
): SettleResult => {
  switch (outcome.kind) {
    case "ack":
      return ACKED;
    case "release":
      store.putException(partition, { ...delivery, state: "pending", attempt: delivery.attempt - 1, alone: 0, dueAtMs: 0 });
      return PENDING;
    case "reject":
      return failForGood(store, partition, delivery, outcome, nowMs);
    case "retry":
      if (delivery.attempt >= store.group.options.maxAttempts) return failForGood(store, partition, delivery, outcome, nowMs);
      store.putException(partition, {
        ...delivery,
        state: "retrying",
        alone: 0,
        takeovers: 0, // it failed by itself, so it does not crash its process
        dueAtMs: nowMs + outcome.delayMs,
        reason: outcome.reason,
        stack: outcome.stack,
        firstFailedAtMs: delivery.firstFailedAtMs ?? nowMs,
        failedAtMs: nowMs,
      });
      return RETRYING;
    default:
      return outcome satisfies never;
  }
};

const failForGood = (
  store: ProgressStore,
  partition: number,
  delivery: Exception,
  failure: { reason: string; stack: string | null },
  nowMs: number,
): SettleResult => {
  bury(
    store,
    partition,
    {
      sequence: delivery.sequence,
      attempts: delivery.attempt,
      reason: failure.reason,
      stack: failure.stack,
      consumerId: delivery.consumerId ?? "",
      firstFailedAtMs: delivery.firstFailedAtMs ?? nowMs,
    },
    nowMs,
  );
  return DEAD;
};

/** Why a token no longer holds a delivery. `settled` is said only when nobody took it away first (F7). */
const whyStale = (store: ProgressStore, partition: number, token: number, sequence: number): StaleReason => {
  const head = store.head(partition);
  const { firstSequence, highWatermark } = store.watermark(partition);
  if (token <= head.resetToken) return "reset";
  if (token > head.token || sequence > highWatermark || sequence < firstSequence) return "gone";
  const revoked = store.revocationsOfToken(partition, token).find((revocation) => holds(revocation, sequence));
  if (revoked !== undefined) return revoked.why;
  return token < store.oldestRevocation(partition) ? "reclaimed" : "settled";
};

/** Sets expiry to now + length; a range of which only a part is renewed is split (F5). */
export const renew = (store: ProgressStore, request: RenewRequest, nowMs: number): RenewAnswer => {
  const renewal = new Renewal(store, nowMs, nowMs + (request.leaseMs ?? store.group.options.leaseMs));
  const stale = request.items.map((item, index) => renewal.item(item, index));
  for (const consumerId of renewal.revived) clearAllAlone(store, consumerId);
  if (stale.some((item) => item.includes(null))) store.touchMember(request.consumerId, nowMs);
  return { expiresAtMs: renewal.expiresAtMs, stale, kept: renewal.kept };
};

class Renewal {
  readonly expiresAtMs: number;
  readonly kept: { readonly item: number; readonly position: number; readonly expiresAtMs: number }[] = [];
  /** Members whose leases had run out and are live again: what was alone in them no longer is (T5). */
  readonly revived = new Set<string>();
  readonly #store: ProgressStore;
  readonly #nowMs: number;

  constructor(store: ProgressStore, nowMs: number, expiresAtMs: number) {
    this.#store = store;
    this.#nowMs = nowMs;
    this.expiresAtMs = expiresAtMs;
  }

  item({ partition, token, sequences }: RenewRequest["items"][number], item: number): (StaleReason | null)[] {
    if (partition >= this.#store.partitions) return sequences.map(() => "gone");
    const expiries = this.#ranges(partition, token, sequences);
    return sequences.map((sequence, position) => {
      const expiresAtMs = expiries.get(sequence) ?? this.#exception(partition, token, sequence);
      if (expiresAtMs === null) return whyStale(this.#store, partition, token, sequence);
      if (expiresAtMs > this.expiresAtMs) this.kept.push({ item, position, expiresAtMs });
      return null;
    });
  }

  /** Renews what the ranges of a token hold of `sequences`; their expiries. */
  #ranges(partition: number, token: number, sequences: readonly number[]): ReadonlyMap<number, number> {
    const wanted = new Set(sequences);
    const expiries = new Map<number, number>();
    for (const lease of this.#store.leasesOfToken(partition, token)) {
      const mine = openSequences(lease).filter((sequence) => wanted.has(sequence));
      if (mine.length === 0) continue;
      const expiresAtMs = Math.max(lease.expiresAtMs, this.expiresAtMs);
      for (const sequence of mine) expiries.set(sequence, expiresAtMs);
      if (expiresAtMs === lease.expiresAtMs) continue;
      if (lease.expiresAtMs <= this.#nowMs) this.revived.add(lease.consumerId);
      replaceLease(this.#store, partition, lease, withoutSequences(lease, mine));
      this.#store.putLease(partition, { ...lease, ...rangeOf(mine), expiresAtMs });
    }
    return expiries;
  }

  /** Renews a delivery leased by itself; its expiry, or null if it is not leased under this token. */
  #exception(partition: number, token: number, sequence: number): number | null {
    const exception = this.#store.exception(partition, sequence);
    if (exception?.state !== "leased" || exception.token !== token) return null;
    const before = exception.dueAtMs ?? 0;
    if (before >= this.expiresAtMs) return before;
    if (before <= this.#nowMs && exception.consumerId !== null) this.revived.add(exception.consumerId);
    this.#store.putException(partition, { ...exception, dueAtMs: this.expiresAtMs });
    return this.expiresAtMs;
  }
}
