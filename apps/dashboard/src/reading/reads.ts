/** Reads views: once for all who ask for the same at the same time, and not again within a moment. */
import type { Clock } from "@rheo/core";
import { ProblemError } from "../http/problem.ts";
import { Params } from "../views/params.ts";
import type { Sources } from "../views/view.ts";
import { VIEWS } from "../views/views.ts";
import { Gate } from "./gate.ts";

/** What was asked for, ready to be read. */
export interface Look {
  /** The same for the same. */
  readonly key: string;
  readonly everyMs: number;
  /** The view as JSON. @throws whatever the read throws */
  read(): Promise<Answer>;
}

export interface Answer {
  /** JSON text. */
  readonly text: string;
  /** When it was read, by the clock of the store's instance. */
  readonly atMs: number;
  /** How long the read took. */
  readonly tookMs: number;
}

/** How long an answer is good for others, in ms. */
const FRESH_MS = 900;
/** Answers that are kept meanwhile: each at most a few hundred kilobytes. */
const MOST_ANSWERS = 100;
/** Reads that may look through much of a store. */
const HEAVY = { atOnce: 2, waiting: 20 };
/** All others. Few, so that few of the store's connections are held, however many watch. */
const LIGHT = { atOnce: 3, waiting: 400 };

export class Reads {
  readonly #sources: Sources;
  readonly #clock: Clock;
  readonly #heavy = new Gate(HEAVY);
  readonly #light = new Gate(LIGHT);
  readonly #kept = new Map<string, { readonly answer: Promise<Answer>; untilMs: number }>();

  constructor(sources: Sources) {
    this.#sources = sources;
    this.#clock = sources.clock;
  }

  /** @throws ProblemError not_found - there is no such view; invalid_option, invalid_query */
  look(name: string, query: URLSearchParams): Look {
    const view = VIEWS.get(name);
    if (view === undefined)
      throw new ProblemError("not_found", `There is no view of that name. Known: ${[...VIEWS.keys()].join(", ")}.`);
    const params = new Params(query);
    const read = view.prepare(params, this.#sources);
    params.end();
    const sorted = new URLSearchParams(query);
    sorted.sort();
    const key = `${name}?${sorted.toString()}`;
    const gate = view.isHeavy ? this.#heavy : this.#light;
    return { key, everyMs: view.everyMs, read: () => this.#shared(key, () => gate.pass(() => this.#timed(read))) };
  }

  #shared(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const nowMs = this.#clock.monotonic();
    const kept = this.#kept.get(key);
    if (kept !== undefined && nowMs < kept.untilMs) return kept.answer;
    const entry = { answer: read(), untilMs: Number.POSITIVE_INFINITY };
    this.#kept.delete(key);
    this.#kept.set(key, entry);
    this.#trim(nowMs);
    entry.answer.then(
      () => (entry.untilMs = this.#clock.monotonic() + FRESH_MS),
      () => (entry.untilMs = 0),
    );
    return entry.answer;
  }

  /** Drops what is no longer fresh, and the oldest of what is too much. */
  #trim(nowMs: number): void {
    for (const [key, { untilMs }] of this.#kept) if (untilMs <= nowMs || this.#kept.size > MOST_ANSWERS) this.#kept.delete(key);
  }

  async #timed(read: () => Promise<object>): Promise<Answer> {
    const startMs = this.#clock.monotonic();
    const view = await read();
    return { text: JSON.stringify(view), atMs: this.#clock.now(), tookMs: this.#clock.monotonic() - startMs };
  }
}
