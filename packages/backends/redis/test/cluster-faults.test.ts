/** A Redis Cluster whose slots move, and whose masters die. */
import type { Backend } from "@rheo/core";
import { RheoError } from "@rheo/core";
import { raiseTokens } from "@rheo/redis";
import { type RedisCluster, redisCommand, startRedisCluster } from "@rheo/testing/servers";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { acks, drain, fetching, GROUP, OPTIONS, openBackend, request, STREAM, settling } from "./fixtures/scene.ts";
import { keysIn, moveSlot, placeOf, slotOf } from "./fixtures/slots.ts";
import { work } from "./fixtures/work.ts";

const SETTINGS = { appendonly: "yes", appendfsync: "no" };
const PARTITIONS = 4;
let prefixes = 0;
const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const open = async (cluster: RedisCluster, options: object = {}): Promise<{ backend: Backend; prefix: string }> => {
  const prefix = `cf${++prefixes}`;
  const backend = await openBackend({ nodes: cluster.nodes, prefix, connectTimeoutMs: 20_000, ...options });
  opened.push(backend);
  return { backend, prefix };
};
const begin = async (backend: Backend): Promise<void> => {
  await backend.createStream(STREAM, PARTITIONS);
  await backend.createGroup(STREAM, GROUP, { ...OPTIONS, leaseMs: 2_000, maxAttempts: 1_000 }, { kind: "earliest" });
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "fine",
    (error: unknown) => (RheoError.is(error) ? error.code : String(error)),
  );

