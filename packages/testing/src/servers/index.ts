/** Private servers for tests and benches: started on free ports of the loopback, killed, restarted and ended by pid. */

export { endWithProcess } from "./end-with-process.ts";
export { type MongoFault, type MongoServer, type MongoServerOptions, type MongoTime, startMongo } from "./mongo.ts";
export { type LinkFault, type Network, startNetwork, whyNoNetwork } from "./network.ts";
export { findPgbouncer, type Pooler, startPgbouncer } from "./pgbouncer.ts";
export { answers, freePort } from "./ports.ts";
export { type PostgresServer, startPostgres } from "./postgres.ts";
export { type Loss, type Proxy, type ProxyOptions, startProxy } from "./proxy.ts";
export { endServer, findRedis, type RedisServer, type RedisServerOptions, startRedis } from "./redis.ts";
export { type RedisCluster, type RedisClusterNode, type RedisClusterOptions, startRedisCluster } from "./redis-cluster.ts";
export { redisCommand } from "./redis-command.ts";
export { type RedisSentinel, startRedisSentinel } from "./redis-sentinel.ts";
