/** A private Redis Cluster: masters that share the slots evenly, each with the replicas asked for. */
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./ports.ts";
import { type RedisServer, startRedis } from "./redis.ts";
import { redisCommand } from "./redis-command.ts";

const SLOTS = 16_384;
const READY_MS = 60_000;

/** One server of a private cluster. */
export interface RedisClusterNode extends RedisServer {
  /** Its name in the cluster. */
  readonly id: string;
}

/** A private Redis Cluster of a test. */
export interface RedisCluster {
  readonly masters: readonly RedisClusterNode[];
  /** Those of each master, in the order of the masters. */
  readonly replicas: readonly (readonly RedisClusterNode[])[];
  /** `host:port` of the masters. */
  readonly nodes: readonly string[];
  /** Waits until all nodes that are up agree that every slot is served. */
  ready(): Promise<void>;
  /** Ends all nodes and removes their folders. Idempotent. */
  stop(): Promise<void>;
}

/** How large a private cluster is, and how its servers are set. */
export interface RedisClusterOptions {
  /** Default 3. */
  readonly masters?: number;
  /** Replicas of each master; default 0. */
  readonly replicas?: number;
  /** Directives of redis.conf, of each node. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts masters and their replicas, and waits until each slot is served. @throws when there is no binary */
export const startRedisCluster = async (options: RedisClusterOptions = {}): Promise<RedisCluster> => {
  const { masters: masterCount = 3, replicas: replicaCount = 0, settings = {} } = options;
  const count = masterCount * (1 + replicaCount);
  const all: (RedisClusterNode & { readonly bus: number })[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(all.map((node) => node.stop())));
  const ready = (): Promise<void> => until(() => Promise.all(all.map(isUpAndWhole)).then((answers) => answers.every(Boolean)));
  try {
    for (let n = 0; n < count; n++) {
      const bus = await freePort();
      const server = await startRedis({
        settings: { "cluster-enabled": "yes", "cluster-port": String(bus), "cluster-node-timeout": "2000", ...settings },
      });
      all.push({ ...server, bus, id: await redisCommand(server.port, "CLUSTER", "MYID") });
    }
    const masters = all.slice(0, masterCount);
    for (const [n, { port }] of masters.entries()) {
      const [first, end] = [n, n + 1].map((part) => Math.floor((part * SLOTS) / masterCount));
      await redisCommand(port, "CLUSTER", "ADDSLOTSRANGE", String(first), String((end ?? 0) - 1));
    }
    for (const [n, { port }] of all.entries()) await redisCommand(port, "CLUSTER", "SET-CONFIG-EPOCH", String(n + 1));
    const [first, ...others] = all;
    for (const { port, bus } of others)
      await redisCommand(first?.port ?? 0, "CLUSTER", "MEET", "127.0.0.1", String(port), String(bus));
    await until(() => everybodyKnows(all, count));
    const replicas = masters.map((_, n) => all.slice(masterCount + n * replicaCount, masterCount + (n + 1) * replicaCount));
    for (const [n, { id }] of masters.entries())
      for (const { port } of replicas[n] ?? []) await redisCommand(port, "CLUSTER", "REPLICATE", id);
    await ready();
    return { masters, replicas, nodes: masters.map(({ port }) => `127.0.0.1:${port}`), ready, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

const everybodyKnows = async (all: readonly RedisServer[], count: number): Promise<boolean> => {
  const answers = await Promise.all(all.map(({ port }) => redisCommand(port, "CLUSTER", "NODES")));
  return answers.every((text) => text.trim().split("\n").length === count && !/handshake|fail/.test(text));
};

/** True of a node that is down, too: nothing is asked of it. */
const isUpAndWhole = async ({ port }: RedisServer): Promise<boolean> => {
  const info = await redisCommand(port, "CLUSTER", "INFO").catch(() => null);
  if (info === null) return true;
  if (!/^cluster_state:ok/m.test(info) || !info.includes(`cluster_slots_ok:${SLOTS}`)) return false;
  const replication = await redisCommand(port, "INFO", "replication");
  return /^role:master/m.test(replication) || /^master_link_status:up/m.test(replication);
};

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  for (const endMs = performance.now() + READY_MS; !(await condition()); await sleep(25))
    if (performance.now() > endMs) throw new Error(`The cluster was not ready within ${READY_MS} ms.`);
};
