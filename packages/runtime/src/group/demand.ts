/** How many leases a group wants to hold: adapted so that it is a second or two of work. Pure. */

export interface Demand {
  /** Leases held at most: running, waiting and not yet settled. */
  readonly size: number;
  /** Never adapted below: one delivery for every handler slot. */
  readonly floor: number;
  readonly cap: number;
  /** Deliveries finished in the current window, and when that began; null while there is no work. */
  readonly window: { readonly finished: number; readonly sinceMs: number } | null;
  /** Whether the last fetch brought all that it asked for. */
  readonly full: boolean;
}

/** No adapted demand is larger: enough to keep any number of threads busy between two round trips, small enough to share (B127). */
export const MAX_ADAPTED_DEMAND = 4_000;
/** How much work is to be held. */
export const TARGET_MS = 1_500;
/** A window without enough finished deliveries is judged after this time. */
const WINDOW_MS = 2_000;

/** @param capacity - deliveries that can run at once */
export const initialDemand = (capacity: number, maxDemand: number | null): Demand => {
  const cap = maxDemand ?? Math.max(MAX_ADAPTED_DEMAND, 2 * capacity);
  return { size: Math.min(cap, 2 * capacity), floor: Math.min(cap, capacity), cap, window: null, full: false };
};

/** After a fetch. */
export const onGranted = (demand: Demand, asked: number, granted: number, nowMs: number): Demand => ({
  ...demand,
  full: granted >= asked,
  window: demand.window ?? (granted > 0 ? { finished: 0, sinceMs: nowMs } : null),
});

/** After handlers ended; `held` deliveries are left to do. */
export const onFinished = (demand: Demand, count: number, held: number, nowMs: number): Demand => {
  if (demand.window === null) return demand;
  const finished = demand.window.finished + count;
  const tookMs = Math.max(1, nowMs - demand.window.sinceMs);
  // with nothing to do the window would measure idleness; but with a backlog it is the store that is waited for
  const goesOn = held > 0 || demand.full;
  if (finished < demand.size && tookMs < WINDOW_MS) {
    return { ...demand, window: goesOn ? { finished, sinceMs: demand.window.sinceMs } : null };
  }
  return {
    ...demand,
    size: adapted(demand, (finished / tookMs) * TARGET_MS),
    window: goesOn ? { finished: 0, sinceMs: nowMs } : null,
  };
};

/** Leases waited too long for a slot. */
export const onOverdue = (demand: Demand): Demand => ({
  ...demand,
  size: Math.max(demand.floor, Math.floor(demand.size / 2)),
  window: null,
});

/** At most doubled, and only while the backlog fills it; at most halved. */
const adapted = ({ size, floor, cap, full }: Demand, wanted: number): number => {
  if (wanted > size) return full ? Math.min(cap, size * 2, Math.ceil(wanted)) : size;
  return Math.max(floor, Math.ceil(size / 2), Math.ceil(wanted));
};
