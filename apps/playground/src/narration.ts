import type { LineView, Tone } from "./views.ts";

/** Something that happened, in words. */
export interface Saying {
  readonly tone: Tone;
  readonly text: string;
}

/** More than anybody reads back; a page that was away longer misses the rest. */
const MOST_LINES = 300;

/** What happened, as the page shows it: the newest lines, numbered. */
export class Narration {
  readonly #lines: LineView[] = [];
  #lastId = 0;

  say(who: string, { tone, text }: Saying): void {
    this.#lastId += 1;
    this.#lines.push({ id: this.#lastId, atMs: Date.now(), who, tone, text });
    if (this.#lines.length > MOST_LINES) this.#lines.shift();
  }

  /** Lines with a greater id, in order. */
  after(id: number): readonly LineView[] {
    return this.#lines.filter((line) => line.id > id);
  }
}
