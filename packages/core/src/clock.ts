/** A pending timer. `cancel` is idempotent. */
export interface Timer {
  /** It does not fire after this. */
  cancel(): void;
}

/**
 * Time as Rheo sees it. Without a clock of yours, leases are judged by the store's own time (F6); with one, the store uses
 * yours instead, which is what tests want.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  /**
   * Calls `callback` once after `delayMs` (any value from 0 up; `Infinity` never fires).
   * With `keepAlive: false` (default true) the timer does not keep the process running.
   */
  schedule(delayMs: number, callback: () => void, options?: { keepAlive?: boolean }): Timer;
}

/** Node fires timers longer than this at once, so longer ones are chained. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const scheduleReal = (delayMs: number, callback: () => void, keepAlive: boolean): Timer => {
  let handle: NodeJS.Timeout | undefined;
  const arm = (left: number): void => {
    const step = Math.min(left, MAX_TIMER_MS);
    handle = setTimeout(() => (left > step ? arm(left - step) : callback()), step);
    if (!keepAlive) handle.unref();
  };
  if (delayMs !== Number.POSITIVE_INFINITY) arm(Math.max(0, delayMs));
  return { cancel: () => clearTimeout(handle) };
};

/** The clock of the host. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule: (delayMs, callback, { keepAlive = true } = {}) => scheduleReal(delayMs, callback, keepAlive),
};

interface FrozenTimer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that moves only when told to. Timers fire inside `advance` and `set`, in the order of their times, each at its
 * own time. Moving back is allowed and fires nothing.
 */
export class FrozenClock implements Clock {
  #nowMs: number;
  #monotonicMs = 0;
  #order = 0;
  readonly #timers = new Set<FrozenTimer>();

  /** @param start - where to begin; default 2026-01-01T00:00:00Z, so that runs repeat. */
  constructor(start: Date = new Date("2026-01-01T00:00:00Z")) {
    this.#nowMs = start.getTime();
  }

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  /** Moves to an instant, backwards too (a clock that was corrected). */
  set(date: Date): void {
    const step = date.getTime() - this.#nowMs;
    if (step >= 0) this.advance(step);
    else this.#nowMs += step;
  }

  /** Moves forward by `ms` milliseconds and fires what falls due on the way. */
  advance(ms: number): void {
    if (!(ms >= 0))
      throw new TypeError(`FrozenClock.advance takes milliseconds from 0 up, not ${String(ms)}. Use set() to go back.`);
    const target = this.#monotonicMs + ms;
    for (let next = this.#nextUntil(target); next !== undefined; next = this.#nextUntil(target)) {
      this.#timers.delete(next);
      this.#moveTo(Math.max(next.atMs, this.#monotonicMs));
      next.callback();
    }
    this.#moveTo(target);
  }

  schedule(delayMs: number, callback: () => void): Timer {
    const timer = { atMs: this.#monotonicMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  #moveTo(monotonicMs: number): void {
    this.#nowMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }

  #nextUntil(targetMs: number): FrozenTimer | undefined {
    let next: FrozenTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.atMs > targetMs) continue;
      if (next === undefined || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order)) next = timer;
    }
    return next;
  }
}
