/** Reading and cutting range leases. */

import { RheoError } from "../errors.ts";
import { cutBits, firstClear, hasBit, lastClear, withBits } from "./bitmap.ts";
import type { RangeLease } from "./records.ts";

type Positions = Pick<RangeLease, "first" | "last" | "closed">;

/** No lease is as wide: a fetch looks at some 20,000 events. */
const MAX_WIDTH = 2 ** 20;

/** A lease as it was stored. @throws unavailable - no fetch wrote that: walking it might never end */
export const storedLease = (partition: number, lease: RangeLease): RangeLease => {
  const { token, first, last } = lease;
  if (first >= 1 && last >= first && last - first < MAX_WIDTH) return lease;
  throw new RheoError(
    "unavailable",
    `The lease of token ${token} in partition ${partition} is stored as ${first} to ${last}, which no fetch wrote: the store was written to by something else, or is damaged. ` +
      "Remove that record, then replay the group from the last sequence that is known to be handled.",
    { partition },
  );
};

/** Whether a position is open in a lease. */
export const holds = (lease: Positions, sequence: number): boolean =>
  sequence >= lease.first && sequence <= lease.last && !hasBit(lease.closed, sequence - lease.first);

/** The open positions, rising. */
export const openSequences = (lease: Positions): number[] => {
  const sequences: number[] = [];
  for (let sequence = lease.first; sequence <= lease.last; sequence++) {
    if (!hasBit(lease.closed, sequence - lease.first)) sequences.push(sequence);
  }
  return sequences;
};

/** The range that holds exactly `sequences` (rising, at least one). */
export const rangeOf = (sequences: readonly number[]): Positions & { readonly open: number } => {
  const first = sequences[0] ?? 0;
  const last = sequences[sequences.length - 1] ?? 0;
  const size = last - first + 1;
  if (size === sequences.length) return { first, last, closed: null, open: size };
  const missing: number[] = [];
  let expected = first;
  for (const sequence of sequences) {
    for (; expected < sequence; expected++) missing.push(expected - first);
    expected = sequence + 1;
  }
  return { first, last, closed: withBits(null, size, missing), open: sequences.length };
};

/**
 * What is left of a lease without `sequences` (all open in it), trimmed at both ends; null when nothing is. Costs a walk over the bitmap, not
 * over the positions: a wide lease may be settled one by one.
 */
export const withoutSequences = (lease: RangeLease, sequences: readonly number[]): RangeLease | null => {
  const open = lease.open - sequences.length;
  if (open === 0) return null;
  const width = lease.last - lease.first + 1;
  const closed = withBits(
    lease.closed,
    width,
    sequences.map((sequence) => sequence - lease.first),
  );
  const start = firstClear(closed);
  const end = lastClear(closed, width);
  const size = end - start + 1;
  return {
    ...lease,
    first: lease.first + start,
    last: lease.first + end,
    closed: size === open ? null : cutBits(closed, start, size),
    open,
  };
};
