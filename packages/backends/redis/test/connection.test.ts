/** What a call meets between a process and its server: that it is sent once, answered in time, and tells what became of it (F7). */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { RheoError } from "@rheo/core";
import type { RedisConnection } from "@rheo/redis/internal";
import { freePort, redisCommand, startProxy, startRedis, startRedisCluster, startRedisSentinel } from "@rheo/testing/servers";
import { Cluster, Redis } from "ioredis";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { COUNT, connect, LOOK, scriptOf } from "./fixtures/counter.ts";
import { moveSlot, slotOf } from "./fixtures/slots.ts";

const server = await startRedis({ settings: { appendonly: "yes", appendfsync: "always", "enable-debug-command": "yes" } });
const proxy = await startProxy(server.port);
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

const opened = async (options: object): Promise<RedisConnection> => {
  const connection = await connect(options);
  ends.push(() => connection.end());
  return connection;
};
/** A client of the user's. */
const userClient = <Client extends Redis | Cluster>(client: Client): Client => {
  client.on("error", () => undefined);
  ends.push(() => client.disconnect());
  return client;
};
const admin = (...words: string[]): Promise<string> => redisCommand(server.port, ...words);
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "fine",
    (error: unknown) => (RheoError.is(error) ? error.code : String(error)),
  );
let keys = 0;
const newKey = (): string => `k${++keys}`;

describe("scripts", () => {
  test("one that the server does not know, or has forgotten, is sent with its text", async () => {
    const connection = await opened({ url: server.url });
    const key = newKey();
    expect(await connection.run(COUNT, [key], ["é"])).toEqual([1, "é"]);
    await admin("SCRIPT", "FLUSH");
    expect(await connection.run(COUNT, [key], ["é"])).toEqual([2, "é"]);
    await admin("CONFIG", "RESETSTAT");
    await connection.run(COUNT, [key], [7]);
    expect(await admin("INFO", "commandstats")).not.toMatch(/cmdstat_eval:/);
  });

  test("many at once are answered each with its own", async () => {
    const connection = await opened({ url: server.url });
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 2_000 }, (_, n) => connection.run(COUNT, [key], [n])));
    expect(answers).toEqual(answers.map((_, n) => [n + 1, String(n)]));
  });

  test("one that fails after it has written something is outcome_unknown, not unavailable", async () => {
    const connection = await opened({ url: server.url });
    const key = newKey();
    const script = scriptOf("redis.call('INCR', KEYS[1]) redis.call('LPUSH', KEYS[1], 1)");
    await expect(connection.run(script, [key], [])).rejects.toMatchObject({
      code: "outcome_unknown",
      message: expect.stringContaining("WRONGTYPE"),
    });
    expect(await connection.run(LOOK, [key], [])).toBe("1");
    await expect(connection.run({ ...script, writes: false }, [key], [])).rejects.toMatchObject({ code: "unavailable" });
  });

  test("one that the server refuses is unavailable, with advice", async () => {
    const connection = await opened({ url: server.url });
    const key = newKey();
    await admin("CONFIG", "SET", "maxmemory", "1");
    const failing = connection.run(COUNT, [key], []);
    await expect(failing).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("maxmemory") });
    expect(await connection.run(LOOK, [key], [])).toBe(null);
    await admin("CONFIG", "SET", "maxmemory", "0");
    await admin("CONFIG", "SET", "min-replicas-to-write", "1");
    await expect(connection.run(COUNT, [key], [])).rejects.toThrow(/min-replicas-to-write/);
    await admin("CONFIG", "SET", "min-replicas-to-write", "0");
    expect(await connection.run(COUNT, [key], [1])).toEqual([1, "1"]);
  });
});

