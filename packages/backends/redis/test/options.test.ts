import { inspect } from "node:util";
import { RheoError } from "@rheo/core";
import { optionsFromUrl, resolveOptions } from "@rheo/redis/internal";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";

const DEFAULTS = {
  prefix: "rheo",
  notify: true,
  allowEviction: false,
  waitReplicas: null,
  connectTimeoutMs: 10_000,
  commandTimeoutMs: 10_000,
};
const NOBODY = { username: null, password: null, tls: null };

const failureOf = (options: unknown): RheoError => {
  try {
    resolveOptions(options);
  } catch (error) {
    if (RheoError.is(error)) return error;
    throw error;
  }
  throw new Error("no error");
};

describe("options", () => {
  test("of one server", () => {
    expect(resolveOptions({ url: "redis://localhost" })).toEqual({
      source: { kind: "server", address: { host: "localhost", port: 6_379 }, database: 0, ...NOBODY },
      ...DEFAULTS,
    });
    expect(resolveOptions({ url: "rediss://me:p%40ss:w%2Ford@[::1]:7000/3", tls: { servername: "x" } }).source).toEqual({
      kind: "server",
      address: { host: "::1", port: 7_000 },
      database: 3,
      username: "me",
      password: "p@ss:w/ord",
      tls: { servername: "x" },
    });
  });

  test("of a cluster and of sentinels", () => {
    expect(resolveOptions({ nodes: ["a", "b:7000", { host: "c", port: 1 }], password: "p", tls: true }).source).toEqual({
      kind: "cluster",
      nodes: [
        { host: "a", port: 6_379 },
        { host: "b", port: 7_000 },
        { host: "c", port: 1 },
      ],
      username: null,
      password: "p",
      tls: {},
    });
    expect(resolveOptions({ sentinels: ["a"], name: "m", sentinelPassword: "s", database: 2 }).source).toEqual({
      kind: "sentinel",
      sentinels: [{ host: "a", port: 26_379 }],
      name: "m",
      database: 2,
      sentinelUsername: null,
      sentinelPassword: "s",
      ...NOBODY,
    });
  });

  test("in common", () => {
    const common = {
      prefix: "a.b:c_d-9",
      notify: false,
      allowEviction: true,
      waitReplicas: { replicas: 2 },
      connectTimeoutMs: 5,
      commandTimeoutMs: 7,
    };
    expect(resolveOptions({ url: "redis://h", ...common })).toMatchObject({
      ...common,
      waitReplicas: { replicas: 2, timeoutMs: 6 },
    });
  });

  test.each<[unknown, string, RegExp]>([
    [undefined, "url", /one of url, nodes, sentinels, client/],
    [{}, "url", /one of/],
    [{ url: "redis://a", nodes: ["b"] }, "url", /one of/],
    [{ url: "redis://a", schema: "x" }, "schema", /unknown option "schema".*prefix/],
    [{ url: "redis://a", name: "m" }, "name", /unknown option/],
    [{ nodes: ["a"], database: 1 }, "database", /unknown option/],
    [{ url: 1 }, "url", /redis:\/\/user:password@host/],
    [{ url: "http://a" }, "url", /redis:\/\/user:password@host/],
    [{ url: "redis://a@b@c" }, "url", /%40/],
    [{ url: "redis://a:%zz@b" }, "url", /percent/],
    [{ url: "redis://a/one" }, "url", /number of a database/],
    [{ url: "redis://a:99999" }, "url", /port/],
    [{ url: "redis://a:0" }, "url", /port/],
    [{ url: "redis://a,b" }, "url", /several hosts.*nodes.*sentinels/],
    [{ url: "redis://a?prefix=x" }, "url", /beside/],
    [{ url: "redis://a", tls: {} }, "tls", /rediss/],
    [{ url: "rediss://a", tls: false }, "tls", /tls\.connect/],
    [{ nodes: [] }, "nodes", /at least one/],
    [{ nodes: "a" }, "nodes", /array/],
    [{ nodes: ["a b"] }, "nodes", /address/],
    [{ nodes: [{ host: "", port: 1 }] }, "nodes", /address/],
    [{ nodes: [{ host: "a", port: 70_000 }] }, "nodes", /port/],
    [{ sentinels: ["a"] }, "name", /mymaster/],
    [{ sentinels: ["a"], name: "m", database: -1 }, "database", /whole number/],
    [{ nodes: ["a"], password: 5 }, "password", /string; got number/],
    [{ url: "redis://a", notify: "yes" }, "notify", /true or false/],
    [{ url: "redis://a", connectTimeoutMs: 0 }, "connectTimeoutMs", /from 1/],
    [{ url: "redis://a", waitReplicas: { replicas: 0 } }, "waitReplicas.replicas", /from 1/],
    [{ url: "redis://a", waitReplicas: { replicas: 1, timeoutMs: 10_000 } }, "waitReplicas.timeoutMs", /9999/],
    [{ url: "redis://a", waitReplicas: { count: 1 } }, "count", /unknown option/],
    [{ client: {} }, "client", /ioredis/],
    [{ client: "redis://a" }, "client", /ioredis/],
  ])("%j is refused", (options, path, message) => {
    expect(failureOf(options)).toMatchObject({
      code: "invalid_option",
      message: expect.stringMatching(message),
      details: { path },
    });
  });

  test.each(["", "a b", "a{b}", "a*", "x".repeat(61), "é", 5])("the prefix %j is refused", (prefix) => {
    expect(failureOf({ url: "redis://a", prefix })).toMatchObject({ code: "invalid_name", details: { path: "prefix" } });
  });

  test("no error repeats a password", () => {
    for (const options of [
      { url: "redis://u:secret@h:x" },
      { url: "redis://u:secret@h@h" },
      { url: "redis://u:secret@h?x=1" },
      { url: "redis://u:secret%zz@h" },
      { url: "redis://u:secret@h/x" },
      { nodes: ["redis://u:secret@h"] },
    ])
      expect(inspect(failureOf(options), { depth: 9 })).not.toContain("secret");
  });
});

