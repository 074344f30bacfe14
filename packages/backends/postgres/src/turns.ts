/** Fairness of fetches over partitions and between due and new deliveries (G3, G4), for each group that this process has fetched for. */

export interface Turn {
  readonly partition: number;
  readonly streak: number;
}

/** Groups remembered; losing a turn costs nothing but fairness. */
const KEPT = 10_000;
const FIRST: Turn = { partition: 0, streak: 0 };

export class Turns {
  readonly #turns = new Map<string, Turn>();

  of(stream: string, group: string): Turn {
    return this.#turns.get(`${stream}/${group}`) ?? FIRST;
  }

  put(stream: string, group: string, turn: Turn): void {
    if (this.#turns.size >= KEPT) this.#turns.clear();
    this.#turns.set(`${stream}/${group}`, turn);
  }
}
