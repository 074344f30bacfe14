/** The Redis server of a run: a private one, or one that is there. What is made in it for a measurement is removed again. */
import { type RedisServer, startRedis } from "@rheo/testing/servers";
import { Redis } from "ioredis";
import type { Scratch } from "./scratch.ts";

/** What a durable queue needs, and no more. */
export const SETTINGS = { appendonly: "yes", appendfsync: "everysec" };
/** Keys that one SCAN looks at, and one UNLINK removes at most. */
const PAGE = 1_000;

export class RedisHost {
  readonly version: string;
  /** What decides how durable, and how long, a write is. */
  readonly settings: string;
  readonly #url: string;
  readonly #admin: Redis;
  readonly #server: RedisServer | null;
  readonly #undropped = new Set<() => Promise<void>>();
  #made = 0;
  #stopping: Promise<void> | null = null;

  /** `url`: a server that is there. Null: a private one. */
  static async start(url: string | null): Promise<RedisHost> {
    if (url !== null) return RedisHost.#at(url, null);
    const server = await startRedis({ settings: SETTINGS });
    try {
      return await RedisHost.#at(server.url, server);
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  static async #at(url: string, server: RedisServer | null): Promise<RedisHost> {
    const admin = new Redis(url, { retryStrategy: null, maxRetriesPerRequest: 0 });
    admin.on("error", () => undefined); // the next command says that the connection is gone
    return new RedisHost(url, server, admin, await admin.info(), await fsyncOf(admin));
  }

  private constructor(url: string, server: RedisServer | null, admin: Redis, info: string, fsync: string) {
    this.#url = url;
    this.#server = server;
    this.#admin = admin;
    const fact = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(info)?.[1];
    const valkey = fact("valkey_version");
    this.version = valkey === undefined ? (fact("redis_version") ?? "unknown") : `valkey ${valkey}`;
    this.settings = `appendonly=${fact("aof_enabled") === "1" ? "yes" : "no"}, appendfsync=${fsync}`;
  }

  /** Keys that begin with a prefix of their own. */
  scratch(): Scratch {
    const name = `rheo_bench_${process.pid}_${++this.#made}`;
    const drop = async (): Promise<void> => {
      this.#undropped.delete(drop);
      await this.#remove(`${name}:*`);
    };
    this.#undropped.add(drop);
    return { url: this.#url, name, drop };
  }

  /** Removes what was made, and stops the server if it is private. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #remove(pattern: string): Promise<void> {
    for (let cursor = "0"; ; ) {
      const [next, keys] = await this.#admin.scan(cursor, "MATCH", pattern, "COUNT", PAGE);
      if (keys.length > 0) await this.#admin.unlink(...keys);
      if (next === "0") return;
      cursor = next;
    }
  }

  async #stop(): Promise<void> {
    if (this.#server === null) for (const drop of [...this.#undropped]) await drop();
    this.#admin.disconnect();
    await this.#server?.stop();
  }
}

/** Many providers forbid CONFIG. */
const fsyncOf = async (admin: Redis): Promise<string> => {
  const answer: unknown = await admin.config("GET", "appendfsync").catch(() => null);
  return Array.isArray(answer) ? String(answer[1]) : "unknown";
};
