import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Backend } from "@rheo/core";
import type { RedisUrlOptions } from "@rheo/redis";
import { redisCommand, startRedis, startRedisCluster } from "@rheo/testing/servers";
import { Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { ackOf, fetching, fill, OPTIONS, openBackend, request, STREAM, settling, untilHearing, watch } from "./fixtures/scene.ts";

const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "no" } });
afterAll(() => server.stop());

const WAIT_MS = 10_000;
const HERE = fileURLToPath(new URL(".", import.meta.url));
let prefixes = 0;
const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const admin = (...words: string[]): Promise<string> => redisCommand(server.port, ...words);

const open = async (options: Partial<RedisUrlOptions> = {}): Promise<{ backend: Backend; prefix: string }> => {
  const prefix = `w${++prefixes}`;
  const backend = await openBackend({ url: server.url, prefix, ...options });
  opened.push(backend);
  return { backend, prefix };
};

const listeners = async (prefix: string): Promise<number> =>
  Number(/\r\n:(\d+)/.exec(await admin("PUBSUB", "NUMSUB", `${prefix}:wake`))?.[1] ?? 0);

/** Waits until so many listen, and have told their backends of it. */
const untilListening = async (prefix: string, count = 1): Promise<void> => {
  for (const endMs = performance.now() + WAIT_MS; performance.now() < endMs; await pause(5)) {
    if ((await listeners(prefix)) !== count) continue;
    await pause(30);
    return;
  }
  throw new Error("nobody listens");
};

const messages = async (prefix: string, work: () => Promise<void>): Promise<string[]> => {
  const client = new Redis(server.port, "127.0.0.1");
  const heard: string[] = [];
  client.on("message", (_, message) => heard.push(message));
  await client.subscribe(`${prefix}:wake`);
  await work();
  await pause(50);
  client.disconnect();
  return heard;
};

