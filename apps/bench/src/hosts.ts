/** The servers of a run. */
import { MongoHost } from "./mongo-host.ts";
import { NatsHost } from "./nats-host.ts";
import { PostgresHost } from "./postgres-host.ts";
import { RedisHost } from "./redis-host.ts";
import type { Scratch } from "./scratch.ts";

export type ServerStore = "postgres" | "redis" | "mongo";
/** On which somebody works that is measured: a store, or a server of a peer's own. */
export type HostName = ServerStore | "nats";
/** A server that is there, or null for a private one. */
export type ServerUrls = Readonly<Record<HostName, string | null>>;

export class Hosts {
  readonly #starting: {
    readonly postgres?: Promise<PostgresHost>;
    readonly redis?: Promise<RedisHost>;
    readonly mongo?: Promise<MongoHost>;
    readonly nats?: Promise<NatsHost>;
  };

  /** Starts those that are asked for. */
  constructor(names: readonly string[], urls: ServerUrls) {
    this.#starting = {
      ...(names.includes("postgres") ? { postgres: PostgresHost.start(urls.postgres) } : {}),
      ...(names.includes("redis") ? { redis: RedisHost.start(urls.redis) } : {}),
      ...(names.includes("mongo") ? { mongo: MongoHost.start(urls.mongo) } : {}),
      ...(names.includes("nats") ? { nats: NatsHost.start(urls.nats) } : {}),
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
  async scratch(name: HostName): Promise<Scratch> {
    switch (name) {
      case "postgres":
        return (await this.postgres()).database();
      case "redis":
        return (await this.redis()).scratch();
      case "mongo":
        return (await this.mongo()).scratch();
      case "nats":
        return (await (this.#starting.nats ?? missing("nats"))).scratch();
      default:
        return name satisfies never;
    }
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

const missing = (name: HostName): Promise<never> => Promise.reject(new RangeError(`${name} is not measured`));
