/** The LMDB environment: one tree with binary keys, every value checked on reading. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { limitsOfThisProcess, type MapPlan, planMap } from "./address-space.ts";
import { CONTENT_AT, endOf, isSealed, newValue, seal } from "./bytes.ts";
import { damaged, refused } from "./errors.ts";

/** One entry of a walk. The value is valid until the next call on the environment. */
export interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface Walk {
  /** Inclusive. */
  readonly start: Buffer;
  /** Exclusive. */
  readonly end: Buffer;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** What lmdb-js says of an environment. */
export interface Stats {
  readonly pageSize: number;
  readonly mapSize: number;
  readonly lastPageNumber: number;
  readonly lastTxnId: number;
  readonly maxReaders: number;
  readonly numReaders: number;
  readonly entryCount: number;
  readonly free: { readonly entryCount: number };
}

/** One transaction adds less than this, in bytes: an append of 16 MiB, its copies on the way up the tree, and as much again. */
const TRANSACTION_BYTES = 67_108_864;

/** Readers are this process's own: the snapshot of the moment, a safe point, a backup. */
const MAX_READERS = 16;

/** Values are handed over as they lie in the buffer that lmdb-js reuses: each is decoded before the next call. */
const AS_BYTES = { encode: (value: Buffer): Buffer => value, decode: (value: Buffer): Buffer => value } as const;

/**
 * What a commit waits for. "all": it is on the disk. "data": a power cut undoes the last commit, or several. "never": somebody else sees to
 * it that a power cut leaves anything to go on from.
 */
export type Flushes = "all" | "data" | "never";

export class Environment {
  readonly path: string;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #map: MapPlan = planMap(limitsOfThisProcess());
  #changed = false;

  /** @throws unavailable - the file is larger than what may be mapped */
  constructor(path: string, flushes: Flushes) {
    this.path = path;
    const { size = 0 } = statSync(join(path, "data.mdb"), { throwIfNoEntry: false }) ?? {};
    if (this.#map.isLimit && size > this.#map.bytes) throw this.#full();
    const options = {
      path,
      noSubdir: false,
      keyEncoding: "binary" as const,
      encoder: AS_BYTES,
      overlappingSync: false,
      noSync: flushes === "never",
      noMetaSync: flushes === "data",
      mapSize: this.#map.bytes,
      maxReaders: MAX_READERS,
      cache: false,
      useVersions: false,
    };
    this.#root = open<Buffer, Buffer>(options);
  }

  /** Whether anything was written, or remembered to be, since the flag was last lowered. */
  get hasChanged(): boolean {
    return this.#changed;
  }

  set hasChanged(changed: boolean) {
    this.#changed = changed;
  }

  /** Runs in a write transaction: rolled back when `work` or the commit throws. */
  transaction<Result>(work: () => Result): Result {
    if (this.#map.isLimit) this.#refuseFull();
    return this.#root.transactionSync(work);
  }

  /** The value, checked. @throws unavailable - it is damaged */
  get(key: Buffer): Buffer | null {
    const value = this.#root.get(key);
    if (value === undefined) return null;
    if (!isSealed(key, value)) throw damaged(this.path, key);
    return value;
  }

  /** The content of a text value, or null. */
  text(key: Buffer): string | null {
    const value = this.get(key);
    return value === null ? null : textOf(value);
  }

  /** `value` comes from {@link newValue}, filled in. */
  put(key: Buffer, value: Buffer): void {
    this.#changed = true;
    void this.#root.put(key, seal(key, value));
  }

  putText(key: Buffer, text: string): void {
    this.put(key, textValue(text));
  }

  /** False when the key is there already: nothing is written then. */
  putNew(key: Buffer, value: Buffer): boolean {
    this.#changed = true;
    return this.#root.putSync(key, seal(key, value), { noOverwrite: true }) as unknown as boolean; // declared void, but it says whether
  }

  remove(key: Buffer): void {
    this.#changed = true;
    this.#root.removeSync(key);
  }

  /** Removes everything that begins with `prefix`. */
  removeAll(prefix: Buffer): void {
    while (this.removeSome(prefix, REMOVED_AT_ONCE) === REMOVED_AT_ONCE);
  }

  /** Removes at most `limit` of it; how many. */
  removeSome(prefix: Buffer, limit: number): number {
    const keys = [...this.keys({ start: prefix, end: endOf(prefix), limit })];
    for (const key of keys) this.remove(key);
    return keys.length;
  }

  /** Entries in order, each checked. @throws unavailable - one is damaged */
  *entries(walk: Walk): Generator<Entry> {
    for (const { key, value } of this.#root.getRange(walk)) {
      if (!isSealed(key, value)) throw damaged(this.path, key);
      yield { key, value };
    }
  }

  /** The first entry of a walk; null when there is none. */
  first(walk: Walk): Entry | null {
    for (const entry of this.entries({ ...walk, limit: 1 })) return entry;
    return null;
  }

  keys(walk: Walk): Iterable<Buffer> {
    return this.#root.getKeys(walk);
  }

  stats(): Stats {
    return this.#root.getStats() as Stats; // declared {}
  }

  /** Whether a limit on address space keeps the map from growing. */
  get isLimited(): boolean {
    return this.#map.isLimit;
  }

  get pageSize(): number {
    return this.stats().pageSize;
  }

  /** The number of the last transaction that wrote anything. */
  get lastTransaction(): number {
    return this.stats().lastTxnId;
  }

  readers(): string {
    return this.#root.readerList();
  }

  /** Keeps the pages of the snapshot of this moment from being written over. Returns how to let go. */
  pin(): () => void {
    this.#root.resetReadTxn();
    const transaction = this.#root.useReadTransaction();
    return () => transaction.done();
  }

  /** Has everything that was committed written to the disk, on another thread. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      const sync: unknown = Reflect.get(this.#root, "sync");
      if (typeof sync !== "function") throw new TypeError("this lmdb cannot flush");
      sync.call(this.#root, (error: unknown) => (error ? reject(asError(error)) : resolve()));
    });
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  #refuseFull(): void {
    const { lastPageNumber, pageSize } = this.stats();
    if ((lastPageNumber + 1) * pageSize + TRANSACTION_BYTES > this.#map.bytes) throw this.#full();
  }

  #full(): Error {
    return refused(
      this.path,
      `the map of its file cannot grow: it may have ${this.#map.bytes} bytes, under this process's limit on address space. Raise that (ulimit -v), or trim streams in a process without it. Nothing was written.`,
    );
  }
}

/** Keys collected before they are removed: a walk must not be changed under its feet. */
const REMOVED_AT_ONCE = 1_000;

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** A value that is text. */
const textValue = (text: string): Buffer => {
  const value = newValue(Buffer.byteLength(text));
  value.write(text, CONTENT_AT, "utf8");
  return value;
};

export const textOf = (value: Buffer): string => value.toString("utf8", CONTENT_AT, value.length);
