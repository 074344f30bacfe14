/** Hints that there may be something to fetch. Polling remains the truth. */
import type { WakeListener } from "@rheo/core";
import { WakeListeners } from "@rheo/core/internal";
import { Listener } from "./listener.ts";
import type { Store } from "./store.ts";

export class Wake {
  readonly #listeners = new WakeListeners();
  readonly #notify: boolean;
  #store: Store | null = null;
  #listener: Listener | null = null;

  /** `notify`: whether other processes are listened to, as long as somebody subscribes. */
  constructor(notify: boolean) {
    this.#notify = notify;
  }

  subscribe(listener: WakeListener): () => void {
    const remove = this.#listeners.add(listener);
    this.#listen();
    return () => {
      remove();
      if (this.#listeners.size === 0) void this.#end();
    };
  }

  /** Whether other processes are heard, as far as is known. */
  get hears(): boolean {
    return this.#listener?.hears ?? false;
  }

  tell(stream: string | null): void {
    this.#listeners.tell(stream);
  }

  /** The store is open. Those who subscribed before hear of it too. */
  start(store: Store): void {
    this.#store = store;
    if (this.#listeners.size > 0) this.#listen();
  }

  /** Stops listening to others. Listeners of this process stay. */
  async stop(): Promise<void> {
    this.#store = null;
    await this.#end();
  }

  #listen(): void {
    const store = this.#store;
    if (!this.#notify || store === null || this.#listener !== null) return;
    const { db, collections } = store.database;
    const listener = new Listener(db, collections, (id) => this.tell(streamOf(store, id)), store.random);
    this.#listener = listener;
    void listener.run();
  }

  async #end(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    await listener?.stop();
  }
}

/** The `_id`s of partitions and groups begin with that of their stream. Null: a stream whose name this process has not met. */
const streamOf = ({ memory }: Store, id: string | null): string | null =>
  id === null ? null : memory.streamName(Number(id.split("/", 1)[0]));