describe("a client of the user's", () => {
  const clients: (Redis | Cluster)[] = [];
  afterAll(() => {
    for (const client of clients) client.disconnect();
  });
  const clientOf = (options: Omit<RedisOptions, "replyMapping"> & { replyMapping?: "resp3" }): Redis => {
    const client = new Redis({ ...options, lazyConnect: true }) as Redis; // also one that answers in other shapes
    clients.push(client);
    return client;
  };
  const clusterOf = (options: object): Cluster => {
    const client = new Cluster(["127.0.0.1:1"], { ...options, lazyConnect: true });
    clients.push(client);
    return client;
  };

  test("is taken as it is", () => {
    for (const client of [clientOf({}), clientOf({ maxRetriesPerRequest: null, db: 2 }), clusterOf({})])
      expect(resolveOptions({ client }).source).toEqual({ kind: "client", client });
  });

  test.each<[string, () => Redis | Cluster]>([
    ["keyPrefix", () => clientOf({ keyPrefix: "x:" })],
    ["keyPrefix", () => clusterOf({ keyPrefix: "x:" })],
    ["keyPrefix", () => clusterOf({ redisOptions: { keyPrefix: "x:" } })],
    ["readOnly", () => clientOf({ readOnly: true })],
    ["role", () => clientOf({ sentinels: [{ host: "a", port: 1 }], name: "m", role: "slave" })],
    ["scaleReads", () => clusterOf({ scaleReads: "slave" })],
    ["stringNumbers", () => clientOf({ stringNumbers: true })],
    ["stringNumbers", () => clusterOf({ redisOptions: { stringNumbers: true } })],
    ["replyMapping", () => clientOf({ replyMapping: "resp3" })],
    ["monitor", () => clientOf({ monitor: true })],
  ])("that is set to %s is refused, and told why", (name, make) => {
    expect(failureOf({ client: make() })).toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(`"${name}"`),
      details: { path: "client" },
    });
  });
});

describe("a URL", () => {
  test("of one server, with options", () => {
    expect(
      optionsFromUrl(
        "redis://u:p@h:1/2?prefix=x&notify=false&allowEviction=true&connectTimeoutMs=5&commandTimeoutMs=6&waitReplicas=2&waitTimeoutMs=3",
      ),
    ).toEqual({
      url: "redis://u:p@h:1/2",
      prefix: "x",
      notify: false,
      allowEviction: true,
      connectTimeoutMs: 5,
      commandTimeoutMs: 6,
      waitReplicas: { replicas: 2, timeoutMs: 3 },
    });
  });

  test("of a cluster, and of sentinels", () => {
    expect(resolveOptions(optionsFromUrl("rediss://u:p@a,b:7000?cluster=true&prefix=x"))).toMatchObject({
      source: { kind: "cluster", nodes: [{ host: "a" }, { host: "b", port: 7_000 }], username: "u", password: "p", tls: {} },
      prefix: "x",
    });
    expect(
      resolveOptions(optionsFromUrl("redis://:p@a,b:7000/4?sentinel=m&sentinelUsername=su&sentinelPassword=sp")).source,
    ).toMatchObject({
      kind: "sentinel",
      sentinels: [
        { host: "a", port: 26_379 },
        { host: "b", port: 7_000 },
      ],
      name: "m",
      database: 4,
      password: "p",
      sentinelUsername: "su",
      sentinelPassword: "sp",
    });
    expect(resolveOptions(optionsFromUrl("redis://h?cluster=false")).source).toMatchObject({ kind: "server" });
  });

  test.each<[string, RegExp]>([
    ["redis://h?family=0", /unknown parameter, "family".*Known: .*prefix/],
    ["redis://h?__proto__=1", /unknown parameter/],
    ["redis://h?notify=1", /true or false/],
    ["redis://h?notify=true&notify=false", /twice/],
    ["redis://h?connectTimeoutMs=soon", /whole number/],
    ["redis://h?connectTimeoutMs=", /whole number/],
    ["redis://h?waitTimeoutMs=5", /goes with waitReplicas/],
    ["redis://h?sentinelPassword=x", /goes with sentinel/],
    ["redis://h?cluster=true&sentinel=m", /not of both/],
    ["redis://h/3?cluster=true", /database 0 only/],
    ["redis://a,b", /cluster=true.*sentinel=/],
    ["redis://h?prefix=a%7Bb", /prefix has/],
  ])("%s is refused", (url, message) => {
    expect(() => resolveOptions(optionsFromUrl(url))).toThrow(message);
  });
});
