/** The screen of `rheo top`: looks, draws, and heeds keys. */
import { setTimeout as sleep } from "node:timers/promises";
import { RheoError } from "@rheo/core";
import type { Input } from "../io.ts";
import type { Session } from "../session/session.ts";
import { frame } from "../session/watch.ts";
import { readKeys } from "./keys.ts";
import { Rates, type TopRow } from "./rates.ts";
import { takeSample } from "./sample.ts";
import { initial, press, sorted, type TopState } from "./state.ts";
import { topHead, topText } from "./view.ts";

/** The other screen of the terminal, without a cursor, and back: what stood there before is there again. */
const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
/** Sooner would only load the store, in ms. */
const LEAST_MS = 200;

export class LiveView {
  readonly #session: Session;
  readonly #stdin: Input;
  readonly #stream: string | null;
  readonly #everyMs: number;
  readonly #rates = new Rates();
  readonly #ended = new AbortController();
  #state: TopState = initial;
  #rows: readonly TopRow[] = [];
  /** Why the last look failed. */
  #trouble: string | null = null;

  constructor(session: Session, stdin: Input, stream: string | null, everyMs: number) {
    this.#session = session;
    this.#stdin = stdin;
    this.#stream = stream;
    this.#everyMs = everyMs;
  }

  /** Until a key ends it, or the session's signal does: then false. */
  async run(): Promise<boolean> {
    const { stdout } = this.#session.io;
    const signal = AbortSignal.any([this.#session.signal, this.#ended.signal]);
    stdout.write(ENTER);
    const keys = readKeys(this.#stdin, (key) => this.#press(key));
    try {
      while (!signal.aborted) {
        if (!this.#state.isHeld) await this.#look();
        if (!signal.aborted) this.#draw();
        await sleep(Math.max(LEAST_MS, this.#everyMs), undefined, { signal }).catch(() => undefined);
      }
    } finally {
      keys.stop();
      stdout.write(LEAVE);
    }
    return this.#ended.signal.reason === "key";
  }

  async #look(): Promise<void> {
    try {
      this.#rows = this.#rates.rows(await takeSample(this.#session.rheo, this.#stream));
      this.#trouble = null;
    } catch (error) {
      // streams and groups come and go between two calls, and a store may be away for a while
      if (!RheoError.is(error) || error.code === "closed") throw error;
      this.#trouble = error.message;
    }
  }

  #press(key: string): void {
    const state = press(this.#state, key, this.#rows.length);
    if (state === null) return this.#ended.abort(key === "q" ? "key" : "interrupt");
    this.#state = state;
    this.#draw();
  }

  #draw(): void {
    const { screen } = this.#session.print;
    const rows = sorted(this.#rows, this.#state);
    const head = this.#trouble ?? topHead(rows, this.#state, screen.nowMs);
    this.#session.io.stdout.write(frame(head, topText(screen, rows, this.#state), screen));
  }
}
