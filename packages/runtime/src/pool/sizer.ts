import { MAX_SLICE } from "./protocol.ts";

/** A slice is meant to take so long: far above the cost of handing it over, far below what anybody waits for. */
const TARGET_MS = 8;
/** Weight of the latest slice in the estimate. */
const WEIGHT = 0.3;
const MIN_EVENT_MS = 0.001;

/** Finds the size of slices from how long the last ones took: from 1 for slow handlers up to the maximum. */
export class SliceSizer {
  #eventMs: number | null = null;
  #seemsSync = false;

  /** A slice is over. `peak`: promises that waited at once; 0 when every handler returned at once. */
  onSlice(count: number, tookMs: number, peak: number): void {
    const eventMs = Math.max(MIN_EVENT_MS, tookMs / count);
    this.#eventMs = this.#eventMs === null ? eventMs : this.#eventMs + WEIGHT * (eventMs - this.#eventMs);
    this.#seemsSync = peak === 0;
  }

  /** How many a thread gets through in the time of a slice; null as long as nothing is known. Below 1 for slow handlers. */
  get perSlice(): number | null {
    return this.#eventMs === null ? null : TARGET_MS / this.#eventMs;
  }

  /**
   * @param unstarted - deliveries that wait
   * @param free - threads that are free
   * @param limit - handlers at once on a thread: what waits for I/O needs at least so many
   */
  size(unstarted: number, free: number, limit: number): number {
    const fit = this.#eventMs === null ? limit : Math.floor(TARGET_MS / this.#eventMs);
    const wanted = Math.max(this.#seemsSync ? 1 : limit, fit);
    return Math.max(1, Math.min(MAX_SLICE, wanted, Math.ceil(unstarted / Math.max(1, free))));
  }
}
