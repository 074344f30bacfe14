/** Waiting for a store that does not answer: how long, and for which failures. */
import { RheoError } from "./errors.ts";

/** Failures that time may heal; any other needs a fresh start, or a person. */
export const isTransient = (cause: unknown): boolean =>
  RheoError.is(cause, "unavailable") || RheoError.is(cause, "outcome_unknown");

/** First and longest wait after a failed round trip, in ms. */
const BACKOFF_MIN_MS = 50;
export const BACKOFF_MAX_MS = 5_000;
/** Waits are spread by this share to either side, so that members do not try in step. */
export const BACKOFF_JITTER = 0.5;

/** The middle of the wait after failure number `failures` in a row, such that no jitter takes it above the longest. */
export const backoffMs = (failures: number): number =>
  Math.min(BACKOFF_MAX_MS / (1 + BACKOFF_JITTER), BACKOFF_MIN_MS * 2 ** Math.min(failures - 1, 20));

/** `ms`, spread by a share of it to either side; `random` in [0, 1). */
export const spread = (ms: number, jitter: number, random: number): number => ms * (1 + jitter * (2 * random - 1));