describe("wake-ups", () => {
  test("an append wakes listeners of its own process and of another, with the stream", async () => {
    const { backend, prefix } = await open();
    const { backend: other } = await open({ prefix });
    await untilListening(prefix, 2);
    await fill(backend, 0);
    await pause(50);
    const here = watch(backend);
    const there = watch(other);
    const woken = Promise.all([here.next(), there.next()]);
    await backend.append([request(1)]);
    expect(await woken).toEqual([STREAM, STREAM]);
  });

  test("who waits in the process of an append is told once it is on its way, and what it sends then finds the events", async () => {
    const { backend } = await open();
    await fill(backend, 0);
    for (const count of [1, 1_500]) {
      let isAnswered = false;
      const found = new Promise((resolve) => {
        const unsubscribe = backend.subscribe(({ stream }) => {
          unsubscribe();
          const before = !isAnswered;
          resolve(backend.exchange(fetching(1)).then(({ grants }) => [stream, before, grants.length]));
        });
      });
      await backend.append([request(count)]);
      isAnswered = true;
      expect(await found).toEqual([STREAM, true, 1]);
    }
  });

  test("an append whose script the server has forgotten tells all the same", async () => {
    const { backend } = await open();
    await fill(backend, 0);
    await admin("SCRIPT", "FLUSH");
    const { streams } = watch(backend);
    await backend.append([request(1)]);
    expect(streams.length).toBeGreaterThan(0);
    expect((await backend.exchange(fetching(1))).grants).toHaveLength(1);
  });

  test("the first append after a pause carries its own news: nothing else is sent for it", async () => {
    const { backend, prefix } = await open();
    await fill(backend, 0);
    await pause(50);
    const monitor = await new Redis(server.port, "127.0.0.1").monitor();
    const published: string[] = [];
    monitor.on("monitor", (_time: string, [command = "", channel]: string[], source: string) => {
      if (command.toLowerCase() === "publish" && channel === `${prefix}:wake`) published.push(source);
    });
    const heard = await messages(prefix, async () => void (await backend.append([request(1)])));
    expect(heard).toEqual([expect.stringMatching(/^[0-9a-f]{12}:s$/)]);
    expect(published).toEqual(["lua"]);
    // what writes nothing tells nothing
    const again = request(1);
    await backend.append([again]);
    await pause(50);
    expect(await messages(prefix, async () => void (await backend.append([again])))).toEqual([]);
    monitor.disconnect();
  });

  test("a user who may not publish appends all the same", async () => {
    await admin("ACL", "SETUSER", "mute", "reset", "on", "nopass", "~*", "+@all", "resetchannels");
    const { backend } = await open({ url: `redis://mute:x@127.0.0.1:${server.port}` });
    await fill(backend, 0);
    await pause(50);
    expect(await backend.append([request(2)])).toMatchObject([{ kind: "appended", events: [{ sequence: 1 }, { sequence: 2 }] }]);
  });

  test("thousands of appends are few messages, with names only", async () => {
    const { backend, prefix } = await open();
    await fill(backend, 0);
    const startMs = performance.now();
    const heard = await messages(prefix, async () => {
      for (let n = 0; n < 500; n++) await Promise.all([1, 2, 3, 4].map(() => backend.append([request(1)])));
    });
    // one in two milliseconds at most
    expect(heard.length).toBeLessThanOrEqual(2 + (performance.now() - startMs) / 2);
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.length).toBeLessThan(1_000);
    for (const message of heard) expect(message).toMatch(/^[0-9a-f]{12}:s$/);
  });

  test("a retry and a release wake, an ack does not", async () => {
    const { backend } = await open();
    await fill(backend, 3);
    const { grants } = await backend.exchange(fetching(3));
    await pause(50);
    const { streams } = watch(backend);
    await backend.exchange(settling([ackOf(grants[0], 1)]));
    await pause(20);
    expect(streams).toEqual([]);
    await backend.exchange(settling([{ ...ackOf(grants[0], 2), outcome: { kind: "release" } }]));
    await pause(20);
    expect(streams).toEqual([STREAM]);
  });

  test("a listener whose connection is ended listens again, and wakes once when it ends and once when it does", async () => {
    const { backend, prefix } = await open();
    await fill(backend, 0);
    await untilListening(prefix);
    await untilHearing(backend);
    const { next, streams } = watch(backend);
    for (let n = 0; n < 2; n++) {
      const woken = next();
      await admin("CLIENT", "KILL", "TYPE", "pubsub");
      expect(await woken).toBeNull();
      expect(backend.hearsAll?.()).toBe(false);
      await untilHearing(backend);
    }
    expect(streams).toEqual([null, null, null, null]);
    const { backend: other } = await open({ prefix });
    await untilListening(prefix, 2);
    const again = next();
    await other.append([request(1)]);
    expect(await again).toBe(STREAM);
  });

  test("a server that was away is listened to again", async () => {
    const own = await startRedis({ settings: { appendonly: "yes" } });
    const backend = await openBackend({ url: own.url });
    opened.push(backend);
    await own.kill();
    const { next } = watch(backend);
    const woken = next();
    await own.restart();
    expect(await woken).toBeNull();
    await opened.pop()?.close();
    await own.stop();
  });

  test("with notify off nobody listens, nothing is published, and the own process is still woken", async () => {
    const { backend, prefix } = await open({ notify: false });
    expect(backend.capabilities.wakeups).toBe("process");
    expect(backend.hearsAll?.()).toBe(false);
    await fill(backend, 0);
    const { next } = watch(backend);
    const heard = await messages(prefix, async () => {
      const woken = next();
      await backend.append([request(1)]);
      expect(await woken).toBe(STREAM);
    });
    expect(heard).toEqual([]);
  });

  test("it is one connection, whatever the number of groups, and it is none after closing", async () => {
    const { backend, prefix } = await open();
    await untilListening(prefix);
    await fill(backend, 1);
    const before = await admin("INFO", "clients");
    for (let n = 0; n < 20; n++) {
      await backend.createGroup(STREAM, `g${n}`, OPTIONS, { kind: "earliest" });
      backend.subscribe(() => undefined);
      await backend.exchange({ ...fetching(1), group: `g${n}` });
    }
    const connections = (info: string): string | undefined => /connected_clients:(\d+)/.exec(info)?.[1];
    expect(connections(await admin("INFO", "clients"))).toBe(connections(before));
    await opened.pop()?.close();
    await untilListening(prefix, 0);
  });

  test("a client of the user's is not turned into a subscriber", async () => {
    const client = new Redis(server.port, "127.0.0.1");
    const prefix = `w${++prefixes}`;
    const backend = await openBackend({ client, prefix });
    await untilListening(prefix);
    await fill(backend, 1);
    expect([client.mode, await client.ping()]).toEqual(["normal", "PONG"]);
    await backend.close();
    await untilListening(prefix, 0);
    await client.quit();
  });

  test("a process that closes its backend ends by itself, and so does one whose server has gone", async () => {
    const code = `
      import { redis } from "@rheo/redis";
      const backend = redis({ url: process.argv[1], connectTimeoutMs: 500 });
      await backend.open({ clock: null, migrate: true });
      await backend.ping();
      if (process.argv[2] === "kill") process.kill(Number(process.argv[3]), "SIGKILL");
      await backend.ping().catch(() => undefined);
      await backend.close();
      console.log("closed");`;
    const own = await startRedis({ settings: { appendonly: "yes" } });
    const pid = /process_id:(\d+)/.exec(await redisCommand(own.port, "INFO", "server"))?.[1] ?? "";
    const run = (way: string): Promise<{ stdout: string; stderr: string }> =>
      promisify(execFile)(process.execPath, ["--input-type=module", "-e", code, own.url, way, pid], {
        timeout: 20_000,
        cwd: HERE,
      });
    for (const way of ["stay", "kill"]) expect(await run(way)).toEqual({ stdout: "closed\n", stderr: "" });
    await own.stop();
  });

  test("on a cluster, an append to any node wakes those who listen at any other", async () => {
    const cluster = await startRedisCluster({ settings: { appendonly: "yes" } });
    const backends = await Promise.all([1, 2, 3].map(() => openBackend({ nodes: cluster.nodes })));
    const [first, ...others] = backends;
    if (first === undefined) throw new Error("no backend");
    await first.createStream(STREAM, 4);
    const subscribed = async (): Promise<number> => {
      const counts = cluster.masters.map(({ port }) => redisCommand(port, "PUBSUB", "NUMSUB", "rheo:wake"));
      return (await Promise.all(counts)).reduce((sum, text) => sum + Number(/\r\n:(\d+)/.exec(text)?.[1] ?? 0), 0);
    };
    for (const endMs = performance.now() + WAIT_MS; (await subscribed()) < 3 && performance.now() < endMs; ) await pause(5);
    await pause(50);
    for (let partition = 0; partition < 4; partition++) {
      const woken = others.map((backend) => watch(backend).next());
      const [event] = request(1).events;
      if (event === undefined) throw new Error("no event");
      await first.append([{ stream: STREAM, partitions: 4, events: [{ ...event, partition }] }]);
      expect(await Promise.all(woken)).toEqual([STREAM, STREAM]);
    }
    for (const backend of backends) await backend.close();
    await cluster.stop();
  });
});
