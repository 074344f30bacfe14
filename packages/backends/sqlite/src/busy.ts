/** Waiting for a lock without blocking the event loop. The lock is real, so the time is the host's, not the injected clock's. */
import { setTimeout as sleep } from "node:timers/promises";

/** SQLite itself may wait this long, blocking, in ms: most locks are gone by then. */
export const BLOCKING_WAIT_MS = 4;

const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 32;

/** Ends of waits for a lock, each a little longer than the one before, with half of it random so that waiters spread out. */
export class Patience {
  readonly #endsAtMs: number;
  #pauseMs: number = FIRST_PAUSE_MS;

  constructor(timeoutMs: number) {
    this.#endsAtMs = performance.now() + timeoutMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#endsAtMs;
  }

  async pause(): Promise<void> {
    const left = Math.max(0, this.#endsAtMs - performance.now());
    await sleep(Math.min(left, this.#pauseMs * (0.5 + Math.random() / 2)));
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
  }
}
