/** Hints that there may be something to fetch: to listeners of this process at once, to others by NOTIFY. Polling remains the truth. */
import type { WakeListener } from "@rheo/core";
import { SpacedSending, WakeListeners } from "@rheo/core/internal";

/** NOTIFY takes a lock of the whole database at commit, so a process sends at most one in this time, in ms. */
const NOTIFY_EVERY_MS = 5;

/** Streams whose names are remembered by id. One that is not known wakes everybody. */
const NAMES_KEPT = 10_000;

export class Wake {
  readonly #listeners = new WakeListeners();
  readonly #names = new Map<number, string>();
  readonly #others: SpacedSending<number>;

  /** `send` may fail: what is lost is a hint. */
  constructor(send: (ids: readonly number[]) => Promise<unknown>) {
    this.#others = new SpacedSending({ send, everyMs: NOTIFY_EVERY_MS });
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
    if (!carried) this.#others.add(id);
  }

  /** Whether a change that is about to be made may carry the news itself: none was sent for a while. */
  mayCarry(): boolean {
    return this.#others.mayCarry();
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
    await this.#others.stop();
  }
}
