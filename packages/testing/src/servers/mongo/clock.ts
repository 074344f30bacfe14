/** The server's clock: the only place of the double that reads the machine's. Tests shift it or hold it still. */
export class Clock {
  #offsetMs = 0;
  #heldMs: number | null = null;

  /** Milliseconds since the epoch, as `$$NOW` gives them. */
  nowMs(): number {
    return this.#heldMs ?? Date.now() + this.#offsetMs;
  }

  /** The clock runs on, ahead of the machine's by so much; a held one runs again. */
  shift(offsetMs: number): void {
    this.#offsetMs = offsetMs;
    this.#heldMs = null;
  }

  /** The clock stands there until it is shifted. */
  hold(atMs: number): void {
    this.#heldMs = atMs;
  }
}
