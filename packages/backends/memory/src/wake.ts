import type { WakeListener } from "@rheo/core";

/** Listeners of this process, told once per turn of the microtask queue. */
export class Wake {
  readonly #listeners = new Set<WakeListener>();
  readonly #streams = new Set<string>();

  subscribe(listener: WakeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(stream: string): void {
    if (this.#listeners.size === 0) return;
    if (this.#streams.size === 0) queueMicrotask(() => this.#flush());
    this.#streams.add(stream);
  }

  #flush(): void {
    const streams = [...this.#streams];
    this.#streams.clear();
    for (const stream of streams) for (const listener of [...this.#listeners]) listener({ stream });
  }
}
