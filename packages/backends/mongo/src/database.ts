/** The client and Rheo's collections in its database. */

import { withoutPasswords } from "@rheo/core/internal";
import { type ClientSession, type Collection, type Db, MongoClient, type TransactionOptions } from "mongodb";
import type {
  EventDocument,
  GroupDocument,
  MetaDocument,
  PartitionDocument,
  ProgressDocument,
  StreamDocument,
} from "./documents.ts";
import { invalid } from "./errors.ts";
import type { ResolvedOptions } from "./options.ts";

const DEFAULT_DATABASE = "rheo";

/** The collections, as one client sees them. */
export interface Collections {
  readonly meta: Collection<MetaDocument>;
  readonly streams: Collection<StreamDocument>;
  readonly partitions: Collection<PartitionDocument>;
  readonly events: Collection<EventDocument>;
  readonly groups: Collection<GroupDocument>;
  readonly progress: Collection<ProgressDocument>;
}

/** The options of a command that runs in the transaction of a session; empty: by itself. */
export interface Within {
  readonly session?: ClientSession;
}

export class Database {
  readonly client: MongoClient;
  readonly db: Db;
  readonly collections: Collections;
  readonly #isOurs: boolean;
  readonly #options: ResolvedOptions;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#isOurs = options.source.kind === "url";
    this.client = options.source.kind === "url" ? connectTo(options.source) : options.source.client;
    this.db = this.client.db(nameOf(options, this.client));
    this.collections = collectionsOf(this.client, this.db.databaseName, options.prefix);
  }

  /** The same collections through another client, for a session of it. */
  through(client: MongoClient): Collections {
    if (client === this.client) return this.collections;
    return collectionsOf(client, this.db.databaseName, this.#options.prefix);
  }

  /** A client of the caller's stays open. */
  async close(): Promise<void> {
    if (this.#isOurs) await this.client.close();
  }
}

/** What is acknowledged is on disk on a majority, and only such is read: else a failover could take it back. */
const DURABLE = { w: "majority", journal: true } as const;
const SAFE = { writeConcern: DURABLE, readConcern: { level: "majority" }, readPreference: "primary" } as const;

/** Of every transaction. */
export const TRANSACTION: TransactionOptions = {
  writeConcern: DURABLE,
  readConcern: { level: "snapshot" },
  readPreference: "primary",
};

const collectionsOf = (client: MongoClient, database: string, prefix: string): Collections => {
  const db = client.db(database);
  const plain = { promoteLongs: true, promoteValues: true, ignoreUndefined: true };
  return {
    meta: db.collection(`${prefix}_meta`, { ...SAFE, ...plain }),
    streams: db.collection(`${prefix}_streams`, { ...SAFE, ...plain }),
    partitions: db.collection(`${prefix}_partitions`, { ...SAFE, ...plain }),
    events: db.collection(`${prefix}_events`, { ...SAFE, ...plain }),
    groups: db.collection(`${prefix}_groups`, { ...SAFE, ...plain }),
    progress: db.collection(`${prefix}_progress`, { ...SAFE, ...plain }),
  };
};

/** That of the url counts where none is named. The driver's own default, "test", is never meant. */
const nameOf = ({ database, source }: ResolvedOptions, client: MongoClient): string => {
  if (database !== null) return database;
  const named = client.options.dbName;
  if (source.kind === "client" && named === "test") return DEFAULT_DATABASE;
  return named === "test" && source.kind === "url" && !/\/test(\?|$)/.test(source.url) ? DEFAULT_DATABASE : named;
};

const connectTo = (source: Extract<ResolvedOptions["source"], { kind: "url" }>): MongoClient => {
  try {
    return new MongoClient(source.url, {
      appName: "rheo",
      retryWrites: true,
      retryReads: true,
      serverSelectionTimeoutMS: source.connectTimeoutMs,
      connectTimeoutMS: source.connectTimeoutMs,
      socketTimeoutMS: source.commandTimeoutMs,
      waitQueueTimeoutMS: source.connectTimeoutMs,
      maxPoolSize: source.maxConnections,
    });
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : String(cause);
    throw invalid("url", `The driver refuses the url ${withoutPasswords(source.url)}: ${withoutPasswords(said)}`);
  }
};
