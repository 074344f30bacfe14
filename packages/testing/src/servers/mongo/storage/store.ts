/** All databases of the server, the order of commits, and who still sees what was before. */
import type { Clock } from "../clock.ts";
import { CommandError } from "../errors.ts";
import type { Doc } from "../values/document.ts";
import { Collection } from "./collection.ts";
import type { Journal, SessionNote } from "./journal.ts";
import { Oplog } from "./oplog.ts";
import type { Row } from "./row.ts";
import { nextTime } from "./time.ts";
import { Transaction } from "./transaction.ts";

export class Store {
  readonly claims: Map<string, Transaction> = new Map();
  readonly oplog: Oplog = new Oplog();
  readonly #databases: Map<string, Map<string, Collection>> = new Map();
  readonly #open: Set<Transaction> = new Set();
  readonly #stale: { readonly collection: Collection; readonly row: Row }[] = [];
  readonly #clock: Clock;
  #journal: Journal | null = null;
  #now: number;
  #manyStale = MANY_STALE;
  readonly #history: Set<number> = new Set();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#now = nextTime(0, clock.nowMs());
  }

  /** From now on all that is committed is written there first. */
  keepIn(journal: Journal): void {
    this.#journal = journal;
  }

  /** Time of the last commit. */
  get now(): number {
    return this.#now;
  }

  tick(): number {
    this.#now = nextTime(this.#now, this.#clock.nowMs());
    return this.#now;
  }

  /** While the journal is read again. */
  setTime(at: number): void {
    this.#now = Math.max(this.#now, at);
  }

  find(database: string, name: string): Collection | null {
    return this.#databases.get(database)?.get(name) ?? null;
  }

  /** The collection, made now if there is none; clients see it once something is in it. */
  collection(database: string, name: string): Collection {
    if (name === "" || name.startsWith("system.") || name.includes("$") || name.includes("\0"))
      throw new CommandError(73, `Invalid namespace specified '${database}.${name}'`);
    const found = this.find(database, name);
    if (found !== null) return found;
    const made = new Collection(database, name);
    const collections = this.#databases.get(database) ?? new Map<string, Collection>();
    this.#databases.set(database, collections.set(name, made));
    return made;
  }

  collectionsOf(database: string): readonly Collection[] {
    return [...(this.#databases.get(database)?.values() ?? [])].filter(({ exists }) => exists);
  }

  get databases(): readonly string[] {
    return [...this.#databases.keys()].filter((name) => this.collectionsOf(name).length > 0);
  }

  remove(collection: Collection): void {
    this.#databases.get(collection.database)?.delete(collection.name);
  }

  /** `at`: what is seen, by default all that is committed. @throws `SnapshotUnavailable` when that is no longer kept */
  begin(single: boolean, at: number = this.#now): Transaction {
    if (at < this.#now && !this.#history.has(at))
      throw new CommandError(246, "Read timestamp is older than the oldest available timestamp.");
    const transaction = new Transaction(Math.min(at, this.#now), single);
    if (!single) this.#open.add(transaction);
    return transaction;
  }

  /** `note`: what a session must remember with it. */
  commit(transaction: Transaction, note: SessionNote | null = null): void {
    if (transaction.changes.length > 0 || note?.keep === true) {
      const at = this.tick();
      this.#journal?.write({ at, changes: transaction.changes, note });
      this.apply(transaction, at);
    }
    this.#end(transaction, "committed");
  }

  /** Makes what was written visible; also of what the journal holds. */
  apply(transaction: Transaction, at: number): void {
    for (const [collection, rows] of transaction.pending) {
      collection.exists = true;
      for (const [row, doc] of rows) {
        if (doc === null && row.newest?.doc == null) continue;
        collection.put(row, doc, at);
        this.#stale.push({ collection, row });
      }
    }
    if (transaction.changes.length > 0) this.oplog.append(at, transaction.changes);
  }

  abort(transaction: Transaction): void {
    if (transaction.state === "open") this.#end(transaction, "aborted");
  }

  /** Keeps what is there now for reads at this time: as `minSnapshotHistoryWindowInSeconds`. */
  keepHistory(): number {
    this.#history.add(this.#now);
    const [oldest] = this.#history;
    if (this.#history.size > MAX_HISTORY && oldest !== undefined) this.#history.delete(oldest);
    return this.#now;
  }

  /** A change of collections or indexes. */
  define(entry: Doc, collection: Collection | null): void {
    const at = this.tick();
    if (collection !== null) collection.changedAt = at;
    this.#journal?.write({ at, changes: [], note: null, define: entry });
  }

  get openTransactions(): Iterable<Transaction> {
    return this.#open;
  }

  #end(transaction: Transaction, state: "committed" | "aborted"): void {
    this.#open.delete(transaction);
    for (const [collection, rows] of transaction.pending) {
      for (const row of rows.keys()) {
        row.holder = null;
        if (state === "aborted") collection.forget(row, 0);
      }
    }
    for (const claim of transaction.claims) this.claims.delete(claim);
    transaction.end(state);
    this.#forget();
  }

  #forget(): void {
    let oldest = this.#now;
    for (const { snapshot } of this.#open) oldest = Math.min(oldest, snapshot);
    for (const at of this.#history) oldest = Math.min(oldest, at);
    if (oldest < this.#now && this.#stale.length < this.#manyStale) return;
    for (const { collection, row } of this.#stale.splice(0)) {
      collection.forget(row, oldest);
      if (row.versions.length > 1 || row.newest?.doc === null) this.#stale.push({ collection, row });
    }
    this.#manyStale = Math.max(MANY_STALE, 2 * this.#stale.length);
  }
}

/** So many rows wait until nobody sees old versions; beyond, they are looked at each time that they have doubled. */
const MANY_STALE = 10_000;
/** Times that snapshot reads may still ask for. */
const MAX_HISTORY = 100;
