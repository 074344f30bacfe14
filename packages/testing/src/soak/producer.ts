import type { Rheo } from "@rheo/core";
import type { Random } from "../random.ts";
import { type Action, PARTITIONS } from "./app.ts";

/** What was appended, as the checker wants to know it. */
export interface Appended {
  readonly partition: number;
  readonly sequence: number;
  readonly key: string;
  readonly rejects: boolean;
  /** Kills the thread that works on it, the first time. */
  readonly killsThread: boolean;
}

/** Between two appends, in ms. */
const EVERY_MS = 50;
const KEYS = 200;
/** One of so many events asks for something other than an ack. */
const SHARES: readonly (readonly [action: Action, oneIn: number])[] = [
  ["exit", 400],
  ["throwInTimer", 400],
  ["spin", 300],
  ["wait", 20],
  ["retry", 50],
  ["reject", 500],
];

/** Appends a steady stream of events with what they ask for, until it is told to end. */
export class Producer {
  readonly appended: Appended[] = [];
  readonly #rheo: Rheo;
  readonly #stream: string;
  readonly #random: Random;
  readonly #perSecond: number;
  readonly #startedMs = performance.now();
  #asked = 0;
  #isEnding = false;
  readonly #running: Promise<void>;

  constructor(rheo: Rheo, stream: string, random: Random, perSecond: number) {
    this.#rheo = rheo;
    this.#stream = stream;
    this.#random = random;
    this.#perSecond = perSecond;
    this.#running = this.#run();
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      const due = Math.floor(((performance.now() - this.#startedMs) / 1_000) * this.#perSecond);
      const count = Math.min(1_000, due - this.#asked);
      if (count > 0) await this.#append(count);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  async #append(count: number): Promise<void> {
    this.#asked += count;
    const drafts = Array.from({ length: count }, () => {
      const number = this.#random.below(KEYS);
      return { key: `key-${number}`, partition: number % PARTITIONS, payload: { do: this.#action() } };
    });
    const events = await this.#rheo.appendMany(this.#stream, drafts);
    for (const [index, { partition, sequence }] of events.entries()) {
      const draft = drafts[index];
      if (draft === undefined) continue;
      const { do: action } = draft.payload;
      const killsThread = action === "exit" || action === "throwInTimer";
      this.appended.push({ partition, sequence, key: draft.key, rejects: action === "reject", killsThread });
    }
  }

  #action(): Action {
    return SHARES.find(([, oneIn]) => this.#random.chance(1 / oneIn))?.[0] ?? "ack";
  }
}
