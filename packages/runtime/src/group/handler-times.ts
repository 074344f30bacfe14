import type { Outcome } from "@rheo/core";
import type { RheoInternals } from "@rheo/core/internal";
import type { Batch } from "./ledger.ts";

/** Deliveries of one grant with the same outcome. */
interface Handled {
  readonly batch: Batch;
  readonly outcome: Outcome["kind"];
  readonly sequences: number[];
  readonly beganAtMs: number[];
  readonly tookMs: number[];
}

/** How long handlers took, told together for those that end together. Costs next to nothing while nobody listens. */
export class HandlerTimes {
  readonly #internals: RheoInternals;
  readonly #names: { readonly stream: string; readonly group: string; readonly consumerId: string };
  #handled: Handled[] = [];

  constructor(internals: RheoInternals, names: { readonly stream: string; readonly group: string; readonly consumerId: string }) {
    this.#internals = internals;
    this.#names = names;
  }

  /** Whether anybody wants to know: only then is anything measured. */
  get isHeard(): boolean {
    return this.#internals.hears("delivery.handled");
  }

  /** A delivery whose handler began at `beganAtMs`, by the monotonic clock. Told with the next {@link flush}. */
  add(batch: Batch, index: number, outcome: Outcome["kind"], beganAtMs: number, tookMs: number): void {
    let last = this.#handled.at(-1);
    if (last === undefined || last.batch !== batch || last.outcome !== outcome) {
      last = { batch, outcome, sequences: [], beganAtMs: [], tookMs: [] };
      this.#handled.push(last);
    }
    last.sequences.push(batch.sequenceAt(index));
    last.beganAtMs.push(beganAtMs);
    last.tookMs.push(tookMs);
  }

  flush(): void {
    if (this.#handled.length === 0) return;
    const handled = this.#handled.map(({ batch: { partition, token, attempt }, ...rest }) => ({
      partition,
      token,
      attempt,
      ...rest,
    }));
    this.#handled = [];
    this.#internals.emit("delivery.handled", { ...this.#names, handled });
  }
}
