/** Another server takes over: with everything, and without the last writes; what the README says is lost, and what prevents it. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import type { Backend } from "@rheo/core";
import { type RedisServer, redisCommand, startProxy, startRedis, startRedisSentinel } from "@rheo/testing/servers";
import { afterEach, describe, expect, test } from "vitest";
import { writeFiles } from "./fixtures/readme.ts";
import {
  ackOf,
  acks,
  event,
  fetching,
  fill,
  GROUP,
  insist,
  openBackend,
  request,
  STREAM,
  sequencesOf,
  settling,
} from "./fixtures/scene.ts";
import { work } from "./fixtures/work.ts";

const AOF = { appendonly: "yes", appendfsync: "no" };
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const pair = async (): Promise<readonly [RedisServer, RedisServer]> => {
  const master = await startRedis({ settings: AOF });
  ends.push(() => master.stop());
  const replica = await startRedis({ settings: AOF, replicaOf: master.port });
  ends.push(() => replica.stop());
  return [master, replica];
};
const opened = async (options: Parameters<typeof openBackend>[0]): Promise<Backend> => {
  const backend = await openBackend(options);
  ends.push(() => backend.close());
  return backend;
};
const until = async (condition: () => Promise<boolean>): Promise<void> => {
  for (const endMs = performance.now() + 30_000; !(await condition()); await new Promise((resolve) => setTimeout(resolve, 10)))
    if (performance.now() > endMs) throw new Error("it did not come to pass");
};
const isMaster = async (server: RedisServer): Promise<boolean> =>
  (await redisCommand(server.port, "INFO", "replication")).includes("role:master");
const replicaIsUp = async (server: RedisServer): Promise<boolean> =>
  (await redisCommand(server.port, "INFO", "replication")).includes("master_link_status:up");

describe("a failover", () => {
  test("with everything (FAILOVER), and a name that comes to mean the new master, loses nothing in the middle of work", {
    timeout: 120_000,
  }, async () => {
    const servers = await pair();
    const name = await startProxy(servers[0].port);
    ends.push(() => name.stop());
    const backend = await opened({ url: `redis://127.0.0.1:${name.port}` });
    await fill(backend, 0, { leaseMs: 1_000 });
    const chaos = (async () => {
      for (const [from, to] of [servers, [...servers].reverse()] as const) {
        if (from === undefined || to === undefined) continue;
        await new Promise((resolve) => setTimeout(resolve, 150));
        await until(() => replicaIsUp(to));
        await redisCommand(from.port, "FAILOVER", "TO", "127.0.0.1", String(to.port));
        await until(() => isMaster(to));
        // nobody ends the connections: those who are still on the old master are told that it only reads
        name.aim(to.port);
      }
    })();
    const seen = await work(backend, 400);
    await chaos;
    expect(seen.unavailable + seen.unknown).toBeGreaterThan(0);
  });

  test("by Sentinels, of a master that was killed, loses nothing that a replica has confirmed", {
    timeout: 120_000,
  }, async () => {
    const [master, replica] = await pair();
    const sentinel = await startRedisSentinel("main", master.port, 1);
    ends.push(() => sentinel.stop());
    const backend = await opened({
      sentinels: [sentinel.address],
      name: "main",
      waitReplicas: { replicas: 1, timeoutMs: 2_000 },
      connectTimeoutMs: 20_000,
    });
    await fill(backend, 0);
    const appended: string[] = [];
    const append = async (): Promise<void> => {
      const one = event({ n: appended.length });
      await backend.append([{ stream: STREAM, partitions: 1, events: [one] }]);
      appended.push(one.id);
    };
    for (let n = 0; n < 50; n++) await append();
    const killing = master.kill();
    // whatever is answered now has been confirmed; after the failover nobody is left to confirm
    for (let failed = false; !failed; )
      await append().catch(() => {
        failed = true;
      });
    await killing;
    await until(async () => (await sentinel.masterPort()) === replica.port && (await isMaster(replica)));
    const after = await opened({ url: replica.url });
    const found = await insist(() => after.readIds(STREAM, appended));
    expect(found.every((one) => one !== null)).toBe(true);
    expect(appended.length).toBeGreaterThanOrEqual(50);
  });
});

describe("a failover to a server without the last writes", () => {
  test.each([
    ["as it is, the first of two leases that look alike counts", false],
    ["with the tokens put up, a lease from the lost tail is stale", true],
  ])("%s", async (_, raised) => {
    const [master, replica] = await pair();
    const old = await opened({ url: master.url, waitReplicas: { replicas: 1, timeoutMs: 9_000 } });
    await fill(old, 10);
    const [kept] = (await old.exchange(fetching(3))).grants;
    await old.exchange(settling([{ ...ackOf(kept, 1), sequences: [1, 2] }]));

    // the network between them breaks, the replica is promoted, and the master does not know
    await redisCommand(replica.port, "REPLICAOF", "NO", "ONE");
    const tail = await opened({ url: master.url });
    const lost = [{ stream: STREAM, partitions: 1, events: [event("lost")] }];
    expect(await tail.append(lost)).toMatchObject([{ events: [{ sequence: 11 }] }]);
    const [held] = (await tail.exchange(fetching(4))).grants;
    await tail.exchange(settling([ackOf(held, 4)]));
    await master.kill();
    if (raised) await raiseTokens(replica.url);

    const backend = await opened({ url: replica.url });
    // the sequence is given again; the lost event, repeated, is stored once
    expect(await backend.append([request(1)])).toMatchObject([{ events: [{ sequence: 11 }] }]);
    for (let n = 0; n < 2; n++) expect(await backend.append(lost)).toMatchObject([{ events: [{ sequence: 12 }] }]);
    // the settle is gone, and 4 comes again
    const [again] = (await backend.exchange(fetching(4, [], "b"))).grants;
    expect(sequencesOf(again === undefined ? [] : [again])).toEqual([4, 5, 6, 7]);
    const late = (await backend.exchange(settling([ackOf(held, 5)]))).settled[0]?.[0];
    const own = (await backend.exchange(settling([ackOf(again, 5)]))).settled[0]?.[0];
    if (raised) {
      expect(again?.token).toBeGreaterThan(1_000_000);
      expect([late?.state, own?.state]).toEqual(["stale", "acked"]);
    } else {
      expect(again?.token).toBe(held?.token);
      expect([late, own]).toEqual([{ state: "acked" }, { state: "stale", why: "settled" }]);
    }
    // a lease that was not lost is as good as ever
    expect((await backend.exchange(settling([ackOf(kept, 3)]))).settled).toEqual([[{ state: "acked" }]]);
    await backend.exchange(settling([{ ...ackOf(again, 4), sequences: [4, 6, 7] }]));
    await backend.exchange(settling(acks((await backend.exchange(fetching(10))).grants)));
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 12, highWatermark: 12 }]);
    // those of a group, of a stream, that is removed and made again as well
    if (!raised) return;
    await backend.deleteStream(STREAM);
    await fill(backend, 1);
    expect((await backend.exchange(fetching(1))).grants[0]?.token).toBeGreaterThan(1_000_000);
  });
});

/** As the README has it. */
const raiseTokens = async (url: string): Promise<void> => {
  const { folder, names } = await writeFiles();
  ends.push(() => rm(folder, { recursive: true, force: true }));
  expect(names).toContain("raise-tokens.mjs");
  const env = { ...process.env, RHEO_REDIS_URL: url };
  const { stderr } = await promisify(execFile)(process.execPath, ["raise-tokens.mjs"], { cwd: folder, env, timeout: 30_000 });
  expect(stderr).toBe("");
};
