import type { WakeListener } from "./backend.ts";
import { guarded } from "./guarded.ts";

/** Listeners of this process for wake-ups, told once per turn of the microtask queue. For a backend's `subscribe`. */
export class WakeListeners {
  readonly #listeners = new Set<WakeListener>();
  /** Streams to tell of. Null: any. */
  readonly #told = new Set<string | null>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns how to stop. */
  add(listener: WakeListener): () => void {
    // a subscriber of its own, even if the function is one that subscribed before
    const own: WakeListener = (wake) => listener(wake);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Null: of any stream. */
  tell(stream: string | null): void {
    if (this.#listeners.size === 0) return;
    if (this.#told.size === 0) queueMicrotask(() => this.#flush());
    this.#told.add(stream);
  }

  #flush(): void {
    const streams = this.#told.has(null) ? [null] : [...this.#told];
    this.#told.clear();
    for (const stream of streams)
      for (const listener of [...this.#listeners]) guarded("A wake-up listener", () => listener({ stream }));
  }
}
