/** Hears of other processes by a change stream: of appends, and of groups that are made, changed or re-opened. */
import { BACKOFF_JITTER, backoffMs, spread, systemClock } from "@rheo/core/internal";
import type { ChangeStream, Db, Document } from "mongodb";
import type { Collections } from "./database.ts";
import { isNetwork } from "./errors.ts";
import { pause } from "./transaction.ts";

/** How long the server keeps a question open, in ms: until then nothing crosses the network. */
const AWAIT_MS = 1_000;
/** A stream that lasted this long was a good one, in ms: the next failure is the first again. */
const GOOD_MS = 30_000;
/** Answers of servers, or of their administrators, that will not change: not a replica set, not allowed, not known. */
const REFUSALS: ReadonlySet<unknown> = new Set([13, 59, 40_573]);

export class Listener {
  readonly #db: Db;
  readonly #pipeline: Document[];
  readonly #tell: (id: string | null) => void;
  readonly #random: () => number;
  #stream: ChangeStream | null = null;
  #isStopped = false;
  #hears = false;

  /** `tell` is given the `_id` of the partition or group that changed; null: anything may have. */
  constructor(db: Db, { partitions, groups }: Collections, tell: (id: string | null) => void, random: () => number) {
    const names = [partitions.collectionName, groups.collectionName];
    this.#db = db;
    this.#pipeline = [{ $match: { "ns.coll": { $in: names } } }, { $project: { documentKey: 1 } }];
    this.#tell = tell;
    this.#random = random;
  }

  /** Whether it listens, as far as is known. */
  get hears(): boolean {
    return this.#hears;
  }

  /** Listens until it is stopped, or until a server refuses for good; then polling has to do. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#isStopped; ) {
      const sinceMs = systemClock.monotonic();
      try {
        await this.#listen();
      } catch (error) {
        if (this.#isStopped || isRefusal(error)) return;
        failures = systemClock.monotonic() - sinceMs > GOOD_MS ? 1 : failures + 1;
        await pause(spread(backoffMs(failures), BACKOFF_JITTER, this.#random()), { keepAlive: false });
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#stream?.close();
  }

  async #listen(): Promise<void> {
    const stream = this.#db.watch(this.#pipeline, { maxAwaitTimeMS: AWAIT_MS });
    this.#stream = stream;
    try {
      // from here on nothing is missed, but what came before may have been
      const early = await stream.tryNext();
      this.#hears = true;
      this.#tell(null);
      if (early !== null) this.#hear(early);
      while (!this.#isStopped) this.#hear(await stream.next());
    } finally {
      this.#hears = false;
      this.#tell(null);
      await stream.close();
    }
  }

  #hear(change: Document): void {
    const id: unknown = change.documentKey?._id;
    this.#tell(typeof id === "string" ? id : null);
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof Error && !isNetwork(error) && "code" in error && REFUSALS.has(error.code);
