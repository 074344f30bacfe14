/** Hints that there may be something to fetch: to listeners of this process at once, to others by NOTIFY. Polling remains the truth. */
import type { WakeListener } from "@rheo/core";
import { WakeListeners } from "@rheo/core/internal";

/** NOTIFY takes a lock of the whole database at commit, so a process sends at most one in this time, in ms. */
const NOTIFY_EVERY_MS = 5;

/** Streams whose names are remembered by id. One that is not known wakes everybody. */
const NAMES_KEPT = 10_000;

export class Wake {
  readonly #listeners = new WakeListeners();
  readonly #names = new Map<number, string>();
  /** Ids to send. */
  readonly #unsent = new Set<number>();
  readonly #send: (ids: readonly number[]) => Promise<unknown>;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<unknown> | null = null;

  /** `send` may fail: what is lost is a hint. */
  constructor(send: (ids: readonly number[]) => Promise<unknown>) {
    this.#send = send;
  }

  subscribe(listener: WakeListener): () => void {
    return this.#listeners.add(listener);
  }

  /** Something of a stream changed: tells listeners here, and elsewhere unless the change itself has `carried` the news. */
  tell(stream: string, id: number | null, carried = false): void {
    this.hear(stream);
    if (id === null) return;
    if (this.#names.size >= NAMES_KEPT) this.#names.clear();
    this.#names.set(id, stream);
    if (carried) return;
    this.#unsent.add(id);
    this.#arm();
  }

  /** Whether a change that is about to be made may carry the news itself: none was sent for a while. */
  mayCarry(): boolean {
    if (this.#timer !== null || this.#sending !== null) return false;
    this.#rest();
    return true;
  }

  /** Another process says so. */
  hearOf(ids: readonly number[]): void {
    for (const id of ids) this.hear(this.#names.get(id) ?? null);
  }

  /** Tells listeners of this process. Null: of any stream. */
  hear(stream: string | null): void {
    this.#listeners.tell(stream);
  }

  /** Drops what is unsent, and waits for what is being sent. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#unsent.clear();
    await this.#sending;
  }

  #arm(): void {
    if (this.#timer !== null || this.#sending !== null) return;
    this.#rest();
    this.#sendNow(); // the first at once, those that follow closely together
  }

  #rest(): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#unsent.size > 0) this.#sendNow();
    }, NOTIFY_EVERY_MS);
    this.#timer.unref();
  }

  #sendNow(): void {
    const ids = [...this.#unsent];
    this.#unsent.clear();
    this.#sending = this.#send(ids)
      .catch(() => undefined)
      .then(() => {
        this.#sending = null;
        if (this.#unsent.size > 0 && this.#timer === null) this.#arm();
      });
  }
}
