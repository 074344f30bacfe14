/**
 * Rheo on Redis Streams, Redis 7.0 or newer or Valkey: the log is a native stream for each partition, groups are beside it.
 *
 * ```ts
 * const rheo = await Rheo.open({ backend: redis({ url: "redis://localhost:6379" }) });
 * const shared = await Rheo.open({ backend: redis({ client }) }); // a Redis or Cluster of ioredis of yours
 * ```
 */
import type { Backend } from "@rheo/core";
import { RedisBackend } from "./backend.ts";
import { optionsFromUrl } from "./from-url.ts";
import { type RedisOptions, resolveOptions } from "./options.ts";

export type {
  RedisClientOptions,
  RedisClusterOptions,
  RedisOptions,
  RedisSentinelOptions,
  RedisUrlOptions,
  WaitReplicas,
} from "./options.ts";
export { raiseTokens } from "./raise-tokens.ts";

/**
 * A store in Redis. Nothing is connected until `Rheo.open`.
 * @throws invalid_option, invalid_name
 */
export const redis = (options: RedisOptions): Backend => new RedisBackend(resolveOptions(options), Math.random);

/** For `Rheo.open("redis://…")` and `rediss://…`; options may stand among the parameters. @throws invalid_option, invalid_name */
export const fromUrl = (url: string): Backend => new RedisBackend(resolveOptions(optionsFromUrl(url)), Math.random);
