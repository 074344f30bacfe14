/** The MongoDB of a run: a replica set that is there, or a double of the wire protocol, whose speed is its own and not MongoDB's. */
import { type MongoServer, startMongo } from "@rheo/testing/servers";
import { MongoClient } from "mongodb";
import type { Scratch } from "./scratch.ts";

export class MongoHost {
  readonly version: string;
  readonly settings: string;
  readonly #url: string;
  readonly #client: MongoClient;
  readonly #server: MongoServer | null;
  #made = 0;

  /** `url`: a replica set that is there. Null: a private double. */
  static async start(url: string | null): Promise<MongoHost> {
    const server = url === null ? await startMongo() : null;
    const at = url ?? server?.url ?? "";
    const client = await new MongoClient(at).connect();
    const { version, rheoDouble } = await client.db("admin").command({ buildInfo: 1 });
    return new MongoHost(at, client, server, String(version), rheoDouble === true);
  }

  private constructor(url: string, client: MongoClient, server: MongoServer | null, version: string, isDouble: boolean) {
    this.#url = url;
    this.#client = client;
    this.#server = server;
    this.version = isDouble ? "a double of its wire protocol" : version;
    this.settings = isDouble ? "a double: not MongoDB's speed" : "w: majority, j: true";
  }

  /** A database of its own. */
  scratch(): Scratch {
    const name = `rheo_bench_${process.pid}_${++this.#made}`;
    return { url: this.#url, name, drop: async () => void (await this.#client.db(name).dropDatabase()) };
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#client.close();
    await this.#server?.stop();
  }
}