/** Clients that resend what was not answered, or keep it for later, if they are let. */
const CLIENTS: readonly (readonly [string, (port: number) => object])[] = [
  ["a url", (port) => ({ url: `redis://127.0.0.1:${port}` })],
  ["a client as it comes", (port) => ({ client: userClient(new Redis(port, "127.0.0.1")) })],
  [
    "a client without a limit of retries",
    (port) => ({ client: userClient(new Redis(port, "127.0.0.1", { maxRetriesPerRequest: null })) }),
  ],
  [
    "a client that drops what was not answered",
    (port) => ({ client: userClient(new Redis(port, "127.0.0.1", { autoResendUnfulfilledCommands: false })) }),
  ],
  [
    "a client that pipelines by itself",
    (port) => ({ client: userClient(new Redis(port, "127.0.0.1", { enableAutoPipelining: true })) }),
  ],
];

describe.each(CLIENTS)("by %s", (_, optionsOf) => {
  test("a write whose answer is lost is outcome_unknown, and is not sent again", async () => {
    const connection = await opened(optionsOf(proxy.port));
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    const lost = proxy.lose("answer", key);
    expect(await codeOf(connection.run(COUNT, [key], [2]))).toBe("outcome_unknown");
    await lost;
    expect(await connection.run(COUNT, [key], [3])).toEqual([3, "3"]);
  });

  test("a write that was lost on its way is outcome_unknown, and is not sent again", async () => {
    const connection = await opened(optionsOf(proxy.port));
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    const lost = proxy.lose("request", key);
    expect(await codeOf(connection.run(COUNT, [key], [2]))).toBe("outcome_unknown");
    await lost;
    expect(await connection.run(COUNT, [key], [3])).toEqual([2, "3"]);
  });

  test("of many writes under way, those that were answered are fine, and no other was sent twice", async () => {
    const connection = await opened(optionsOf(proxy.port));
    const key = newKey();
    await connection.run(COUNT, [key], [0]);
    const calls = Array.from({ length: 200 }, async (_, n) => {
      if (n === 100) proxy.cut();
      return codeOf(connection.run(COUNT, [key], [n]));
    });
    const codes = await Promise.all(calls);
    const fine = codes.filter((code) => code === "fine").length;
    const unknown = codes.filter((code) => code === "outcome_unknown").length;
    expect([fine + unknown, unknown > 0]).toEqual([200, true]);
    const count = Number(await connection.run(LOOK, [key], []));
    expect(count).toBeGreaterThanOrEqual(1 + fine);
    expect(count).toBeLessThanOrEqual(1 + fine + unknown);
    expect(await connection.run(COUNT, [key], ["x"])).toEqual([count + 1, "x"]);
  });

  test("a read that is lost is asked again, and nobody notices", async () => {
    const connection = await opened(optionsOf(proxy.port));
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    for (const loss of ["answer", "request"] as const) {
      const lost = proxy.lose(loss, key);
      expect(await connection.run(LOOK, [key], [])).toBe("1");
      await lost;
    }
  });

  test("a server that hangs is not waited for for ever, and what comes after is answered with its own", async () => {
    const connection = await opened({ ...optionsOf(server.port), commandTimeoutMs: 200, connectTimeoutMs: 5_000 });
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    await connection.run(LOOK, [key], []);
    server.pause();
    const codes = await Promise.all([codeOf(connection.run(COUNT, [key], [2])), codeOf(connection.run(LOOK, [key], []))]);
    server.resume();
    expect(codes).toEqual(["outcome_unknown", "unavailable"]);
    const after = await connection.run(LOOK, [key], []);
    expect(["1", "2"]).toContain(after);
    expect(await codeOf(connection.ping())).toBe("fine");
  });
});

