import type { Clock } from "@rheo/core";

/** Work without a pause for at most so long; then timers and sockets have their turn. */
const BURST_MS = 5;
/** The clock is read once for so many steps. */
const STRIDE = 64;

/** Says when work that never waits, because all it needs is there, has to let others have their turn. */
export class Turns {
  readonly #clock: Clock;
  #startMs = Number.NEGATIVE_INFINITY;
  #steps = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the time is up. */
  get isOver(): boolean {
    return this.#clock.monotonic() - this.#startMs >= BURST_MS;
  }

  /** Counts a step. Whether the time is up, as far as was looked. */
  step(): boolean {
    this.#steps += 1;
    return this.#steps % STRIDE === 0 && this.isOver;
  }

  /** A new turn of the event loop has begun. */
  begin(): void {
    this.#startMs = this.#clock.monotonic();
  }
}

/** Resolves in the next turn of the event loop. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
