/** What goes wrong between a process and its server (F7), and what must be true after. */
import { mkdir, readdir, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { Backend } from "@rheo/core";
import { RheoError } from "@rheo/core";
import type { RedisUrlOptions } from "@rheo/redis";
import { redisCommand, startRedis } from "@rheo/testing/servers";
import { Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { ackOf, acks, drain, event, fetching, fill, openBackend, request, STREAM, settling } from "./fixtures/scene.ts";
import { work } from "./fixtures/work.ts";

const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "always" } });
afterAll(() => server.stop());

let prefixes = 0;
const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const open = async (options: Partial<RedisUrlOptions> = {}): Promise<Backend> => {
  const backend = await openBackend({ url: server.url, prefix: `f${++prefixes}`, connectTimeoutMs: 3_000, ...options });
  opened.push(backend);
  return backend;
};

const admin = (...words: string[]): Promise<string> => redisCommand(server.port, ...words);
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "fine",
    (error: unknown) => (RheoError.is(error) ? error.code : String(error)),
  );
const until = async (condition: () => Promise<boolean>): Promise<void> => {
  for (const endMs = performance.now() + 10_000; !(await condition()); await pause(10))
    if (performance.now() > endMs) throw new Error("it did not come to pass");
};
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("faults", () => {
  test("connections ended at any command lose nothing, and the process lives", { timeout: 120_000 }, async () => {
    const backend = await open();
    await fill(backend, 0, { leaseMs: 500 });
    let stop = false;
    const chaos = (async () => {
      while (!stop) {
        for (const kind of ["normal", "pubsub"]) await admin("CLIENT", "KILL", "TYPE", kind);
        await pause(15);
      }
    })();
    const seen = await work(backend, 300);
    stop = true;
    await chaos;
    expect(seen.unknown).toBeGreaterThan(0);
  });

  test("a server killed with SIGKILL and started again loses nothing that was acknowledged", { timeout: 120_000 }, async () => {
    const backend = await open();
    await fill(backend, 0, { leaseMs: 1_000 });
    const chaos = (async () => {
      for (let kill = 0; kill < 3; kill++) {
        await pause(150);
        await server.kill();
        await server.restart();
      }
    })();
    await work(backend, 400);
    await chaos;
  });

  test("scripts that the server has forgotten are brought again, in the middle of work", { timeout: 60_000 }, async () => {
    const backend = await open();
    await fill(backend, 0);
    let stop = false;
    const chaos = (async () => {
      while (!stop) {
        await admin("SCRIPT", "FLUSH");
        await pause(5);
      }
    })();
    expect(await work(backend, 300)).toEqual({ unknown: 0, unavailable: 0 });
    stop = true;
    await chaos;
  });

  test("a server that has no memory left refuses appends as unavailable, says so, and deliveries go on", async () => {
    const backend = await open();
    await fill(backend, 20);
    const { grants } = await backend.exchange(fetching(5));
    await admin("CONFIG", "SET", "maxmemory", "1");
    const failing = backend.append([request(1)]);
    await expect(failing).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("maxmemory") });
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 20 }]);
    const settled = await codeOf(backend.exchange(settling(acks(grants))));
    await admin("CONFIG", "SET", "maxmemory", "0");
    // whether or not acks were let through, nothing is half done
    expect(["fine", "unavailable"]).toContain(settled);
    if (settled === "unavailable") await backend.exchange(settling(acks(grants)));
    expect(await drain(backend, 10)).toBe(15);
    expect(await backend.progress(STREAM, "g")).toMatchObject([{ frontier: 20 }]);
  });

  test("a server that cannot write to its disk refuses writes as unavailable, and says so", async () => {
    const own = await startRedis({ settings: { appendonly: "yes", save: "3600 1", "enable-protected-configs": "yes" } });
    const backend = await openBackend({ url: own.url });
    await fill(backend, 2);
    await rm(own.folder, { recursive: true });
    await redisCommand(own.port, "BGSAVE");
    await until(async () => (await redisCommand(own.port, "INFO", "persistence")).includes("rdb_last_bgsave_status:err"));
    await expect(backend.append([request(1)])).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("cannot write to its disk"),
    });
    await expect(backend.exchange(fetching(1))).rejects.toMatchObject({ code: "unavailable" });
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
    await mkdir(own.folder);
    await redisCommand(own.port, "CONFIG", "SET", "dir", own.folder);
    await redisCommand(own.port, "BGSAVE");
    await until(async () => (await redisCommand(own.port, "INFO", "persistence")).includes("rdb_last_bgsave_status:ok"));
    await backend.append([request(1)]);
    expect(await drain(backend, 10)).toBe(3);
    await backend.close();
    await own.stop();
  });

  test("a master that was made a replica is unavailable for writes, reads go on, and so does work once it is a master", async () => {
    const own = await startRedis({ settings: { appendonly: "yes" } });
    const backend = await openBackend({ url: own.url, connectTimeoutMs: 3_000 });
    await fill(backend, 2);
    await redisCommand(own.port, "REPLICAOF", "127.0.0.1", "1");
    await expect(backend.append([request(1)])).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("only reads"),
    });
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 2 }]);
    await redisCommand(own.port, "REPLICAOF", "NO", "ONE");
    await backend.append([request(1)]);
    expect(await drain(backend, 10)).toBe(3);
    await backend.close();
    await own.stop();
  });

  test("an answer that does not come is not waited for for ever", async () => {
    const backend = await open({ commandTimeoutMs: 150, notify: false });
    await fill(backend, 1);
    const one = [{ stream: STREAM, partitions: 1, events: [event({ late: true })] }];
    server.pause();
    expect(await codeOf(backend.append(one))).toBe("outcome_unknown");
    server.resume();
    const answer = await backend.append(one).catch(() => backend.append(one));
    expect(answer).toMatchObject([{ kind: "appended", events: [{ sequence: 2 }] }]);
  });

  test("a client of the user's is shared, and lives on", async () => {
    const client = new Redis(server.port, "127.0.0.1");
    const backend = await openBackend({ client, prefix: `f${++prefixes}` });
    await fill(backend, 3);
    await client.set("mine", "1");
    expect(await drain(backend, 2)).toBe(3);
    await backend.close();
    expect(await client.get("mine")).toBe("1");
    await client.quit();
  });

  test("keys that were all removed are a stream that is not found", async () => {
    const backend = await open();
    await fill(backend, 1);
    await admin("FLUSHALL");
    expect(await codeOf(backend.exchange(fetching(1)))).toBe("stream_not_found");
  });

  test("a closed backend is closed, and a server that is not there is unavailable", async () => {
    expect(await codeOf(openBackend({ url: "redis://127.0.0.1:1" }))).toBe("unavailable");
    const backend = await open();
    await backend.close();
    for (const call of [backend.ping(), backend.exchange(settling([ackOf(undefined, 1)])), backend.append([request(1)])])
      expect(await codeOf(call)).toBe("closed");
  });
});

