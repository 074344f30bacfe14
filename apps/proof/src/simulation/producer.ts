/** Appends over a bad network, and repeats under the same ids until each append was answered (F7). */
import { type Event, type EventInput, type Rheo, RheoError } from "@rheo/core";
import type { Random } from "@rheo/testing/internal";
import type { Counts } from "./counts.ts";
import type { HostClock } from "./host-clock.ts";
import type { Plan } from "./plan.ts";
import { STREAM } from "./watch.ts";

export interface Acknowledged {
  readonly id: string;
  readonly place: string;
}

const AGAIN_MS = 100;

export class Producer {
  readonly acknowledged: Acknowledged[] = [];
  readonly #rheo: Rheo;
  readonly #plan: Plan;
  readonly #clock: HostClock;
  readonly #random: Random;
  readonly #counts: Counts;
  #next = 0;

  constructor(rheo: Rheo, plan: Plan, clock: HostClock, random: Random, counts: Counts) {
    this.#rheo = rheo;
    this.#plan = plan;
    this.#clock = clock;
    this.#random = random;
    this.#counts = counts;
  }

  get isDone(): boolean {
    return this.acknowledged.length === this.#plan.events;
  }

  /** Everything, in order. */
  async run(): Promise<void> {
    while (this.#next < this.#plan.events) {
      const count = Math.min(1 + this.#random.below(this.#plan.appendMany), this.#plan.events - this.#next);
      await this.#append(Array.from({ length: count }, (_, index) => this.#event(this.#next + index)));
      this.#next += count;
      const { appendEveryMs } = this.#plan;
      if (appendEveryMs > 0 && !this.isDone) await this.#wait(this.#random.below(2 * appendEveryMs));
    }
  }

  #event(n: number): EventInput {
    const { keys } = this.#plan;
    return { id: `e${n}`, payload: { n, rest: n % 3 }, ...(keys === 0 ? {} : { key: `k${this.#random.below(keys)}` }) };
  }

  async #append(events: readonly EventInput[]): Promise<void> {
    for (;;) {
      try {
        const stored = await this.#rheo.appendMany(STREAM, events);
        this.#counts.appends += 1;
        for (const event of stored) this.acknowledged.push({ id: event.id, place: placeOf(event) });
        return;
      } catch (error) {
        if (!RheoError.is(error, "unavailable") && !RheoError.is(error, "outcome_unknown")) throw error;
        await this.#wait(AGAIN_MS);
      }
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.schedule(ms, resolve));
  }
}

const placeOf = ({ partition, sequence }: Event): string => `${partition}/${sequence}`;
