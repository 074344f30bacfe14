/** Faults that come with Redis: links that go dead, shared clients, entries that somebody deleted, time-outs. Named by their ids. */
import { Rheo, type RheoErrorCode } from "@rheo/core";
import { redis } from "@rheo/redis";
import { supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { redisCommand, startRedis } from "@rheo/testing/servers";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { hasRedis, numbers, serverOf, until } from "./corpus-stores.ts";

const isThere = hasRedis("redis");
let prefixes = 0;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const codeOf = (call: Promise<unknown>): Promise<RheoErrorCode | "fine"> =>
  call.then(
    () => "fine" as const,
    (error: { code: RheoErrorCode }) => error.code,
  );

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe.runIf(isThere)("on redis", () => {
  const server = serverOf(() => startRedis({ settings: { appendonly: "yes", appendfsync: "always" } }));

  const open = async (options: Parameters<typeof redis>[0] = { url: server().url }): Promise<Rheo> => {
    const rheo = await Rheo.open({ backend: redis({ prefix: `corpus${++prefixes}`, ...options }) });
    ends.push(() => rheo.close());
    await rheo.createStream("s", { partitions: 1 });
    await rheo.createGroup("s", "g", { leaseMs: 1_000 });
    return rheo;
  };

  test("B107 B110 a server that stands still, and goes on: consumers get what comes after, without a restart", async () => {
    const rheo = await open({ url: server().url, connectTimeoutMs: 500, commandTimeoutMs: 500 });
    const seen: unknown[] = [];
    const app = await supervise({
      rheo,
      logger: silent,
      consumers: [{ stream: "s", group: "g", pollMs: 50, handler: handler(({ payload }) => void seen.push(payload)) }],
    });
    ends.push(() => app.stop());
    for (const round of numbers(3)) {
      server().pause();
      const during = await codeOf(rheo.append("s", { id: `during-${round}`, payload: `during ${round}` }));
      expect(["unavailable", "outcome_unknown"]).toContain(during);
      server().resume();
      await until(
        "it takes events again",
        async () => (await codeOf(rheo.append("s", { id: `a${round}`, payload: round }))) === "fine",
      );
      await until("it was handled", () => seen.includes(round));
    }
  });

  test("B108 a client of the user's answers appends, acks and looks at once while a fetch waits, and is never blocked", async () => {
    const client = new Redis(server().url);
    ends.push(async () => client.disconnect());
    const rheo = await open({ client });
    const order: string[] = [];
    const waiting = rheo.fetch("s", "g", { waitMs: 60_000, consumerId: "waits" }).then((leases) => {
      order.push("fetch");
      return leases;
    });
    for (const _ of numbers(3)) await rheo.lag("s", "g");
    order.push("looked");
    expect(await redisCommand(server().port, "CLIENT", "LIST", "TYPE", "NORMAL")).not.toMatch(
      /cmd=(xread|xreadgroup|blpop|bzpopmin)/,
    );
    await rheo.append("s", { payload: 1 });
    const [lease] = await waiting;
    if (lease === undefined) return expect.unreachable("nothing came");
    await rheo.ack(lease);
    expect(order).toEqual(["looked", "fetch"]);
    await rheo.close();
    expect(await client.ping()).toBe("PONG");
  });

  test("B109 after a connection was cut everything goes on in the database that was chosen, and nothing twice", async () => {
    const rheo = await open({ url: `${server().url}/3` });
    const before = await redisCommand(server().port, "INFO", "keyspace");
    for (const n of numbers(20)) {
      if (n % 5 === 0) await redisCommand(server().port, "CLIENT", "KILL", "TYPE", "normal");
      await until("it is stored", async () => (await codeOf(rheo.append("s", { id: `e${n}`, payload: n }))) === "fine");
    }
    const leases = await rheo.fetch("s", "g", { limit: 100 });
    expect(leases.map(({ event, attempt }) => [event.payload, attempt])).toEqual(numbers(20).map((n) => [n, 1]));
    const others = (text: string): string[] => text.split(/\r?\n/).filter((line) => /^db[^3]/.test(line));
    expect(others(await redisCommand(server().port, "INFO", "keyspace")).map((line) => line.split(",")[0])).toEqual(
      others(before).map((line) => line.split(",")[0]),
    );
  });

  test("B110 a client that tries for ever, and a server that is gone: calls end by themselves, so does a stop, and nothing is sent late", async () => {
    const own = await startRedis({ settings: { appendonly: "yes", appendfsync: "always" } });
    ends.push(() => own.stop());
    const client = new Redis(own.url, { maxRetriesPerRequest: null });
    client.on("error", () => undefined);
    ends.push(async () => client.disconnect());
    const rheo = await open({ client, connectTimeoutMs: 300, commandTimeoutMs: 300 });
    await rheo.append("s", { payload: 1 });
    const [lease] = await rheo.fetch("s", "g");
    if (lease === undefined) return expect.unreachable("nothing came");
    const app = await supervise({
      rheo,
      logger: silent,
      consumers: [{ stream: "s", group: "g", handler: handler(() => undefined) }],
    });
    await own.kill();
    const codes = await Promise.all([
      codeOf(rheo.append("s", { payload: 2 })),
      codeOf(rheo.ack(lease)),
      codeOf(rheo.lag("s", "g")),
    ]);
    for (const code of codes) expect(["unavailable", "outcome_unknown"]).toContain(code);
    await app.stop();
    await own.restart();
    await until("the client is back", async () => (await codeOf(rheo.ping())) === "fine");
    expect(await rheo.lag("s", "g")).toMatchObject({ lag: 1, partitions: [{ highWatermark: 1 }] });
  });

  test("B111 B113 entries that somebody deleted by hand, before and after they were given out: the others come whole, these die by themselves, and the lag is exact", async () => {
    const rheo = await open();
    const prefix = `corpus${prefixes}`;
    await rheo.appendMany(
      "s",
      numbers(8).map((payload) => ({ payload })),
    );
    expect(await rheo.fetch("s", "g", { limit: 5, consumerId: "gone", leaseMs: 1 })).toHaveLength(5);
    await redisCommand(server().port, "XDEL", `${prefix}:{s/0}:log`, "2-0", "4-0", "7-0");
    const seen = new Map<number, unknown>();
    const app = await supervise({
      rheo,
      logger: silent,
      consumers: [
        { stream: "s", group: "g", pollMs: 10, handler: handler(({ sequence, payload }) => void seen.set(sequence, payload)) },
      ],
    });
    ends.push(() => app.stop());
    await until("all is settled", async () => (await rheo.lag("s", "g")).lag === 0);
    expect([...seen].toSorted(([one], [other]) => one - other)).toEqual([1, 3, 5, 6, 8].map((n) => [n, n]));
    expect((await rheo.deadLetters("s", "g")).map(({ sequence, event }) => [sequence, event])).toEqual(
      [2, 4, 7].map((n) => [n, null]),
    );
    expect(await rheo.leases("s", "g")).toEqual([]);
  });

  test("B115 a server that loads, forgets its scripts, is demoted and promoted again: work goes on by itself", async () => {
    const rheo = await open();
    const admin = (...words: string[]): Promise<string> => redisCommand(server().port, ...words);
    const steps: (() => Promise<unknown>)[] = [
      () => admin("SCRIPT", "FLUSH"),
      async () => {
        await admin("REPLICAOF", "127.0.0.1", "1");
        expect(await codeOf(rheo.append("s", { payload: "refused" }))).toBe("unavailable");
        await admin("REPLICAOF", "NO", "ONE");
      },
      async () => {
        await server().kill();
        await server().restart();
      },
    ];
    for (const [n, step] of steps.entries()) {
      await step();
      await until("it is stored", async () => (await codeOf(rheo.append("s", { id: `e${n}`, payload: n }))) === "fine");
    }
    const leases = await rheo.fetch("s", "g");
    expect(leases.map(({ event }) => event.payload)).toEqual([0, 1, 2]);
  });
});
