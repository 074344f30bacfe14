import { RheoError } from "@rheo/core";
import { colorsFor, type Input, type Io } from "../io.ts";

/** Back to the line of the question, and empty it. */
const WIPE = "\u001b[1A\u001b[2K";

/** Asks before each block whether to run it. */
export class GoOn implements Disposable {
  readonly #io: Io;
  readonly #typed: AsyncIterator<string | Uint8Array>;
  readonly #aborted: Promise<never>;
  #isForAll = false;

  /** @param stdin - a terminal */
  constructor(io: Io, stdin: Input, signal: AbortSignal) {
    this.#io = io;
    this.#typed = stdin[Symbol.asyncIterator]();
    this.#aborted = new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new RheoError("aborted", "Interrupted.")), { once: true });
    });
    this.#aborted.catch(() => undefined);
  }

  /** False: that is enough, or nothing more can be typed. @throws aborted */
  async ask(): Promise<boolean> {
    if (this.#isForAll) return true;
    const { stdout, env } = this.#io;
    stdout.write(colorsFor(stdout, env).dim("Enter runs it, a runs all that follow, q ends: "));
    const { value, done } = await Promise.race([this.#typed.next(), this.#aborted]);
    if (done === true) return false;
    stdout.write(WIPE);
    const answer = String(value).trim().toLowerCase();
    this.#isForAll = answer === "a";
    return answer !== "q";
  }

  [Symbol.dispose](): void {
    void this.#typed.return?.();
  }
}
