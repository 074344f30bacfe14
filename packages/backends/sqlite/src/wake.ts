/** Hints that there may be something to fetch. Commits of other connections are noticed by a lookout; polling remains the truth. */
import type { WakeListener } from "@rheo/core";
import { WakeListeners } from "@rheo/core/internal";
import type { Connection } from "./driver/driver.ts";
import { Lookout, type LookoutOptions } from "./lookout.ts";

/** How often it is seen whether the caller's transactions are over, in ms. */
const AWAIT_EVERY_MS = 20;

/** Transactions of the caller's whose end is awaited. Beyond that a hint is dropped. */
const AWAITED_KEPT = 1_000;

export class Wake {
  readonly #listeners = new WakeListeners();
  readonly #lookout: Lookout | null;
  /** What was written inside transactions of the caller's that are still open. */
  #awaited: { readonly connection: Connection; readonly stream: string }[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** Null: there are no other connections. */
  constructor(lookout: Pick<LookoutOptions, "look" | "file"> | null) {
    this.#lookout = lookout === null ? null : new Lookout({ ...lookout, changed: () => this.tell(null) });
  }

  subscribe(listener: WakeListener): () => void {
    const remove = this.#listeners.add(listener);
    this.#lookout?.start();
    return () => {
      remove();
      if (this.#listeners.size === 0) this.stop();
    };
  }

  tell(stream: string | null): void {
    this.#listeners.tell(stream);
  }

  /** Tells once the transaction that is open on `connection` is over. */
  tellAfter(connection: Connection, stream: string): void {
    if (this.#listeners.size === 0 || this.#awaited.length >= AWAITED_KEPT) return;
    this.#awaited.push({ connection, stream });
    this.#timer ??= setInterval(() => this.#await(), AWAIT_EVERY_MS).unref();
  }

  /** Stops looking. Listeners stay. */
  stop(): void {
    this.#lookout?.stop();
    this.#awaited = [];
    this.#await();
  }

  /** Goes on looking, for those who subscribed before. */
  start(): void {
    if (this.#listeners.size > 0) this.#lookout?.start();
  }

  #await(): void {
    const over = this.#awaited.filter(({ connection }) => !isOpen(connection));
    this.#awaited = this.#awaited.filter(({ connection }) => isOpen(connection));
    for (const { stream } of over) this.tell(stream);
    if (this.#awaited.length > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

/** A handle that was closed since has no transaction any more. */
const isOpen = (connection: Connection): boolean => {
  try {
    return connection.inTransaction;
  } catch {
    return false;
  }
};
