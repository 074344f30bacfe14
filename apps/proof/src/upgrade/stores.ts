/** The stores of which fixtures are kept: how one of them is written to a file, and made from one. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Backend } from "@rheo/core";
import { lmdb } from "@rheo/lmdb";
import { mongo } from "@rheo/mongo";
import { migrationScript, postgres } from "@rheo/postgres";
import { redis } from "@rheo/redis";
import { sqlite } from "@rheo/sqlite";
import { Redis } from "ioredis";
import { BSON, type Db, type Document, MongoClient } from "mongodb";
import pg from "pg";

export interface FixtureStore {
  readonly name: string;
  /** A handle on what is at `place`: a folder, or the URL of a private server. */
  open(place: string): Backend;
  /** What is there, whole. */
  save(place: string): Promise<Buffer>;
  /** Makes it anew. */
  restore(place: string, content: Buffer): Promise<void>;
}

const SCHEMA = "rheo";
const PREFIX = "rheo";

const sqliteStore: FixtureStore = {
  name: "sqlite",
  open: (folder) => sqlite({ file: join(folder, "events.db") }),
  save: (folder) => Promise.resolve(readFileSync(join(folder, "events.db"))),
  restore: (folder, content) => Promise.resolve(writeFileSync(join(folder, "events.db"), content)),
};

/** The script that made the schema, and the rows of its tables. */
interface PostgresDump {
  readonly script: string;
  readonly tables: Readonly<Record<string, readonly string[]>>;
  /** Last values; null: never asked. */
  readonly sequences: Readonly<Record<string, string | null>>;
}

const postgresStore: FixtureStore = {
  name: "postgres",
  open: (url) => postgres({ url, schema: SCHEMA }),
  save: (url) =>
    withPostgres(url, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 ORDER BY 1",
        [SCHEMA],
      );
      const tables: Record<string, string[]> = {};
      for (const { name } of rows) {
        const found = await client.query<{ row: string }>(`SELECT t::text AS row FROM ${quoted(name)} t`);
        tables[name] = found.rows.map(({ row }) => row);
      }
      const found = await client.query<{ name: string; last: string | null }>(
        "SELECT sequencename AS name, last_value AS last FROM pg_sequences WHERE schemaname = $1 ORDER BY 1",
        [SCHEMA],
      );
      const sequences = Object.fromEntries(found.rows.map(({ name, last }) => [name, last]));
      const dump: PostgresDump = { sequences, script: migrationScript({ schema: SCHEMA }), tables };
      return Buffer.from(JSON.stringify(dump));
    }),
  restore: (url, content) =>
    withPostgres(url, async (client) => {
      const { script, tables, sequences } = JSON.parse(content.toString()) as PostgresDump; // as save() wrote it
      await client.query(script);
      await client.query("SET session_replication_role = replica"); // rows come in any order
      for (const [name, rows] of Object.entries(tables)) {
        await client.query(`DELETE FROM ${quoted(name)}`);
        await client.query(
          `INSERT INTO ${quoted(name)} OVERRIDING SYSTEM VALUE SELECT (row::${quoted(name)}).* FROM unnest($1::text[]) row`,
          [rows],
        );
      }
      for (const [name, last] of Object.entries(sequences))
        if (last !== null) await client.query("SELECT setval($1::regclass, $2)", [quoted(name), last]);
    }),
};

const quoted = (table: string): string => `${pg.escapeIdentifier(SCHEMA)}.${pg.escapeIdentifier(table)}`;

const withPostgres = async <Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

const redisStore: FixtureStore = {
  name: "redis",
  open: (url) => redis({ url, prefix: PREFIX }),
  save: (url) =>
    withRedis(url, async (client) => {
      const dumped: Record<string, string> = {};
      for (const key of (await client.keys(`${PREFIX}:*`)).sort())
        dumped[key] = ((await client.dumpBuffer(key)) ?? Buffer.alloc(0)).toString("base64");
      return Buffer.from(JSON.stringify(dumped));
    }),
  restore: (url, content) =>
    withRedis(url, async (client) => {
      const dumped = JSON.parse(content.toString()) as Record<string, string>; // as save() wrote it
      for (const [key, value] of Object.entries(dumped)) await client.restore(key, 0, Buffer.from(value, "base64"));
    }),
};

const withRedis = async <Result>(url: string, work: (client: Redis) => Promise<Result>): Promise<Result> => {
  const client = new Redis(url);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
};

const LMDB_FILE = "data.mdb";

const lmdbStore: FixtureStore = {
  name: "lmdb",
  open: (folder) => lmdb({ path: join(folder, "events") }),
  save: (folder) => Promise.resolve(readFileSync(join(folder, "events", LMDB_FILE))),
  restore: (folder, content) => {
    mkdirSync(join(folder, "events"));
    return Promise.resolve(writeFileSync(join(folder, "events", LMDB_FILE), content));
  },
};

const mongoStore: FixtureStore = {
  name: "mongo",
  open: (url) => mongo({ url, database: DATABASE }),
  save: (url) =>
    withMongo(url, async (db) => {
      const dumped: Record<string, unknown[]> = {};
      for (const { collectionName } of (await db.collections()).sort((a, b) => (a.collectionName < b.collectionName ? -1 : 1)))
        dumped[collectionName] = await db
          .collection(collectionName)
          .find({}, { sort: { _id: 1 } })
          .toArray();
      return Buffer.from(BSON.EJSON.stringify(dumped, { relaxed: false }));
    }),
  restore: (url, content) =>
    withMongo(url, async (db) => {
      const backend = mongo({ url, database: DATABASE });
      await backend.open({ clock: null, migrate: true }); // its indexes
      await backend.close();
      const dumped = BSON.EJSON.parse(content.toString(), { relaxed: false }) as Record<string, Document[]>; // as save() wrote it
      for (const [name, documents] of Object.entries(dumped)) {
        await db.collection(name).deleteMany({});
        if (documents.length > 0) await db.collection(name).insertMany(documents);
      }
    }),
};

const DATABASE = "fixture";

const withMongo = async <Result>(url: string, work: (db: Db) => Promise<Result>): Promise<Result> => {
  const client = await new MongoClient(url).connect();
  try {
    return await work(client.db(DATABASE));
  } finally {
    await client.close();
  }
};

export const fixtureStores: readonly FixtureStore[] = [sqliteStore, lmdbStore, postgresStore, redisStore, mongoStore];
