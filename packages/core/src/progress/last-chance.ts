/** Last attempts of crash suspects (T5): each runs alone in its member, so that its expiry proves something. */
import type { Pass } from "./pass.ts";
import type { Alone } from "./records.ts";

/**
 * Grants a suspect's last attempt to a member that holds nothing else, which then gets nothing else. Past one lease length of
 * waiting, so that a member that is never idle cannot hold it up for ever, it is enough that the member holds no other suspect.
 */
export const takeLast = (pass: Pass, waitingSinceMs: number, take: (alone: Alone) => void): void => {
  if (pass.isIdle) {
    take(2);
    pass.closed = pass.granted > 0;
  } else if (pass.nowMs - waitingSinceMs > pass.leaseMs) {
    if (pass.suspectsGranted === 0 && pass.held.every((held) => held.takeovers === 0)) take(3);
  } else if (pass.granted === 0) pass.closed = true;
};

/** Whether this member must be given nothing: it holds a last attempt granted alone, for at most one lease length. */
export const isReserved = (pass: Pass): boolean =>
  pass.held.some((held) => held.alone === 2 && pass.nowMs - held.leasedAtMs < pass.leaseMs);

/** Whether a search for the killer among suspects must wait, because this member is in one, or in a last attempt, already. */
export const isSearching = (pass: Pass): boolean =>
  pass.suspectsGranted > 0 || pass.held.some((held) => held.takeovers > 1 || held.alone > 1);

/** Marks a last attempt that happens to be all that its member holds. */
export const markChanceAlone = (pass: Pass): void => {
  const only = pass.onlyGrant;
  if (only === null || only.attempt < pass.maxAttempts || pass.held.length > 0) return;
  const { partition, token, sequence } = only;
  const [lease] = pass.store.leasesOfToken(partition, token);
  if (lease?.alone === 0) pass.store.putLease(partition, { ...lease, alone: 1 });
  const exception = pass.store.exception(partition, sequence);
  if (exception?.alone === 0) pass.store.putException(partition, { ...exception, alone: 1 });
};

/** Unmarks it when its member is given more. */
export const clearChanceAlone = (pass: Pass): void => {
  const { store, consumerId } = pass;
  if (pass.granted === 0) return;
  const isPassed = (partition: number, held: { alone: Alone; token: number; consumerId: string | null }): boolean =>
    held.alone === 1 && held.consumerId === consumerId && !pass.isOwn(partition, held.token);
  for (let partition = 0; partition < store.partitions; partition++) {
    for (const lease of store.leases(partition)) {
      if (isPassed(partition, lease)) store.putLease(partition, { ...lease, alone: 0 });
    }
    for (const exception of store.exceptions(partition)) {
      if (isPassed(partition, exception)) store.putException(partition, { ...exception, alone: 0 });
    }
  }
};
