import type { Clock } from "./clock.ts";

/** While somebody waits, the store is asked this often even without a hint, in ms. */
export const WAIT_POLL_MS = 200;

/** Waiting for a hint that something is new, with a time limit, a signal and a common end. */
export class Waiting {
  readonly #clock: Clock;
  readonly #waiters = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends every wait. */
  wake(): void {
    for (const end of [...this.#waiters]) end();
  }

  /** Resolves after `ms`, or when the signal aborts; never rejects. */
  pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return ms <= 0 ? Promise.resolve() : this.#until(ms, signal, false);
  }

  /** Resolves on `wake`, after `ms`, or when the signal aborts; never rejects. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return this.#until(ms, signal, true);
  }

  #until(ms: number, signal: AbortSignal | undefined, wakes: boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#waiters.delete(end);
        timer.cancel();
        signal?.removeEventListener("abort", end);
        resolve();
      };
      if (wakes) this.#waiters.add(end);
      const timer = this.#clock.schedule(ms, end);
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end, { once: true });
    });
  }
}
