import type { Backend, Clock } from "@rheo/core";

/** What the suites need of one store. Everything is used with the clock that `open` was given. */
export interface StoreUnderTest {
  /** A handle, not yet opened, on a store that is empty. */
  readonly backend: Backend;
  /**
   * Another handle on the same store, as a second process would have; also how a store is opened again after all handles were
   * closed. A store that lives in one object (`persistent: false`) gives that object again.
   */
  again(): Backend | Promise<Backend>;
  /** Needed where `capabilities.transactions` is on. */
  readonly transactions?: TransactionFixture;
  /** Removes the store; every handle is closed by then. */
  dispose?(): void | Promise<void>;
}

/** A way to run the caller's own statements in a transaction of the same store (T8). */
export interface TransactionFixture {
  /** Opens a transaction, on a connection of its own. */
  begin(): Promise<CallerTransaction>;
  /** The notes that are committed, in no order. */
  notes(): Promise<readonly string[]>;
}

/** An open transaction of the caller, as the suite sees it. */
export interface CallerTransaction {
  /** What the user passes as `{ transaction }`. */
  readonly transaction: unknown;
  /** Writes one row of the caller's own. */
  note(text: string): Promise<void>;
  /** Makes its rows, and what Rheo did in it, visible. */
  commit(): Promise<void>;
  /** Undoes both. */
  rollback(): Promise<void>;
}

/** A backend as the suites are told of it. */
export interface BackendUnderTest {
  /** Named in titles and reports. */
  readonly name: string;
  /** A new, empty store for each case. A bare backend stands for a store that lives in that object. */
  open(options: { readonly clock: Clock }): StoreUnderTest | Backend | Promise<StoreUnderTest | Backend>;
}

/** Opens a new store. */
export const openStore = async (backend: BackendUnderTest, clock: Clock): Promise<StoreUnderTest> => {
  const opened = await backend.open({ clock });
  return "exchange" in opened ? { backend: opened, again: () => opened } : opened;
};
