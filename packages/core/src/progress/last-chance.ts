/** The last attempts of crash suspects (T5): each runs alone in its member, so that its expiry proves something. */
import type { Pass } from "./pass.ts";
import type { Alone, ProgressStore, RangeLease } from "./records.ts";

/**
 * What an expired single lease is to get: a last attempt if it is proven that it ran alone before, or has not crashed before;
 * else another start at the attempt number that it has, so that it is not charged for what it was beside.
 */
export const attemptOf = (
  pass: Pass,
  held: { readonly attempt: number; readonly takeovers: number; readonly alone: Alone },
): number => (held.alone > 0 || held.takeovers === 0 ? pass.maxAttempts : Math.max(held.attempt, pass.maxAttempts - 1));

/**
 * Grants a suspect's last attempt, or last but one, to a member that holds nothing else, which then gets nothing else. A busy member is given
 * nothing for one lease length, so that it becomes idle. If it does not, because a handler hangs say, the attempt is granted all
 * the same; but then its expiry proves nothing, and another last attempt follows.
 */
export const takeLast = (pass: Pass, waitingSinceMs: number, take: (alone: Alone) => void): void => {
  if (pass.isIdle) {
    take(2);
    pass.closed = pass.granted > 0;
  } else if (pass.nowMs - waitingSinceMs > pass.leaseMs) {
    if (!isSearching(pass)) take(0);
  } else if (pass.granted === 0) pass.closed = true;
};

/** A last attempt that runs longer than this many lease lengths no longer keeps its member from other work. */
const RESERVED_LEASES = 10;

/** Whether this member must be given nothing, because it holds a last attempt. */
export const isReserved = (pass: Pass): boolean =>
  pass.held.some((held) => held.alone === 2 && pass.nowMs - held.leasedAtMs < RESERVED_LEASES * pass.leaseMs);

/** Whether a search for the killer among suspects must wait, because this member is in one, or in a last attempt, already. */
export const isSearching = (pass: Pass): boolean =>
  pass.suspectsGranted > 0 || pass.held.some((held) => held.takeovers > 1 || held.alone === 2);

/** Marks what happens to be all that its member holds, where that is going to matter. */
export const markChanceAlone = (pass: Pass): void => {
  const only = pass.onlyGrant;
  if (only === null || only.attempt < pass.maxAttempts - 1 || pass.held.length > 0) return;
  const { partition, token, sequence } = only;
  const [lease] = pass.store.leasesOfToken(partition, token);
  if (lease?.alone === 0) pass.store.putLease(partition, { ...lease, alone: 1 });
  const exception = pass.store.exception(partition, sequence);
  if (exception?.alone === 0) pass.store.putException(partition, { ...exception, alone: 1 });
};

/** Unmarks it when its member is given more; and a last attempt that is no longer kept from that. */
export const clearChanceAlone = (pass: Pass): void => {
  if (pass.granted === 0) return;
  clearAlone(pass.store, pass.consumerId, ({ partition, token, alone, expiresAtMs }) => {
    const isMeant = alone === 1 || (alone === 2 && expiresAtMs > pass.nowMs);
    return isMeant && !pass.isOwn(partition, token);
  });
};

/** What a member holds is no longer alone: other leases of it, which had run out, came back to life. */
export const clearAllAlone = (store: ProgressStore, consumerId: string): void =>
  clearAlone(store, consumerId, ({ alone }) => alone > 0);

const clearAlone = (
  store: ProgressStore,
  consumerId: string,
  isMeant: (lease: Pick<RangeLease, "token" | "alone" | "expiresAtMs"> & { readonly partition: number }) => boolean,
): void => {
  for (let partition = 0; partition < store.partitions; partition++) {
    for (const lease of store.leases(partition)) {
      if (lease.consumerId === consumerId && isMeant({ ...lease, partition })) store.putLease(partition, { ...lease, alone: 0 });
    }
    for (const exception of store.exceptions(partition)) {
      const { token, alone, dueAtMs } = exception;
      if (exception.consumerId === consumerId && isMeant({ partition, token, alone, expiresAtMs: dueAtMs ?? 0 })) {
        store.putException(partition, { ...exception, alone: 0 });
      }
    }
  }
};
