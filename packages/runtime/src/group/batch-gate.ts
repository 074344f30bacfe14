import type { Clock, Timer } from "@rheo/core";
import type { ConsumerDefinition } from "../consumer.ts";

/** Holds back a batch until it is full or has waited long enough. Without the `batch` option it is always open, for one. */
export class BatchGate {
  readonly size: number;
  readonly #waitMs: number;
  readonly #clock: Clock;
  readonly #onOpen: () => void;
  #timer: Timer | null = null;

  constructor(batch: ConsumerDefinition["batch"], clock: Clock, onOpen: () => void) {
    this.size = batch?.size ?? 1;
    this.#waitMs = batch?.waitMs ?? 0;
    this.#clock = clock;
    this.#onOpen = onOpen;
  }

  /** Whether a batch may start now, with `unstarted` deliveries waiting, the oldest since `sinceMs`. If not, `onOpen` follows. */
  isOpen(unstarted: number, sinceMs: number | null): boolean {
    if (unstarted >= this.size) return true;
    if (unstarted === 0 || sinceMs === null) return false;
    const leftMs = sinceMs + this.#waitMs - this.#clock.monotonic();
    if (leftMs <= 0) return true;
    this.#timer ??= this.#clock.schedule(leftMs, () => {
      this.#timer = null;
      this.#onOpen();
    });
    return false;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
