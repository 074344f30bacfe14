/** Reading and cutting range leases. */
import { hasBit, withBits } from "./bitmap.ts";
import type { RangeLease } from "./records.ts";

type Positions = Pick<RangeLease, "first" | "last" | "closed">;

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
  const wanted = new Set(sequences);
  const missing = Array.from({ length: size }, (_, index) => index).filter((index) => !wanted.has(first + index));
  return { first, last, closed: withBits(null, size, missing), open: sequences.length };
};

/** What is left of a lease without `sequences` (all open in it), trimmed at both ends; null when nothing is. */
export const withoutSequences = (lease: RangeLease, sequences: readonly number[]): RangeLease | null => {
  if (sequences.length === lease.open) return null;
  const gone = new Set(sequences);
  return { ...lease, ...rangeOf(openSequences(lease).filter((sequence) => !gone.has(sequence))) };
};
