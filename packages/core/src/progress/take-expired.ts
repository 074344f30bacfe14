/** Range leases that ran out (T1, T4, T5). */
import { attemptOf, isSearching, takeLast } from "./last-chance.ts";
import type { OrderView } from "./order.ts";
import type { Pass } from "./pass.ts";
import { openSequences, rangeOf, withoutSequences } from "./ranges.ts";
import type { Alone, RangeLease } from "./records.ts";
import { expiryReason, replaceLease, revoke } from "./writes.ts";

export const takeExpired = (pass: Pass, partition: number, order: OrderView): void => {
  for (const lease of pass.store.expiredLeases(partition, pass.nowMs)) {
    if (!pass.isOpen) return;
    const eligible = openSequences(lease).filter((sequence) => order.isFree(sequence));
    if (eligible.length > 0) takeOver(pass, partition, lease, eligible, order);
  }
};

/**
 * The first takeover takes the whole rest; each later one half of it, so that a crasher is found in log2(n) crashes. Attempts stop
 * one short of the last for what is taken from among others, so that innocents are not charged for what they were beside (T5).
 */
const takeOver = (pass: Pass, partition: number, lease: RangeLease, eligible: readonly number[], order: OrderView): void => {
  const last = lease.attempt + 1 >= pass.maxAttempts;
  const single = lease.open === 1;
  if (single && lease.alone > 0 && lease.attempt >= pass.maxAttempts) return expire(pass, partition, lease);
  if (single && last) {
    const attempt = attemptOf(pass, lease);
    return takeLast(pass, lease.expiresAtMs, (alone) => move(pass, partition, lease, eligible, { attempt, alone }, order));
  }
  const searching = lease.takeovers > 0 || last;
  if (searching && isSearching(pass)) return;
  const wanted = searching ? Math.ceil(lease.open / 2) : lease.open;
  const attempt = last ? Math.max(lease.attempt, pass.maxAttempts - 1) : lease.attempt + 1;
  move(pass, partition, lease, eligible.slice(0, wanted), { attempt, alone: 0 }, order);
};

/** Leases the first of `wanted` that fit anew; what remains stays as it was, expired. */
const move = (
  pass: Pass,
  partition: number,
  lease: RangeLease,
  wanted: readonly number[],
  { attempt, alone }: { readonly attempt: number; readonly alone: Alone },
  order: OrderView,
): void => {
  const { store } = pass;
  const sought = wanted.slice(0, pass.left);
  const found = store.eventsAt(partition, sought, pass.bytesLeft);
  if (found.length === 0) return drop(pass, partition, lease, sought);
  const events = pass.affordable(found);
  if (events.length === 0) return;
  const sequences = events.map((event) => event.sequence);
  replaceLease(store, partition, lease, withoutSequences(lease, sequences));
  revoke(store, partition, lease.token, sequences, "reclaimed");
  store.putLease(partition, {
    ...rangeOf(sequences),
    token: pass.token(partition),
    attempt,
    takeovers: lease.takeovers + 1,
    alone,
    consumerId: pass.consumerId,
    leasedAtMs: pass.nowMs,
    expiresAtMs: pass.expiresAtMs,
    firstFailedAtMs: lease.firstFailedAtMs ?? lease.expiresAtMs,
  });
  order.take(sequences);
  pass.suspectsGranted += sequences.length;
  pass.grant(partition, attempt, events);
};

/** Their events are not there, which only damage can do. */
const drop = (pass: Pass, partition: number, lease: RangeLease, sequences: readonly number[]): void => {
  replaceLease(pass.store, partition, lease, withoutSequences(lease, sequences));
  revoke(pass.store, partition, lease.token, sequences, "reclaimed");
  pass.place(partition).missing += sequences.length;
};

/** The last attempt ran out, alone: a dead letter. */
const expire = (pass: Pass, partition: number, lease: RangeLease): void => {
  const sequences = openSequences(lease);
  replaceLease(pass.store, partition, lease, null);
  revoke(pass.store, partition, lease.token, sequences, "reclaimed");
  const { attempt: attempts, consumerId } = lease;
  const reason = expiryReason(consumerId, attempts);
  const firstFailedAtMs = lease.firstFailedAtMs ?? lease.expiresAtMs;
  for (const sequence of sequences)
    pass.bury(partition, { sequence, attempts, reason, stack: null, consumerId, firstFailedAtMs });
};
