import { type Rheo, RheoError } from "@rheo/core";
import { type Draft, draftOf, endsThread } from "./draft.ts";

/** What was appended, as the checker wants to know it. */
export interface Appended {
  readonly number: number;
  readonly partition: number;
  readonly sequence: number;
  readonly key: string;
  readonly rejects: boolean;
  /** Kills the thread that works on it, the first time. */
  readonly killsThread: boolean;
}

export interface ProducerOptions {
  readonly rheo: Rheo;
  readonly stream: string;
  readonly seed: number;
  readonly perSecond: number;
  readonly mayEndThreads: boolean;
  /** The number of the first event. */
  readonly from: number;
  /** Told what was acknowledged. */
  readonly onAppended: (appended: readonly Appended[]) => void;
}

/** Between two appends, and between two tries of one, in ms. */
const EVERY_MS = 50;
const AGAIN_MS = 100;
const MOST_AT_ONCE = 1_000;

/** Appends a steady stream of events with what they ask for, until it is told to end. What was not acknowledged is repeated (L4). */
export class Producer {
  readonly #options: ProducerOptions;
  readonly #startedMs = performance.now();
  #next: number;
  #isEnding = false;
  readonly #running: Promise<void>;

  constructor(options: ProducerOptions) {
    this.#options = options;
    this.#next = options.from;
    this.#running = this.#run();
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { from, perSecond } = this.#options;
    while (!this.#isEnding) {
      const due = from + Math.floor(((performance.now() - this.#startedMs) / 1_000) * perSecond);
      const count = Math.min(MOST_AT_ONCE, due - this.#next);
      if (count > 0) await this.#append(count);
      await wait(EVERY_MS);
    }
  }

  async #append(count: number): Promise<void> {
    const { seed, mayEndThreads, onAppended } = this.#options;
    const numbers = Array.from({ length: count }, (_, index) => this.#next + index);
    const drafts = numbers.map((number) => draftOf(seed, number, mayEndThreads));
    const events = await this.#insist(drafts);
    this.#next += count;
    onAppended(
      drafts.map((draft, index) => ({
        number: numbers[index] ?? 0,
        partition: draft.partition,
        sequence: events[index]?.sequence ?? 0,
        key: draft.key,
        rejects: draft.payload.do === "reject",
        killsThread: endsThread(draft),
      })),
    );
  }

  async #insist(drafts: readonly Draft[]): Promise<readonly { readonly sequence: number }[]> {
    const { rheo, stream } = this.#options;
    for (;;) {
      try {
        return await rheo.appendMany(stream, drafts);
      } catch (error) {
        if (!RheoError.is(error, "unavailable") && !RheoError.is(error, "outcome_unknown")) throw error;
        await wait(AGAIN_MS);
      }
    }
  }
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