describe("an outage", () => {
  test("what could not be sent is unavailable within the limit, and is not sent later", async () => {
    for (const [, optionsOf] of CLIENTS) {
      const connection = await opened({ ...optionsOf(server.port), connectTimeoutMs: 100 });
      const key = newKey();
      await connection.run(COUNT, [key], [1]);
      const lost = once(connection.client, "close");
      await server.kill();
      // what is sent before anybody knows that the server is gone is unknown
      await lost;
      const codes = await Promise.all(Array.from({ length: 3 }, () => codeOf(connection.run(COUNT, [key], [2]))));
      expect(codes).toEqual(Array(3).fill("unavailable"));
      await server.restart();
      const patient = await opened(optionsOf(server.port));
      expect(await patient.run(COUNT, [key], [3])).toEqual([2, "3"]);
    }
  });

  test("calls go on by themselves when the server is back within the limit", async () => {
    const connection = await opened({ url: server.url });
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    await server.kill();
    const calls = Promise.all(Array.from({ length: 5 }, () => connection.run(LOOK, [key], [])));
    await server.restart();
    expect(await calls).toEqual(Array(5).fill("1"));
    expect(await connection.run(COUNT, [key], [2])).toEqual([2, "2"]);
  });

  test("connections that an administrator ends are replaced", async () => {
    const connection = await opened({ url: server.url });
    const key = newKey();
    let fine = 0;
    for (let n = 0; n < 40; n++) {
      const call = codeOf(connection.run(COUNT, [key], [n]));
      if (n % 2 === 1) await admin("CLIENT", "KILL", "TYPE", "normal");
      if ((await call) === "fine") fine += 1;
    }
    expect(fine).toBeGreaterThanOrEqual(20);
    expect(Number(await connection.run(LOOK, [key], []))).toBeGreaterThanOrEqual(fine);
    expect(Number(await connection.run(LOOK, [key], []))).toBeLessThanOrEqual(40);
  });

  test("a server that is not there, a wrong password, a database that does not exist: unavailable at once", async () => {
    const startMs = performance.now();
    await expect(connect({ url: "redis://127.0.0.1:1" })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("ECONNREFUSED"),
    });
    await expect(connect({ url: `${server.url}/999` })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("database does not exist"),
    });
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  test("a server that became a replica is unavailable, and is connected to anew, for its name may mean another", async () => {
    const connection = await opened({ url: server.url });
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    const id = await connection.call("client", "id");
    await admin("REPLICAOF", "127.0.0.1", "1");
    const calls = Array.from({ length: 5 }, () => connection.run(COUNT, [key], [2]));
    for (const call of calls)
      await expect(call).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("only reads") });
    await admin("REPLICAOF", "NO", "ONE");
    expect(await connection.run(COUNT, [key], [3])).toEqual([2, "3"]);
    expect(await connection.call("client", "id")).not.toBe(id);
  });

  test("the end waits for what is under way, and then calls are closed", async () => {
    const connection = await connect({ url: server.url });
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    const call = connection.run(COUNT, [key], [2]);
    await connection.end();
    expect(await call).toEqual([2, "2"]);
    expect(await codeOf(connection.run(COUNT, [key], [3]))).toBe("closed");
    await connection.end();
  });
});

describe("a client of the user's", () => {
  test("is left connected, and without a listener of ours", async () => {
    const client = userClient(new Redis(server.port, "127.0.0.1"));
    const listeners = (): number[] => client.eventNames().map((name) => client.listenerCount(name));
    await client.ping();
    const before = listeners();
    const connection = await connect({ client });
    await connection.run(COUNT, [newKey()], [1]);
    await connection.end();
    expect(listeners()).toEqual(before);
    expect(await client.ping()).toBe("PONG");
  });

  test("that the user has ended is unavailable, and says so", async () => {
    const client = userClient(new Redis(server.port, "127.0.0.1"));
    const connection = await opened({ client });
    const end = once(client, "end");
    await client.quit();
    await end;
    await expect(connection.run(COUNT, [newKey()], [1])).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("has been ended"),
    });
  });

  test("that is not connected yet is connected", async () => {
    const connection = await opened({ client: userClient(new Redis(server.port, "127.0.0.1", { lazyConnect: true })) });
    expect(await connection.run(COUNT, [newKey()], [1])).toEqual([1, "1"]);
  });
});

