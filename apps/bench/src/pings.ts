import { setTimeout as sleep } from "node:timers/promises";

/** Between two events at least, so that the group is idle when one comes. */
const PAUSE_MS = 10;
/** The first ones open connections and compile; they do not count. */
const WARM_UP = 5;
/** Where each takes long, there are fewer of them. */
const LONGEST_MS = 30_000;

/** Events sent one at a time through something idle, each timed from the call that sends it to its arrival, in one process. */
export class Pings {
  readonly #taken: number[] = [];
  readonly #pollMs: number;
  #arrived = (): void => undefined;

  /** `pollMs`: where events are found by polling, pauses are spread over that time, or each would just have missed a poll. */
  constructor(pollMs = 0) {
    this.#pollMs = pollMs;
  }

  /** One that was sent at `at` is there. */
  note(at: number): void {
    this.#taken.push(performance.now() - at);
    this.#arrived();
  }

  /** Sends `count` of them. The times in ms. */
  async run(count: number, send: (at: number) => Promise<unknown>): Promise<readonly number[]> {
    const endMs = performance.now() + LONGEST_MS;
    for (let ping = 0; ping < WARM_UP + count && performance.now() < endMs; ping++) {
      await sleep(PAUSE_MS + Math.random() * this.#pollMs);
      const arrival = new Promise<void>((resolve) => (this.#arrived = resolve));
      await Promise.all([send(performance.now()), arrival]);
    }
    return this.#taken.slice(WARM_UP);
  }
}
