/** Hints that there may be something to fetch. Commits of other connections are noticed by looking; polling remains the truth. */
import type { WakeListener } from "@rheo/core";
import { WakeListeners } from "@rheo/core/internal";
import type { Connection } from "./driver/driver.ts";

/** How often a subscriber has the file looked at, in ms: one shared-memory read. */
const LOOK_EVERY_MS = 20;

/** Transactions of the caller's whose end is awaited. Beyond that a hint is dropped. */
const AWAITED_KEPT = 1_000;

export class Wake {
  readonly #listeners = new WakeListeners();
  /** What was written inside transactions of the caller's that are still open. */
  #awaited: { readonly connection: Connection; readonly stream: string }[] = [];
  #look: () => unknown;
  #seen: unknown = undefined;
  #timer: NodeJS.Timeout | null = null;

  /** `look` returns a value that changes with each commit of another connection; it may throw. */
  constructor(look: () => unknown) {
    this.#look = look;
  }

  subscribe(listener: WakeListener): () => void {
    const remove = this.#listeners.add(listener);
    this.#start();
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
    if (this.#listeners.size > 0 && this.#awaited.length < AWAITED_KEPT) this.#awaited.push({ connection, stream });
  }

  /** Stops looking. Listeners stay. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#awaited = [];
  }

  /** Goes on looking, for those who subscribed before. */
  start(): void {
    if (this.#listeners.size > 0) this.#start();
  }

  #start(): void {
    if (this.#timer !== null) return;
    this.#seen = this.#glance();
    this.#timer = setInterval(() => this.#tick(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  #tick(): void {
    const seen = this.#glance();
    if (seen !== undefined && seen !== this.#seen) {
      if (this.#seen !== undefined) this.tell(null);
      this.#seen = seen;
    }
    if (this.#awaited.length === 0) return;
    const over = this.#awaited.filter(({ connection }) => !isOpen(connection));
    this.#awaited = this.#awaited.filter(({ connection }) => isOpen(connection));
    for (const { stream } of over) this.tell(stream);
  }

  /** Undefined when the file cannot be looked at now; the next look will do. */
  #glance(): unknown {
    try {
      return this.#look();
    } catch {
      return undefined;
    }
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