describe("passwords", async () => {
  const PASSWORD = "s3:cr@t/?#&%";
  const guarded = await startRedis({ settings: { requirepass: PASSWORD } });
  afterAll(() => guarded.stop());
  const urlWith = (password: string): string => `redis://default:${encodeURIComponent(password)}@127.0.0.1:${guarded.port}/0`;

  test("with characters that mean something in a URL", async () => {
    const connection = await opened({ url: urlWith(PASSWORD) });
    expect(await connection.run(COUNT, [newKey()], [1])).toEqual([1, "1"]);
  });

  test("a wrong one, and none, are unavailable at once, and no error repeats them", async () => {
    const startMs = performance.now();
    for (const url of [urlWith("wrong-one"), `redis://:wrong-one@127.0.0.1:${guarded.port}`]) {
      const error: unknown = await connect({ url }).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("refused the user or password") });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("wrong-one");
    }
    expect(await codeOf(connect({ url: `redis://127.0.0.1:${guarded.port}` }))).toBe("unavailable");
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  test("no error of a command carries its arguments", async () => {
    const connection = await opened({ url: server.url });
    const error: unknown = await connection
      .run(scriptOf("return redis.error_reply('OOM no')"), [newKey()], ["a-payload"])
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain("a-payload");
  });
});

describe("replicas that are waited for", async () => {
  const master = await startRedis();
  const replica = await startRedis({ replicaOf: master.port });
  const between = await startProxy(master.port);
  afterAll(async () => {
    for (const one of [between, replica, master]) await one.stop();
  });

  test("a write that they have is fine; one that they do not get in time is outcome_unknown, and there", async () => {
    const connection = await opened({ url: master.url, waitReplicas: { replicas: 1, timeoutMs: 5_000 } });
    const key = newKey();
    expect(await connection.run(COUNT, [key], [1])).toEqual([1, "1"]);
    expect(await redisCommand(replica.port, "GET", key)).toBe("1");
    const impatient = await opened({ url: master.url, waitReplicas: { replicas: 1, timeoutMs: 100 } });
    replica.pause();
    await expect(impatient.run(COUNT, [key], [2])).rejects.toMatchObject({
      code: "outcome_unknown",
      message: expect.stringContaining("0 of 1 replicas"),
    });
    // a read waits for nobody
    expect(await impatient.run(LOOK, [key], [])).toBe("2");
    replica.resume();
  });

  test("one whose connection was lost before they confirmed it is outcome_unknown", async () => {
    const connection = await opened({
      url: `redis://127.0.0.1:${between.port}`,
      waitReplicas: { replicas: 1, timeoutMs: 5_000 },
    });
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    const lost = between.lose("request", "\r\nwait\r\n");
    expect(await codeOf(connection.run(COUNT, [key], [2]))).toBe("outcome_unknown");
    await lost;
    expect(await connection.run(LOOK, [key], [])).toBe("2");
  });
});

describe("TLS", async () => {
  const file = (name: string): string => fileURLToPath(new URL(`./fixtures/tls/${name}.pem`, import.meta.url));
  const port = await freePort();
  const secure = await startRedis({
    settings: {
      "tls-port": String(port),
      "tls-cert-file": file("certificate"),
      "tls-key-file": file("key"),
      "tls-ca-cert-file": file("certificate"),
      "tls-auth-clients": "no",
    },
  });
  afterAll(() => secure.stop());
  const ca = await readFile(file("certificate"));

  test("a rediss URL connects to a server whose certificate is known", async () => {
    const connection = await opened({ url: `rediss://127.0.0.1:${port}`, tls: { ca } });
    expect(await connection.run(COUNT, [newKey()], [1])).toEqual([1, "1"]);
  });

  test("a certificate that nobody knows, and a server that speaks plainly, are unavailable", async () => {
    await expect(connect({ url: `rediss://127.0.0.1:${port}` })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("self-signed certificate"),
    });
    expect(await codeOf(connect({ url: `rediss://127.0.0.1:${secure.port}`, tls: { ca }, connectTimeoutMs: 300 }))).toBe(
      "unavailable",
    );
  });
});

