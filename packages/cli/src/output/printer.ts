/** What a command says: its answer on stdout, all else on stderr. */
import type { Io } from "../io.ts";
import { breathe } from "../session/breathe.ts";
import { inert, inertJson } from "./inert.ts";
import { type Screen, screenOf } from "./screen.ts";

export class Printer {
  readonly isJson: boolean;
  readonly #io: Io;
  #isFull = false;

  constructor(io: Io, isJson: boolean) {
    this.#io = io;
    this.isJson = isJson;
  }

  /** The screen as it is now; its size and time change. */
  get screen(): Screen {
    return screenOf(this.#io.stdout, this.#io.env);
  }

  /** Text that is laid out and inert already. */
  text(text: string): void {
    this.#isFull = this.#io.stdout.write(`${text}\n`) === false;
  }

  /** A line of JSON. */
  value(value: unknown): void {
    this.text(inertJson(value));
  }

  /** A remark for people, beside the answer: nothing with --json. */
  note(text: string): void {
    if (!this.isJson) this.#io.stderr.write(`${screenOf(this.#io.stderr, this.#io.env).colors.dim(inert(text))}\n`);
  }

  /** Resolves when what was written has gone, so that a slow reader does not fill our memory; after a turn of the event loop at least. */
  async drained(signal: AbortSignal): Promise<void> {
    await breathe();
    const { stdout } = this.#io;
    if (!this.#isFull || stdout.on === undefined || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        stdout.off?.("drain", end);
        signal.removeEventListener("abort", end);
        resolve();
      };
      stdout.on?.("drain", end);
      signal.addEventListener("abort", end, { once: true });
    });
    this.#isFull = false;
  }
}
