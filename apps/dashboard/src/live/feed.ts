/** One view, read again and again for all who watch it. */
import type { Clock, Timer } from "@rheo/core";
import { problemOf } from "../http/problem.ts";
import type { Look } from "../reading/reads.ts";
import { pauseAfter } from "../sampling/pace.ts";
import type { Viewer } from "./viewer.ts";

export class Feed {
  readonly #look: Look;
  readonly #clock: Clock;
  readonly #viewers = new Set<Viewer>();
  /** What a new viewer is shown at once. */
  #latest: { readonly text: string; readonly message: string } | null = null;
  #timer: Timer | null = null;
  #isReading = false;

  constructor(look: Look, clock: Clock) {
    this.#look = look;
    this.#clock = clock;
  }

  get isWatched(): boolean {
    return this.#viewers.size > 0;
  }

  add(viewer: Viewer): void {
    this.#viewers.add(viewer);
    if (this.#latest !== null) viewer.show(this.#latest.message);
    if (this.#timer === null && !this.#isReading) void this.#read();
  }

  remove(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    if (this.isWatched) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  end(): void {
    for (const viewer of [...this.#viewers]) {
      viewer.end();
      this.remove(viewer);
    }
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    this.#isReading = true;
    const startMs = this.#clock.monotonic();
    const told = await this.#ask();
    this.#isReading = false;
    if (!this.isWatched) return;
    this.#tell(told.name, told.text);
    this.#timer = this.#clock.schedule(
      pauseAfter(this.#clock.monotonic() - startMs, this.#look.everyMs),
      () => {
        this.#timer = null;
        void this.#read();
      },
      { keepAlive: false },
    );
  }

  async #ask(): Promise<{ readonly name: "data" | "problem"; readonly text: string }> {
    try {
      return { name: "data", text: (await this.#look.read()).text };
    } catch (error) {
      return { name: "problem", text: JSON.stringify(problemOf(error)) };
    }
  }

  #tell(name: "data" | "problem", text: string): void {
    const atMs = this.#clock.now();
    if (this.#latest?.text === text) {
      for (const viewer of this.#viewers) viewer.ping(`event: same\ndata: {"atMs":${atMs}}\n\n`);
      return;
    }
    const message = `event: ${name}\ndata: {"atMs":${atMs},"${name}":${text}}\n\n`; // JSON has no line breaks of its own
    this.#latest = { text, message };
    for (const viewer of this.#viewers) viewer.show(message);
  }
}
