export interface SpacedSendingOptions<Item> {
  /** Sends items together. May fail: what is lost is a hint. */
  readonly send: (items: readonly Item[]) => Promise<unknown>;
  /** Nothing is sent sooner after something else, in ms. */
  readonly everyMs: number;
}

/**
 * Hints for other processes, sent as rarely as their store likes: the first after a pause at once, those that follow closely together, and one
 * message at a time. For backends whose wake-ups are messages.
 */
export class SpacedSending<Item> {
  readonly #options: SpacedSendingOptions<Item>;
  readonly #unsent = new Set<Item>();
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<unknown> | null = null;

  constructor(options: SpacedSendingOptions<Item>) {
    this.#options = options;
  }

  /** Is sent at once, or with what comes within the pause. */
  add(item: Item): void {
    this.#unsent.add(item);
    this.#trySending();
  }

  /** Whether a change that is about to be made may carry its news itself, as nothing was sent for a while. If so, a pause begins. */
  mayCarry(): boolean {
    if (this.#isPausing) return false;
    this.#pause();
    return true;
  }

  /** Drops what is unsent, and waits for what is being sent. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unsent.clear();
    await this.#sending;
  }

  get #isPausing(): boolean {
    return this.#timer !== null || this.#sending !== null;
  }

  #trySending(): void {
    if (this.#unsent.size === 0 || this.#isPausing) return;
    this.#pause();
    const items = [...this.#unsent];
    this.#unsent.clear();
    this.#sending = this.#options
      .send(items)
      .catch(() => undefined)
      .then(() => {
        this.#sending = null;
        this.#trySending();
      });
  }

  #pause(): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#trySending();
    }, this.#options.everyMs);
    this.#timer.unref();
  }
}
