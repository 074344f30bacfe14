/** Stores for the contract, a new one for each case. Transactions of the caller's own (T8) are not among what is asked here. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memory } from "@rheo/memory";
import { postgres } from "@rheo/postgres";
import { redis } from "@rheo/redis";
import { type BetterSqlite3Constructor, sqlite } from "@rheo/sqlite";
import type { StoreUnderTest } from "@rheo/testing";
import pg from "pg";
import type { StoreName } from "./mutant.ts";

/** @param url - of the server, where the store has one */
export const storeNamed = (name: StoreName, url: string): { readonly name: string; open(): StoreUnderTest } => {
  switch (name) {
    case "memory":
      return { name, open: memoryStore };
    case "sqlite":
      return { name, open: sqliteStore };
    case "postgres":
      return { name, open: () => postgresStore(url) };
    case "redis":
      return { name, open: () => redisStore(url) };
    default:
      return name satisfies never;
  }
};

const memoryStore = (): StoreUnderTest => {
  const backend = memory();
  return { backend, again: () => backend };
};

/** Memory where the system has a file system in it. */
const TEMPORARY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

const sqliteStore = (): StoreUnderTest => {
  const directory = mkdtempSync(join(TEMPORARY, "rheo-mutants-"));
  const driver = createRequire(import.meta.url)("libsql") as BetterSqlite3Constructor; // it has no types of its own; the same calls
  const open = (): ReturnType<typeof sqlite> => sqlite({ file: join(directory, "store.db"), synchronous: "normal", driver });
  return { backend: open(), again: open, dispose: () => rmSync(directory, { recursive: true, force: true }) };
};

let made = 0;

const redisStore = (url: string): StoreUnderTest => {
  const prefix = `m${process.pid}-${++made}`;
  const open = (): ReturnType<typeof redis> => redis({ url, prefix });
  return { backend: open(), again: open };
};

/** Schemas that were used and emptied: making one anew takes longer than a case. */
const idle: string[] = [];
const TABLES = [
  "streams",
  "partitions",
  "events",
  "groups",
  "progress",
  "cursors",
  "leases",
  "settlements",
  "exceptions",
  "dead_letters",
  "revocations",
  "members",
];

const postgresStore = (url: string): StoreUnderTest => {
  const schema = idle.pop() ?? `m${process.pid}-${++made}`;
  const open = (): ReturnType<typeof postgres> => postgres({ url, schema, maxConnections: 4 });
  return { backend: open(), again: open, dispose: () => empty(url, schema) };
};

const empty = async (url: string, schema: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query("SELECT to_regclass($1) AS found", [`"${schema}".meta`]);
    if (rows[0]?.found === null) return;
    const tables = TABLES.map((table) => `"${schema}".${table}`).join(", ");
    await client.query(`TRUNCATE ${tables}; DELETE FROM "${schema}".meta WHERE name = 'token_floor'`);
  } finally {
    await client.end();
  }
  idle.push(schema);
};
