/** Writes that several operations share. */

import { rangeOf } from "./ranges.ts";
import type { DeadLetter, Exception, ProgressStore, RangeLease, Revocation } from "./records.ts";

/** Puts what is left of a lease in its place. */
export const replaceLease = (store: ProgressStore, partition: number, lease: RangeLease, rest: RangeLease | null): void => {
  if (rest === null || rest.first !== lease.first) store.deleteLease(partition, lease.token, lease.first);
  if (rest !== null) store.putLease(partition, rest);
};

/** Remembers that deliveries (rising) were taken from the holder of a token. */
export const revoke = (
  store: ProgressStore,
  partition: number,
  token: number,
  sequences: readonly number[],
  why: Revocation["why"],
): void => {
  const { open: _open, ...range } = rangeOf(sequences);
  store.addRevocation(partition, { ...range, token, why });
};

/** Writes a dead letter for a delivery whose open record the caller has removed. */
export const bury = (
  store: ProgressStore,
  partition: number,
  letter: Omit<DeadLetter, "deadAtMs" | "eventId">,
  deadAtMs: number,
): void => {
  const [event] = store.headersAt(partition, [letter.sequence]);
  store.putDeadLetter(partition, { ...letter, eventId: event?.id ?? "", deadAtMs });
};

/** What a dead letter says whose lease ran out. */
export const expiryReason = (consumerId: string, attempt: number): string =>
  `The lease of attempt ${attempt} ran out: consumer "${consumerId}" stopped, hung or was cut off before settling.`;

/** A delivery that has not been started: re-opened and pending, or parked behind its key. */
export const unstarted = (sequence: number, key: string | null, state: "pending" | "parked"): Exception => ({
  sequence,
  state,
  attempt: 0,
  takeovers: 0,
  token: 0,
  alone: 0,
  consumerId: null,
  leasedAtMs: 0,
  dueAtMs: state === "pending" ? 0 : null,
  key,
  reason: null,
  stack: null,
  firstFailedAtMs: null,
  failedAtMs: null,
});
