/** What was committed, in order, as far back as change streams can begin. */
import { EventEmitter } from "node:events";
import type { Doc } from "../values/document.ts";
import type { Change } from "./transaction.ts";

/** As the server's oplog, it is bounded: a stream that lags more behind has lost its place. */
const MAX_ENTRIES = 100_000;

export interface OplogEntry {
  readonly at: number;
  /** Which of those committed together. */
  readonly place: number;
  readonly kind: Change["kind"] | "drop" | "dropDatabase";
  readonly database: string;
  readonly collection: string;
  readonly id: unknown;
  readonly before: Doc | null;
  readonly doc: Doc | null;
}

export class Oplog {
  readonly changed: EventEmitter = new EventEmitter().setMaxListeners(0);
  #entries: OplogEntry[] = [];
  #lostUntil = 0;

  append(at: number, changes: readonly Change[]): void {
    changes.forEach(({ kind, collection, id, before, doc }, place) => {
      this.#entries.push({ at, place, kind, database: collection.database, collection: collection.name, id, before, doc });
    });
    this.#bound();
  }

  appendDrop(at: number, kind: "drop" | "dropDatabase", database: string, collection: string): void {
    this.#entries.push({ at, place: 0, kind, database, collection, id: null, before: null, doc: null });
    this.#bound();
  }

  /** Null when the place is no longer there. */
  after(at: number, place: number): readonly OplogEntry[] | null {
    if (at < this.#lostUntil) return null;
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const entry = this.#entries[middle];
      if (entry !== undefined && (entry.at < at || (entry.at === at && entry.place <= place))) low = middle + 1;
      else high = middle;
    }
    return this.#entries.slice(low);
  }

  #bound(): void {
    if (this.#entries.length > 2 * MAX_ENTRIES) {
      this.#entries = this.#entries.slice(-MAX_ENTRIES);
      this.#lostUntil = this.#entries[0]?.at ?? 0;
    }
    this.changed.emit("change");
  }
}
