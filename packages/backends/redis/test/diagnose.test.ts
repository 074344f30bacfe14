/** What `diagnose` finds wrong with servers. */
import { Rheo } from "@rheo/core";
import { redis } from "@rheo/redis";
import { redisCommand, startRedis, startRedisCluster } from "@rheo/testing/servers";
import { afterAll, afterEach, expect, test } from "vitest";

const server = await startRedis({ settings: { appendonly: "yes" } });
const cluster = await startRedisCluster();
afterAll(async () => {
  await server.stop();
  await cluster.stop();
});
const set = (name: string, value: string): Promise<unknown> => redisCommand(server.port, "CONFIG", "SET", name, value);

afterEach(async () => {
  await redisCommand(server.port, "REPLICAOF", "NO", "ONE");
  await set("maxmemory", "0");
  await set("maxmemory-policy", "noeviction");
  await set("appendonly", "yes");
  await redisCommand(server.port, "CONFIG", "RESETSTAT");
});

/** What is not well, of a server that was well when it was opened. */
const ailments = async (harm: () => Promise<unknown>): Promise<readonly unknown[]> => {
  await using rheo = await Rheo.open({ backend: redis({ url: server.url, allowEviction: true }) });
  await harm();
  return (await rheo.diagnose()).filter(({ status }) => status !== "ok");
};

test("of a server that is well, nothing; every check is there", async () => {
  await using rheo = await Rheo.open({ backend: redis({ url: server.url }) });
  expect((await rheo.diagnose()).map(({ check, status }) => `${check} ${status}`)).toEqual([
    ...["node ok", "connection ok", "version ok", "writable ok", "eviction ok", "evicted keys ok", "memory ok"],
    ...["fragmentation ok", "persistence ok", "clock ok"],
  ]);
});

test("a policy that evicts what has no time to live", async () => {
  expect(await ailments(() => set("maxmemory-policy", "allkeys-lru"))).toMatchObject([
    { check: "eviction", status: "fail", fix: expect.stringContaining("noeviction") },
  ]);
});

test("memory that is nearly used up, and keys that were evicted for it", async () => {
  const found = await ailments(async () => {
    for (let n = 0; n < 20; n++) await redisCommand(server.port, "SET", `other-${n}`, "x".repeat(100_000));
    const used = Number(/used_memory:(\d+)/.exec(String(await redisCommand(server.port, "INFO", "memory")))?.[1]);
    await set("maxmemory-policy", "allkeys-random");
    await set("maxmemory", String(Math.round(used * 0.95)));
    await redisCommand(server.port, "SET", "one-more", "x".repeat(100_000));
    await set("maxmemory-policy", "noeviction");
  });
  expect(found).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ check: "evicted keys", status: "warn", fix: expect.any(String) }),
      expect.objectContaining({ check: "memory", status: "warn", fix: expect.stringContaining("maxmemory") }),
    ]),
  );
});

test("a server without an append-only file", async () => {
  expect(await ailments(() => set("appendonly", "no"))).toMatchObject([
    { check: "persistence", status: "warn", fix: expect.stringContaining("appendonly yes") },
  ]);
});

test("a server that has become a replica", async () => {
  expect(await ailments(() => redisCommand(server.port, "REPLICAOF", "127.0.0.1", "1"))).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ check: "writable", status: "fail", fix: expect.stringContaining("master") }),
    ]),
  );
});

test("of a Cluster, each master by its port, and the Cluster itself", async () => {
  await using rheo = await Rheo.open({ backend: redis({ nodes: cluster.nodes }) });
  const found = await rheo.diagnose();
  expect(found.filter(({ check }) => check === "version").map(({ message }) => message)).toEqual(
    expect.arrayContaining(cluster.masters.map(({ port }) => expect.stringContaining(`port ${port}: Redis`))),
  );
  expect(found.at(-1)).toMatchObject({ check: "cluster", status: "ok", message: "3 masters serve all slots" });
});
