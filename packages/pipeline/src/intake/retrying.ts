/** When the store does not answer. */
import { BACKOFF_JITTER, backoffMs, spread } from "@rheo/core/internal";

/** Polls are spread by this share to either side, so that members do not poll in step. */
const POLL_JITTER = 0.2;

/** The wait after failure number `failures` in a row, in ms; `random` in [0, 1). */
export const retryWaitMs = (failures: number, random: number): number =>
  Math.round(spread(backoffMs(failures), BACKOFF_JITTER, random));

/** The wait between polls of an idle group, in ms; `random` in [0, 1). */
export const pollWaitMs = (pollMs: number, random: number): number => spread(pollMs, POLL_JITTER, random);

export const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