describe("three masters", async () => {
  const cluster = await startRedisCluster({ settings: SETTINGS });
  afterAll(() => cluster.stop());

  test("all keys of a partition are in one slot, and the partitions of a stream on several masters", async () => {
    const { backend, prefix } = await open(cluster);
    await begin(backend);
    await backend.append([request(400, PARTITIONS)]);
    await drain(backend, 50, 100);
    const slots = await Promise.all(
      Array.from({ length: PARTITIONS }, (_, partition) => slotOf(cluster, `${prefix}:{${STREAM}/${partition}}:head`)),
    );
    expect(new Set(slots).size).toBe(PARTITIONS);
    const owners = await Promise.all(slots.map(async (slot) => (await placeOf(cluster, slot)).from.id));
    expect(new Set(owners).size).toBeGreaterThan(1);
    for (const [partition, slot] of slots.entries()) {
      const { from } = await placeOf(cluster, slot);
      const tag = `${prefix}:{${STREAM}/${partition}}:`;
      const keys = (await keysIn(from, slot)).filter((key) => key.startsWith(tag));
      expect(keys).toEqual(expect.arrayContaining([`${tag}head`, `${tag}log`, `${tag}g:${GROUP}`]));
    }
  });

  test("tokens are put up in every partition by what is asked for, and leases that are there stay good", async () => {
    const { backend, prefix } = await open(cluster);
    await begin(backend);
    await backend.append([request(40, PARTITIONS)]);
    const { grants: before } = await backend.exchange(fetching(PARTITIONS * 2));
    const options = { nodes: cluster.nodes, prefix };
    await expect(raiseTokens(options, 0)).rejects.toMatchObject({ code: "invalid_option" });
    await raiseTokens(options);
    await raiseTokens(options, 500);
    const tokens = new Map<number, number>();
    for (let left = 10; left > 0 && tokens.size < PARTITIONS; left--)
      for (const { partition, token } of (await backend.exchange(fetching(PARTITIONS))).grants) tokens.set(partition, token);
    expect(new Set(tokens.keys())).toEqual(new Set([0, 1, 2, 3]));
    for (const token of tokens.values()) expect([token > 1_000_500, token < 1_001_000]).toEqual([true, true]);
    const { settled } = await backend.exchange(settling(acks(before)));
    expect(settled.flat().every(({ state }) => state === "acked")).toBe(true);
  });

  test("slots that move, key by key, in the middle of work: nothing is lost, done twice or half done", {
    timeout: 120_000,
  }, async () => {
    const { backend, prefix } = await open(cluster);
    await begin(backend);
    const names = [`{${STREAM}/0}:head`, `{${STREAM}/1}:head`, `{${STREAM}/ids/0}`, `{${STREAM}/ids/2}`, "{catalog}:streams"];
    const moving = (async () => {
      for (const name of names) {
        await pause(100);
        await moveSlot(cluster, await slotOf(cluster, `${prefix}:${name}`), () => pause(15));
      }
    })();
    await work(backend, 600, PARTITIONS);
    await moving;
    // where they went, too
    await backend.append([request(40, PARTITIONS)]);
    expect(await drain(backend, 7)).toBe(40);
    expect(await backend.groupStats(STREAM, GROUP)).toMatchObject({ inflight: 0, retrying: 0, deadLetters: 0 });
  });

  test("a slot that is on its way for longer than a call waits is unavailable, and nothing of it was done", async () => {
    const { backend, prefix } = await open(cluster, { connectTimeoutMs: 300 });
    await backend.createStream(STREAM, 1);
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    await backend.append([request(5)]);
    const slot = await slotOf(cluster, `${prefix}:{${STREAM}/0}:head`);
    const seen: string[] = [];
    await moveSlot(cluster, slot, async () => {
      seen.push(await codeOf(backend.exchange(fetching(1))), await codeOf(backend.append([request(1)])));
    });
    expect(new Set(seen)).toContain("unavailable");
    for (const code of seen) expect(["fine", "unavailable"]).toContain(code);
    const { backend: patient } = { backend: await openBackend({ nodes: cluster.nodes, prefix }) };
    opened.push(patient);
    const [progress] = await patient.progress(STREAM, GROUP);
    const appended = seen.filter((code, index) => index % 2 === 1 && code === "fine").length;
    expect(progress).toMatchObject({ frontier: 0, highWatermark: 5 + appended });
    expect((await patient.leases(STREAM, GROUP, 100)).length).toBe(
      seen.filter((code, index) => index % 2 === 0 && code === "fine").length,
    );
    const events = await patient.read({
      stream: STREAM,
      partition: 0,
      after: 0,
      until: null,
      order: "asc",
      limit: 100,
      maxBytes: 1e6,
    });
    expect(events).toHaveLength(5 + appended);
  });

  test("connections to all nodes ended again and again lose nothing", { timeout: 120_000 }, async () => {
    const { backend } = await open(cluster);
    await begin(backend);
    let stop = false;
    const chaos = (async () => {
      while (!stop) {
        for (const { port } of cluster.masters) await redisCommand(port, "CLIENT", "KILL", "TYPE", "normal");
        await pause(25);
      }
    })();
    try {
      const seen = await work(backend, 200, PARTITIONS);
      expect(seen.unknown + seen.unavailable).toBeGreaterThan(0);
    } finally {
      stop = true;
      await chaos;
    }
  });

  test("a master that is killed makes calls unavailable within the limit; they go on once it is back, with all that it had", {
    timeout: 120_000,
  }, async () => {
    const { backend, prefix } = await open(cluster, { connectTimeoutMs: 500 });
    await begin(backend);
    await backend.append([request(40, PARTITIONS)]);
    const { from } = await placeOf(cluster, await slotOf(cluster, `${prefix}:{${STREAM}/0}:head`));
    await from.kill();
    const startMs = performance.now();
    const code = await codeOf(backend.append([request(4, PARTITIONS)]));
    expect(["unavailable", "outcome_unknown"]).toContain(code);
    expect(performance.now() - startMs).toBeLessThan(30_000);
    await from.restart();
    await cluster.ready();
    const patient = await openBackend({ nodes: cluster.nodes, prefix, connectTimeoutMs: 20_000 });
    opened.push(patient);
    expect(await drain(patient, 10)).toBeGreaterThanOrEqual(40);
  });
});

describe("three masters with a replica each", async () => {
  const cluster = await startRedisCluster({ replicas: 1, settings: SETTINGS });
  afterAll(() => cluster.stop());

  test("masters killed in the middle of work, whose replicas take over: nothing that was confirmed is lost", {
    timeout: 240_000,
  }, async () => {
    const { backend, prefix } = await open(cluster, { waitReplicas: { replicas: 1, timeoutMs: 1_000 } });
    await begin(backend);
    let isOver = false;
    let kills = 0;
    const chaos = (async () => {
      for (const partition of [0, 1]) {
        await pause(200);
        const { from } = await placeOf(cluster, await slotOf(cluster, `${prefix}:{${STREAM}/${partition}}:head`)).catch(() => ({
          from: null,
        }));
        if (from === null) continue; // a replica has it already
        if (!isOver) kills += 1;
        await from.kill();
        await cluster.ready();
        // comes back as a replica of the one that took over
        await from.restart();
        await cluster.ready();
      }
    })();
    await work(backend, 400, PARTITIONS);
    isOver = true;
    await chaos;
    expect(kills).toBeGreaterThan(0);
  });
});
