/** When the store does not answer. */
import { RheoError } from "@rheo/core";

/** First and longest wait after a failed round trip, in ms. */
const BACKOFF_MIN_MS = 50;
const BACKOFF_MAX_MS = 5_000;
/** Waits are spread by this share to either side, so that members do not try in step. */
const BACKOFF_JITTER = 0.5;
const POLL_JITTER = 0.2;

/** Failures that time may heal. */
export const isTransient = (cause: unknown): boolean =>
  RheoError.is(cause, "unavailable") || RheoError.is(cause, "outcome_unknown");

/** The wait after failure number `failures` in a row, in ms; `random` in [0, 1). */
export const backoffMs = (failures: number, random: number): number => {
  const middleMs = Math.min(BACKOFF_MAX_MS / (1 + BACKOFF_JITTER), BACKOFF_MIN_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(spread(middleMs, BACKOFF_JITTER, random));
};

/** The wait between polls of an idle group, in ms; `random` in [0, 1). */
export const pollWaitMs = (pollMs: number, random: number): number => spread(pollMs, POLL_JITTER, random);

const spread = (ms: number, jitter: number, random: number): number => ms * (1 + jitter * (2 * random - 1));

export const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
