/** Looking takes at most the 1 / (1 + this)th part of the time, however large the store. */
const LOOK_SHARE = 9;
/** But nobody waits longer than this for the next look, in ms. */
const LONGEST_PAUSE_MS = 30_000;

/** How long to pause after a look that took `tookMs`, when one is wanted every `everyMs`. */
export const pauseAfter = (tookMs: number, everyMs: number): number =>
  Math.min(LONGEST_PAUSE_MS, Math.max(everyMs - tookMs, LOOK_SHARE * tookMs, everyMs / 2));
