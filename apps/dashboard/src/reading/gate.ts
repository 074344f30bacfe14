import { ProblemError } from "../http/problem.ts";

/** Lets so many through at a time, and so many wait; the rest are turned away. */
export class Gate {
  readonly #atOnce: number;
  readonly #waiting: number;
  #inside = 0;
  readonly #queue: (() => void)[] = [];

  constructor(limits: { readonly atOnce: number; readonly waiting: number }) {
    this.#atOnce = limits.atOnce;
    this.#waiting = limits.waiting;
  }

  /** @throws ProblemError busy */
  async pass<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#inside >= this.#atOnce) await this.#wait();
    else this.#inside += 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#inside -= 1;
      else next(); // the place is handed on
    }
  }

  #wait(): Promise<void> {
    if (this.#queue.length >= this.#waiting)
      throw new ProblemError("busy", "Too many searches are under way. Try again in a few seconds.");
    return new Promise((resolve) => this.#queue.push(resolve));
  }
}
