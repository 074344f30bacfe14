/** A private Sentinel, which alone decides that a master is down. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./ports.ts";
import { endServer, findRedis, launchRedis } from "./redis.ts";
import { redisCommand } from "./redis-command.ts";

const READY_MS = 30_000;
/** A master that says nothing for so long is replaced. */
const DOWN_MS = 500;

/** A private Sentinel of a test. */
export interface RedisSentinel {
  /** `host:port`. */
  readonly address: string;
  /** Port of the master, as the Sentinel sees it now. */
  masterPort(): Promise<number>;
  /** Ends it and removes its folder. Idempotent. */
  stop(): Promise<void>;
}

/** Watches a master that has `replicas`, under a name, and waits until it knows them. */
export const startRedisSentinel = async (name: string, masterPort: number, replicas: number): Promise<RedisSentinel> => {
  const binary = findRedis();
  if (binary === null) throw new Error("There is no redis-server.");
  const folder = await mkdtemp(join(tmpdir(), "rheo-sentinel-"));
  const port = await freePort();
  const config = join(folder, "sentinel.conf");
  await writeFile(config, configFor(name, folder, port, masterPort));
  const sentinel = await launchRedis(binary, [config, "--sentinel"], port);
  const ask = (): Promise<string> => redisCommand(port, "SENTINEL", "MASTER", name);
  for (
    const endMs = performance.now() + READY_MS;
    !(await ask()).includes(`num-slaves\r\n$1\r\n${replicas}\r\n`);
    await sleep(25)
  )
    if (performance.now() > endMs) throw new Error(`The Sentinel did not find ${replicas} replicas.`);
  return {
    address: `127.0.0.1:${port}`,
    // as clients ask: while a failover is being finished, SENTINEL MASTER still names the old one
    masterPort: async () => Number(/(\d+)\s*$/.exec(await redisCommand(port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", name))?.[1]),
    stop: async () => {
      await endServer(sentinel);
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const configFor = (name: string, folder: string, port: number, masterPort: number): string => `bind 127.0.0.1
port ${port}
dir ${folder}
sentinel monitor ${name} 127.0.0.1 ${masterPort} 1
sentinel down-after-milliseconds ${name} ${DOWN_MS}
sentinel failover-timeout ${name} 3000
`;
