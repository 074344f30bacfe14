/** The servers of a run. */
import { MongoHost } from "./mongo-host.ts";
import { PostgresHost } from "./postgres-host.ts";
import { RedisHost } from "./redis-host.ts";
import type { Scratch } from "./scratch.ts";

export type ServerStore = "postgres" | "redis" | "mongo";
/** A server that is there, or null for a private one. */
export type ServerUrls = Readonly<Record<ServerStore, string | null>>;

export class Hosts {
  readonly #starting: {
    readonly postgres?: Promise<PostgresHost>;
    readonly redis?: Promise<RedisHost>;
    readonly mongo?: Promise<MongoHost>;
  };

  /** Starts those that are asked for. */
  constructor(stores: readonly string[], urls: ServerUrls) {
    this.#starting = {
      ...(stores.includes("postgres") ? { postgres: PostgresHost.start(urls.postgres) } : {}),
      ...(stores.includes("redis") ? { redis: RedisHost.start(urls.redis) } : {}),
      ...(stores.includes("mongo") ? { mongo: MongoHost.start(urls.mongo) } : {}),
    };
  }

  postgres(): Promise<PostgresHost> {
    return this.#starting.postgres ?? missing("postgres");
  }

  redis(): Promise<RedisHost> {
    return this.#starting.redis ?? missing("redis");
  }

  mongo(): Promise<MongoHost> {
    return this.#starting.mongo ?? missing("mongo");
  }

  /** A place of its own for a measurement. */
  async scratch(store: ServerStore): Promise<Scratch> {
    if (store === "postgres") return (await this.postgres()).database();
    return (store === "redis" ? await this.redis() : await this.mongo()).scratch();
  }

  async versions(): Promise<Readonly<Record<string, string>>> {
    const found = Object.entries(this.#starting).map(async ([name, host]) => [name, (await host).version] as const);
    return Object.fromEntries(await Promise.all(found));
  }

  /** Removes what was made, and stops private servers. Idempotent. */
  async stop(): Promise<void> {
    const hosts = await Promise.allSettled(Object.values(this.#starting));
    for (const host of hosts) if (host.status === "fulfilled") await host.value.stop();
  }
}

const missing = (store: ServerStore): Promise<never> => Promise.reject(new RangeError(`${store} is not measured`));
