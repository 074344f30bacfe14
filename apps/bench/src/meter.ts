/** What a store did meanwhile, as it says itself. */
import { stat } from "node:fs/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { openBare } from "./questions/limits/open-sqlite.ts";
import type { Place, ServerPlace } from "./systems.ts";

interface Reading {
  /** Statements or commands; null where the store does not tell. */
  readonly calls: number | null;
  /** Bytes that went to its log; null where it does not tell. */
  readonly logged: number | null;
  /** Bytes that it holds. */
  readonly stored: number | null;
  /** Connections to it, without ours. Not a difference. */
  readonly connections: number | null;
}

/** Measures from `start` to `stop`. Its own calls are not counted. */
export class Meter {
  readonly #source: Source;
  readonly #before: Reading;

  static async start(place: Place): Promise<Meter> {
    const source = await sourceOf(place);
    return new Meter(source, await source.read());
  }

  private constructor(source: Source, before: Reading) {
    this.#source = source;
    this.#before = before;
  }

  /** Since the start, as differences but for the connections. */
  async stop(): Promise<Reading> {
    const after = await this.#source.read();
    await this.#source.close();
    const since = (name: "calls" | "logged" | "stored"): number | null => {
      const [first, last] = [this.#before[name], after[name]];
      return first === null || last === null ? null : Math.max(0, last - first);
    };
    return { calls: since("calls"), logged: since("logged"), stored: since("stored"), connections: after.connections };
  }
}

interface Source {
  read(): Promise<Reading>;
  close(): Promise<void>;
}

const UNKNOWN: Reading = { calls: null, logged: null, stored: null, connections: null };

const sourceOf = async (place: Place): Promise<Source> => {
  switch (place.kind) {
    case "memory":
      return { read: async () => UNKNOWN, close: async () => undefined };
    case "file":
      return { read: () => readFileOf(place.file, place.synchronous), close: async () => undefined };
    case "owner":
      return {
        read: async () => ({ ...UNKNOWN, stored: await sizeOf([place.path, `${place.path}/data.mdb`]) }),
        close: async () => undefined,
      };
    case "server":
      return ofServer(place);
    default:
      return place satisfies never;
  }
};

/** With its log written into it first, whose size says nothing. */
const readFileOf = async (file: string, synchronous: string): Promise<Reading> => {
  const database = openBare(file, synchronous);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return { ...UNKNOWN, stored: await sizeOf([file]) };
};

const sizeOf = async (paths: readonly string[]): Promise<number> => {
  const sizes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ blocks }) => blocks * BLOCK,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};

/** Of `blocks` in what `stat` says. */
const BLOCK = 512;

const ofServer = async (place: ServerPlace): Promise<Source> => {
  if (place.store === "postgres") return ofPostgres(place);
  if (place.store === "redis") return ofRedis(place);
  return { read: async () => UNKNOWN, close: async () => undefined };
};

/** The meter's own connection, and that of the host. */
const OWN_CLIENTS = 2;

/** Transactions stand for calls: what is not within one is one by itself. */
const POSTGRES = `
SELECT (SELECT sum(xact_commit) FROM pg_stat_database WHERE datname = current_database())::float8 AS calls,
  pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS logged,
  (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind = 'r')::float8 AS stored,
  (SELECT count(*) - ${OWN_CLIENTS} FROM pg_stat_activity WHERE backend_type = 'client backend')::float8 AS connections`;

const ofPostgres = async ({ url, name }: ServerPlace): Promise<Source> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    read: async () => {
      const { rows } = await client.query<Reading>(POSTGRES, [name]);
      return rows[0] ?? UNKNOWN;
    },
    close: () => client.end(),
  };
};

const ofRedis = async ({ url }: ServerPlace): Promise<Source> => {
  const client = new Redis(url);
  await client.ping();
  let own = 0;
  return {
    read: async () => {
      const info = await client.info();
      own += 1;
      const fact = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? Number.NaN);
      return {
        calls: fact("total_commands_processed") - own,
        logged: fact("aof_current_size"),
        stored: fact("used_memory"),
        connections: fact("connected_clients") - OWN_CLIENTS,
      };
    },
    close: async () => client.disconnect(),
  };
};