describe("Sentinels", async () => {
  const master = await startRedis();
  const replica = await startRedis({ replicaOf: master.port });
  const sentinel = await startRedisSentinel("main", master.port, 1);
  afterAll(async () => {
    for (const one of [sentinel, replica, master]) await one.stop();
  });

  test("tell where the master is, also after a failover, which nobody notices but by a delay", async () => {
    const connection = await opened({ sentinels: [sentinel.address], name: "main", connectTimeoutMs: 30_000 });
    const key = newKey();
    await connection.run(COUNT, [key], [1]);
    await redisCommand(master.port, "WAIT", "1", "5000");
    await master.kill();
    expect(["fine", "outcome_unknown"]).toContain(await codeOf(connection.run(COUNT, [key], [2])));
    expect(await connection.run(COUNT, [key], [3])).toEqual([expect.any(Number), "3"]);
    expect(await sentinel.masterPort()).toBe(replica.port);
    expect(Number(await redisCommand(replica.port, "GET", key))).toBeGreaterThanOrEqual(2);
  });

  test("that do not know the name, or cannot be reached, are unavailable", async () => {
    for (const options of [
      { sentinels: [sentinel.address], name: "other" },
      { sentinels: ["127.0.0.1:1"], name: "main" },
    ])
      expect(await codeOf(connect({ ...options, connectTimeoutMs: 500 }))).toBe("unavailable");
  });
});

describe("a cluster", async () => {
  const cluster = await startRedisCluster();
  afterAll(() => cluster.stop());
  const [host = "", port = ""] = (cluster.nodes[0] ?? "").split(":");
  const WAYS: readonly (readonly [string, () => object])[] = [
    ["nodes", () => ({ nodes: cluster.nodes })],
    ["a client as it comes", () => ({ client: userClient(new Cluster([{ host, port: Number(port) }])) })],
  ];

  test.each(WAYS)("is told apart and served by %s", async (_, optionsOf) => {
    const connection = await opened(optionsOf());
    expect(connection.isCluster).toBe(true);
    const answers = await Promise.all(Array.from({ length: 50 }, (_unused, n) => connection.run(COUNT, [newKey()], [n])));
    expect(answers).toEqual(answers.map((_unused, n) => [1, String(n)]));
    expect(await connection.infos()).toHaveLength(3);
  });

  test.each(WAYS)("a write whose connection breaks is sent once, by %s", async (_, optionsOf) => {
    const connection = await opened(optionsOf());
    const found = Array.from({ length: 30 }, newKey);
    await Promise.all(found.map((key) => connection.run(COUNT, [key], [1])));
    const codes = new Set<string>();
    for (let round = 0; round < 20; round++) {
      const calls = found.map((key) => codeOf(connection.run(COUNT, [key], [2])));
      await Promise.all(cluster.masters.map((node) => redisCommand(node.port, "CLIENT", "KILL", "TYPE", "normal")));
      for (const code of await Promise.all(calls)) codes.add(code);
    }
    expect([...codes].every((code) => code === "fine" || code === "outcome_unknown")).toBe(true);
    for (const key of found) expect(Number(await connection.run(LOOK, [key], []))).toBeLessThanOrEqual(21);
  });

  test.each(WAYS)("a write that is told to go to another node (ASK, MOVED) goes there, by %s", async (_, optionsOf) => {
    const connection = await opened(optionsOf());
    const key = newKey();
    let count = 0;
    const next = async (): Promise<void> => {
      count += 1;
      expect(await connection.run(COUNT, [key], ["x"])).toEqual([count, "x"]);
    };
    await next();
    await moveSlot(cluster, await slotOf(cluster, key), next);
    await next();
    expect(count).toBeGreaterThanOrEqual(4);
  });

  test("is opened by the nodes that are there, if some of those that are named are not", async () => {
    const connection = await opened({ nodes: ["127.0.0.1:1", "127.0.0.1:2", ...cluster.nodes] });
    expect(await connection.run(COUNT, [newKey()], [1])).toEqual([1, "1"]);
    await expect(connect({ nodes: ["127.0.0.1:1", "127.0.0.1:2"] })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("could not be made"),
    });
  });

  test("a plain URL of one of its nodes is told how to open it", async () => {
    const connection = await opened({ url: `redis://${cluster.nodes[0]}` });
    const codes = await Promise.all(
      Array.from({ length: 9 }, () => connection.run(COUNT, [newKey()], [1]).catch((error: Error) => error.message)),
    );
    expect(codes).toContainEqual(expect.stringContaining("cluster=true"));
  });

  test("a server that is no cluster is told how to open it", async () => {
    await expect(connect({ nodes: [`127.0.0.1:${server.port}`] })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("redis({ url })"),
    });
  });
});
