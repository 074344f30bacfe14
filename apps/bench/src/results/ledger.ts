import type { Sample } from "../question.ts";
import { writeKept } from "./file.ts";
import { type Asked, type Kept, type Remark, runsOf, type Session, withAnswer, withRemark, withSession } from "./kept.ts";

/** What this run has been answered so far, and what earlier ones left in its file. */
export class Ledger {
  #kept: Kept;
  readonly #file: string | null;
  readonly #session: () => Session;
  #isSealed = false;

  /** `kept`: what is there already. `file`: where it is kept as it comes, or null. `session`: the run as it is at this moment. */
  constructor(kept: Kept, file: string | null, session: () => Session) {
    this.#kept = kept;
    this.#file = file;
    this.#session = session;
  }

  runs(asked: Omit<Asked, "runs">): number {
    return runsOf(this.#kept, asked);
  }

  answer(topic: string, asked: Omit<Asked, "runs">, samples: readonly Sample[]): void {
    if (!this.#isSealed) this.#kept = withAnswer(this.#kept, topic, asked, samples);
  }

  remark(remark: Remark): void {
    if (!this.#isSealed) this.#kept = withRemark(this.#kept, remark);
  }

  /** All of it. */
  read(): Kept {
    return withSession(this.#kept, this.#session());
  }

  /** What fails from now on fails because the run is being ended: nothing more is taken down. */
  seal(): void {
    this.#isSealed = true;
  }

  async save(): Promise<void> {
    if (this.#file !== null && !this.#isSealed) await writeKept(this.#file, this.read());
  }
}
