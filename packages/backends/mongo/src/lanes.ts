/** One at a time for each name, in the order of asking. */
export class Lanes {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` when all that was given before it under this name is over. */
  async run<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(name);
    const mine = before === undefined ? work() : before.then(work, work);
    this.#last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    }
  }
}
