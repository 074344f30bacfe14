import type { Clock, Timer } from "@rheo/core";

/** Lines in a second, so that ten thousand lost leases are no ten thousand lines. */
const LINES = 50;
const WINDOW_MS = 1_000;

/** Bounds the lines of one kind. */
export interface LineLimit {
  /** Whether one more may be written; if not it is counted. */
  readonly allows: () => boolean;
  /** Tells what was left out, if anything was. */
  readonly end: () => void;
}

/** @param onLeftOut - called at the end of a second in which lines were left out, with their number */
export const lineLimit = (clock: Clock, onLeftOut: (count: number) => void): LineLimit => {
  let count = 0;
  let timer: Timer | null = null;
  const end = (): void => {
    timer?.cancel();
    timer = null;
    const leftOut = count - LINES;
    count = 0;
    if (leftOut > 0) onLeftOut(leftOut);
  };
  return {
    allows: () => {
      count += 1;
      timer ??= clock.schedule(WINDOW_MS, end, { keepAlive: false });
      return count <= LINES;
    },
    end,
  };
};
