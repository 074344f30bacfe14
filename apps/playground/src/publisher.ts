import type { Stage } from "./stage.ts";
import type { Poison } from "./views.ts";

export interface Order {
  readonly order: number;
  readonly poison: Poison;
}

/** Events of one call, and per second: what one can still watch. */
export const MOST_AT_ONCE = 1_000;
export const MOST_PER_SECOND = 200;
const CUSTOMERS = 8;
/** How often the publisher appends, in ms. */
const BEAT_MS = 200;

/** Publishes orders: some at once, or so many a second. */
export class Publisher implements Disposable {
  readonly #stage: Stage;
  readonly #onFailure: (error: unknown) => void;
  #orders = 0;
  #perSecond = 0;
  #owed = 0;
  #beating: NodeJS.Timeout | null = null;

  constructor(stage: Stage, onFailure: (error: unknown) => void) {
    this.#stage = stage;
    this.#onFailure = onFailure;
  }

  /** 0 while it is stopped. */
  get perSecond(): number {
    return this.#perSecond;
  }

  async publish(count: number, poison: Poison): Promise<void> {
    const { rheo, stream } = this.#stage;
    const drafts = Array.from({ length: count }, () => this.#draft(poison));
    await rheo.appendMany(stream, drafts);
  }

  /** @param perSecond - 0 stops it */
  run(perSecond: number): void {
    this[Symbol.dispose]();
    this.#perSecond = perSecond;
    if (perSecond > 0) this.#beating = setInterval(() => this.#beat(), BEAT_MS);
  }

  [Symbol.dispose](): void {
    if (this.#beating !== null) clearInterval(this.#beating);
    this.#beating = null;
    this.#perSecond = 0;
    this.#owed = 0;
  }

  #beat(): void {
    this.#owed += (this.#perSecond * BEAT_MS) / 1_000;
    const count = Math.floor(this.#owed);
    this.#owed -= count;
    if (count > 0) this.publish(count, "none").catch(this.#onFailure);
  }

  #draft(poison: Poison): { type: string; key: string; payload: { order: number; poison: Poison } } {
    this.#orders += 1;
    const key = `customer-${(this.#orders % CUSTOMERS) + 1}`;
    return { type: poison === "none" ? "placed" : "poison", key, payload: { order: this.#orders, poison } };
  }
}
