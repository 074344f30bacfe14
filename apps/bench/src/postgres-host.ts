/** The PostgreSQL server of a run: a private one, or one that is there. What is made in it for a measurement is dropped again. */
import { type PostgresServer, startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import type { Scratch } from "./scratch.ts";

/** A schema that is there for one measurement, once whoever uses it has made it. */
export interface ScratchSchema {
  readonly url: string;
  readonly schema: string;
  readonly drop: () => Promise<void>;
}

export class PostgresHost {
  readonly version: string;
  /** What decides how long a commit takes. */
  readonly settings: string;
  readonly #url: string;
  readonly #admin: pg.Client;
  readonly #server: PostgresServer | null;
  readonly #undropped = new Set<() => Promise<void>>();
  #made = 0;
  #stopping: Promise<void> | null = null;

  /** `url`: a server that is there, for a user who may make schemas and databases. Null: a private one with the settings that PostgreSQL comes with. */
  static async start(url: string | null): Promise<PostgresHost> {
    if (url !== null) return PostgresHost.#at(url, null);
    const server = await startPostgres();
    try {
      return await PostgresHost.#at(server.url, server);
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  static async #at(url: string, server: PostgresServer | null): Promise<PostgresHost> {
    const admin = await connect(url);
    const { rows } = await admin.query<Facts>(FACTS);
    return new PostgresHost(url, server, admin, rows[0]);
  }

  private constructor(url: string, server: PostgresServer | null, admin: pg.Client, facts: Facts | undefined) {
    this.#url = url;
    this.#server = server;
    this.#admin = admin;
    this.version = facts?.version ?? "unknown";
    this.settings = `synchronous_commit=${facts?.commit}, fsync=${facts?.fsync}`;
  }

  schema(): ScratchSchema {
    const schema = this.#name();
    return { url: this.#url, schema, drop: this.#dropLater(`DROP SCHEMA IF EXISTS ${schema} CASCADE`) };
  }

  async database(): Promise<Scratch> {
    const name = this.#name();
    await this.#admin.query(`CREATE DATABASE ${name}`);
    const url = new URL(this.#url);
    url.pathname = `/${name}`;
    return { url: url.href, name, drop: this.#dropLater(`DROP DATABASE IF EXISTS ${name}`, "WITH (FORCE)") };
  }

  /** Drops what was made, and stops the server if it is private. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Of lower-case letters, digits and `_` only, so that it needs no quotes. */
  #name(): string {
    return `rheo_bench_${process.pid}_${++this.#made}`;
  }

  /** `force` is added where it does not go without: the server itself waits some seconds for connections that are being closed. */
  #dropLater(statement: string, force = ""): () => Promise<void> {
    const drop = async (): Promise<void> => {
      this.#undropped.delete(drop);
      await this.#admin.query(statement).catch(() => this.#admin.query(`${statement} ${force}`));
    };
    this.#undropped.add(drop);
    return drop;
  }

  async #stop(): Promise<void> {
    if (this.#server === null) for (const drop of [...this.#undropped]) await drop();
    await this.#admin.end();
    await this.#server?.stop();
  }
}

interface Facts {
  readonly version: string;
  readonly commit: string;
  readonly fsync: string;
}

const FACTS = `SELECT current_setting('server_version') AS version, current_setting('synchronous_commit') AS commit, current_setting('fsync') AS fsync`;

const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined); // the next query says that the connection is gone
  await client.connect();
  return client;
};

/** What autovacuum does sooner or later, done before a measurement, so that it does not come in the middle of one. */
export const vacuum = async (url: string): Promise<void> => {
  const client = await connect(url);
  await client.query("VACUUM ANALYZE");
  await client.end();
};
