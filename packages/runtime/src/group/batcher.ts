import type { Timer } from "@rheo/core";
import type { ConsumerDefinition } from "../consumer.ts";
import type { Batch, Place } from "./ledger.ts";
import type { RunnerHost } from "./runner.ts";

/** Puts batches together: held back until one is full, or has waited long enough, or cannot grow. */
export class Batcher {
  readonly #host: RunnerHost;
  readonly #batch: NonNullable<ConsumerDefinition["batch"]>;
  readonly #onDue: () => void;
  #timer: Timer | null = null;

  constructor(host: RunnerHost, batch: NonNullable<ConsumerDefinition["batch"]>, onDue: () => void) {
    this.#host = host;
    this.#batch = batch;
    this.#onDue = onDue;
  }

  /** Of a full batch. */
  get size(): number {
    return this.#batch.size;
  }

  /** Starts the next batch, in so far as the ledger and the admission go. Empty when none may start now; then `onDue` follows, or a `pump`. */
  take(): readonly Place[] {
    const { ledger, admission } = this.#host;
    const front = ledger.front();
    if (front === null) return [];
    const { size, by } = this.#batch;
    const ready = by === null ? Math.min(size, ledger.unstarted) : ledger.runLength(size, by);
    if (!this.#isDue(front, ready) || !this.#host.mayStart(front)) return [];
    const allowed = admission === null ? ready : admission.reserveAll(ready);
    if (allowed === 0) return [];
    const places = by === null ? ledger.takeMany(allowed) : this.#takeRun(allowed, by);
    admission?.letThrough(places[0]);
    admission?.started(places.length, allowed);
    return places;
  }

  #takeRun(limit: number, by: "key" | "partition"): readonly Place[] {
    const { ledger } = this.#host;
    if (!this.#host.keepsRuns()) return ledger.takeRun(limit, by);
    const { places, released } = ledger.takeWholeRun(limit, by);
    if (released > 0) this.#host.released(released);
    return places;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #isDue(front: Batch, ready: number): boolean {
    if (ready >= this.#batch.size || !this.#canGrow(front)) return true;
    const { clock } = this.#host.internals;
    const leftMs = front.fetchedAtMs + this.#batch.waitMs - clock.monotonic();
    if (leftMs <= 0) return true;
    // whole ms: of a fraction, the sum of floating-point numbers could fall short again and again
    this.#timer ??= clock.schedule(Math.ceil(leftMs), () => {
      this.#timer = null;
      this.#onDue();
    });
    return false;
  }

  /** A run cannot where there is no key, or where the store offers its events one at a time. */
  #canGrow(front: Batch): boolean {
    switch (this.#batch.by) {
      case null:
        return true;
      case "key":
        return this.#host.ordering() === "none" && front.recordAt(front.next).key !== null;
      case "partition":
        return this.#host.ordering() !== "partition";
      default:
        return this.#batch.by satisfies never;
    }
  }
}
