/** What a transaction has written and nobody else sees. Every statement outside of one has one of its own, which is `single`. */
import type { Doc } from "../values/document.ts";
import type { Collection } from "./collection.ts";
import type { Row } from "./row.ts";

export interface Change {
  readonly kind: "insert" | "update" | "replace" | "delete";
  readonly collection: Collection;
  readonly row: Row;
  readonly id: unknown;
  readonly before: Doc | null;
  readonly doc: Doc | null;
}

export type TransactionState = "open" | "committed" | "aborted";

export class Transaction {
  readonly snapshot: number;
  readonly single: boolean;
  readonly changes: Change[] = [];
  /** What it made of rows, by collection. */
  readonly pending: Map<Collection, Map<Row, Doc | null>> = new Map();
  /** Keys of unique indexes that it took or gave up. */
  readonly claims: Set<string> = new Set();
  readonly ended: Promise<void>;
  state: TransactionState = "open";
  #end: () => void = () => undefined;

  constructor(snapshot: number, single: boolean) {
    this.snapshot = snapshot;
    this.single = single;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** What it sees of a row: its own write, or what the snapshot holds. */
  read(collection: Collection, row: Row): Doc | null {
    const own = this.pending.get(collection)?.get(row);
    return own === undefined ? (row.visibleAt(this.snapshot)?.doc ?? null) : own;
  }

  written(collection: Collection): ReadonlyMap<Row, Doc | null> {
    return this.pending.get(collection) ?? NOTHING;
  }

  end(state: "committed" | "aborted"): void {
    this.state = state;
    this.#end();
  }
}

const NOTHING: ReadonlyMap<Row, Doc | null> = new Map();

/** A write has to wait for another transaction. */
export class Blocked extends Error {
  readonly holder: Transaction;

  constructor(holder: Transaction) {
    super("a write waits for another transaction");
    this.holder = holder;
  }
}