describe("a log that lost its tail", () => {
  test("comes back at the end of some call, wherever it was cut, and goes on from there", { timeout: 120_000 }, async () => {
    const own = await startRedis({ settings: { appendonly: "yes", appendfsync: "no", "auto-aof-rewrite-percentage": "0" } });
    const writer = await openBackend({ url: own.url });
    await fill(writer, 50, { leaseMs: 60_000 });
    for (let settlements = [] as ReturnType<typeof acks>, n = 0; n < 8; n++) {
      const { grants } = await writer.exchange(fetching(3, settlements));
      settlements = acks(grants);
      await writer.append([request(2)]);
    }
    await writer.close();
    for (let cut = 0; cut < 25; cut++) {
      await own.kill();
      const { path, size } = await newestOf(join(own.folder, "appendonlydir"));
      await truncate(path, Math.max(0, size - 1 - ((cut * 37) % 290)));
      await own.restart();
      const backend = await openBackend({ url: own.url });
      const [watermark] = await backend.watermarks(STREAM);
      const [progress] = await backend.progress(STREAM, "g");
      const last = watermark?.highWatermark ?? 0;
      expect(progress?.frontier).toBeLessThanOrEqual(last);
      const events = await backend.read({
        stream: STREAM,
        partition: 0,
        after: 0,
        until: null,
        order: "asc",
        limit: 1_000,
        maxBytes: 1e9,
      });
      expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: last }, (_, n) => n + 1));
      const leases = await backend.leases(STREAM, "g", 1_000);
      expect(leases.every(({ sequence }) => sequence <= last)).toBe(true);
      expect(
        await backend.readIds(
          STREAM,
          events.map(({ id }) => id),
        ),
      ).toEqual(events);
      await backend.close();
    }
    const backend = await openBackend({ url: own.url });
    const [before] = await backend.watermarks(STREAM);
    expect(await backend.append([request(1)])).toMatchObject([{ events: [{ sequence: (before?.highWatermark ?? 0) + 1 }] }]);
    await backend.reset(STREAM, "g", { kind: "earliest" });
    expect(await drain(backend, 7)).toBe((before?.highWatermark ?? 0) + 1);
    await backend.close();
    await own.stop();
  });
});

/** The part of the append-only file that is written to. */
const newestOf = async (folder: string): Promise<{ path: string; size: number }> => {
  const name = (await readdir(folder)).find((file) => file.endsWith(".incr.aof"));
  const path = join(folder, name ?? "");
  return { path, size: (await stat(path)).size };
};
