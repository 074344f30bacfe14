/** An open store: its database and its time, and what each operation is given of them. */
import type { BackendContext, Clock } from "@rheo/core";
import type { ClientSession, Collection, Document, MongoClient } from "mongodb";
import type { Collections, Within } from "./database.ts";
import { Database } from "./database.ts";
import { unavailable } from "./errors.ts";
import { Lanes } from "./lanes.ts";
import { Memory } from "./memory.ts";
import type { ResolvedOptions } from "./options.ts";
import { prepare } from "./schema.ts";
import { Patience, transact } from "./transaction.ts";

/** What an operation reads and writes with. */
export interface Unit {
  readonly collections: Collections;
  readonly within: Within;
  readonly store: Store;
}

export class Store {
  readonly database: Database;
  readonly memory: Memory = new Memory();
  /** Operations of this process that would only be in each other's way take turns. */
  readonly lanes: Lanes = new Lanes();
  readonly random: () => number;
  readonly #options: ResolvedOptions;
  readonly #clock: Clock | null;
  #storeId = "";

  private constructor(options: ResolvedOptions, clock: Clock | null, random: () => number) {
    this.#options = options;
    this.#clock = clock;
    this.random = random;
    this.database = new Database(options);
  }

  /** @throws unavailable, schema_outdated */
  static async open(options: ResolvedOptions, context: BackendContext, random: () => number): Promise<Store> {
    const store = new Store(options, context.clock, random);
    try {
      store.#storeId = await prepare(store.database, context.migrate);
    } catch (error) {
      await store.close();
      throw unavailable(error);
    }
    return store;
  }

  async migrate(): Promise<void> {
    await prepare(this.database, true).catch(refuse);
  }

  /** Tells this store from others. */
  get storeId(): string {
    return this.#storeId;
  }

  get options(): ResolvedOptions {
    return this.#options;
  }

  async close(): Promise<void> {
    await this.database.close();
  }

  /** Without a transaction. */
  get plain(): Unit {
    return { collections: this.database.collections, within: {}, store: this };
  }

  patience(): Patience {
    return new Patience(this.#options.conflictTimeoutMs, this.random);
  }

  /** Reads outside any transaction. @throws unavailable */
  async read<Result>(work: (unit: Unit) => Promise<Result>): Promise<Result> {
    return await work(this.plain).catch(refuse);
  }

  /** Reads and writes in one transaction of its own, or in one snapshot where nothing is written. @throws unavailable, outcome_unknown */
  async write<Result>(work: (unit: Unit) => Promise<Result>): Promise<Result> {
    return await transact(this.database, this.patience(), (session) => work(this.unitOf(session))).catch(refuse);
  }

  /** `client`: that of the session. */
  unitOf(session: ClientSession, client: MongoClient = this.database.client): Unit {
    return { collections: this.database.through(client), within: { session }, store: this };
  }

  /** Documents with the time of the store, which is the server's unless a clock was given (F6). No document: the time is null. */
  async readWithTime<Kept extends Document>(
    collection: Collection<Kept>,
    within: Within,
    filter: Document,
  ): Promise<{ readonly documents: readonly Kept[]; readonly nowMs: number | null }> {
    const pipeline = [{ $match: filter }, { $set: { serverTime: "$$NOW" } }];
    const documents = await collection.aggregate<Kept & { serverTime: Date }>(pipeline, within).toArray();
    const [first] = documents;
    return { documents, nowMs: first === undefined ? null : this.timeOf(first.serverTime) };
  }

  /** The time of the store. */
  async now(within: Within): Promise<number> {
    const { nowMs } = await this.readWithTime(this.database.collections.meta, within, { _id: "schema" });
    if (nowMs === null) throw new TypeError("the store has lost its schema document");
    return nowMs;
  }

  timeOf(serverTime: Date): number {
    return Math.floor(this.#clock?.now() ?? serverTime.getTime());
  }
}

/** What is not an error of ours by now was one of reading, or came before the commit. */
export const refuse = (error: unknown): never => {
  throw unavailable(error);
};
