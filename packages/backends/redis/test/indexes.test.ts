/** Indexes by content: what they hold, what they cost, and that they answer as a look at every event does. */
import { type Filter, type Query, Rheo } from "@rheo/core";
import { redis } from "@rheo/redis";
import { LOGS } from "@rheo/redis/internal";
import { startRedis } from "@rheo/testing/servers";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { newPrefix } from "./fixtures/store.ts";

const server = await startRedis();
const client = new Redis(server.url);
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const open = async (partitions = 1): Promise<{ rheo: Rheo; prefix: string }> => {
  const prefix = newPrefix();
  const rheo = await Rheo.open({ backend: redis({ url: server.url, prefix, notify: false }) });
  await rheo.createStream("s", { partitions });
  return { rheo, prefix };
};

const indexKeys = (prefix: string): Promise<string[]> => client.keys(`${prefix}:{s/*}:x:*`);

/** Entries of logs that were read while `work` ran. */
const entriesRead = async (prefix: string, work: () => Promise<unknown>): Promise<number> => {
  const asking = new Redis(server.url);
  const monitor = await asking.monitor(); // on a connection of its own
  let read = 0;
  monitor.on("monitor", (_time: string, [command, key, from, to]: string[]) => {
    if (command === "XRANGE" && key?.startsWith(`${prefix}:`)) read += Number(to) - Number(from) + 1;
    if (command === "XREVRANGE" && key?.startsWith(`${prefix}:`)) read += Number(from) - Number(to) + 1;
  });
  await work();
  await client.ping();
  await new Promise((resolve) => setImmediate(resolve));
  monitor.disconnect();
  asking.disconnect();
  return read;
};

const values = fc.oneof(
  fc.constantFrom("", "a", "ab", "b", "ä", "x".repeat(128), "x".repeat(129), `${"x".repeat(128)}y`),
  fc.constantFrom(0, -0, 1, -1, 1.5, 1e21, 1e-7, 123_456_789_012_345),
  fc.constantFrom(null, true, false),
  fc.constantFrom([], {}, [1], { a: 1 }),
);

test("an index answers as a look at every event does, whatever the values, bounds and order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(values, { minLength: 1, maxLength: 40 }),
      values,
      fc.record({
        after: fc.nat(20),
        order: fc.constantFrom("asc" as const, "desc" as const),
        limit: fc.integer({ min: 1, max: 50 }),
      }),
      async (payloads, wanted, { after, order, limit }) => {
        const { rheo } = await open(2);
        const half = Math.floor(payloads.length / 2);
        const inputs = payloads.map((v, n) => ({ payload: { v }, partition: n % 2 }));
        await rheo.appendMany("s", inputs.slice(0, half + 1));
        const query = (path: string): Query => ({
          where: { [path]: { eq: wanted } } as Filter,
          afterSequence: after,
          order,
          limit,
        });
        await rheo.createIndex("s", "payload.v");
        if (inputs.length > half + 1) await rheo.appendMany("s", inputs.slice(half + 1));
        const places = async (where: Query): Promise<string[]> =>
          (await rheo.query("s", where)).map(({ partition, sequence }) => `${partition}/${sequence}`);
        const found = await places(query("payload.v"));
        await rheo.dropIndex("s", "payload.v");
        expect(found).toEqual(await places(query("payload.v")));
        await rheo.close();
      },
    ),
    { numRuns: 60 * Number(process.env.RHEO_RUNS ?? 1), seed: Number(process.env.RHEO_SEED ?? 11) },
  );
});

describe("an index", () => {
  test("reads the events that it names and no others", async () => {
    const { rheo, prefix } = await open();
    for (let n = 0; n < 5; n++)
      await rheo.appendMany(
        "s",
        Array.from({ length: 1_000 }, (_, at) => ({ key: `k${at % 500}`, payload: n, metadata: { correlationId: `c${at}` } })),
      );
    const byKey = (): Promise<unknown> => rheo.query("s", { key: "k7", limit: 100 });
    expect(await entriesRead(prefix, byKey)).toBe(5_000);
    await rheo.createIndex("s", "key");
    await rheo.createIndex("s", "correlationId");
    expect(await entriesRead(prefix, byKey)).toBe(10);
    expect(await entriesRead(prefix, () => rheo.query("s", { correlationId: "c9", order: "desc" }))).toBe(5);
    expect(await rheo.query("s", { key: "k7", where: { payload: 3 } })).toHaveLength(2);
    expect(await entriesRead(prefix, () => rheo.query("s", { where: { or: [{ key: "k7" }, { key: "k8" }] } }))).toBe(5_000);
    await rheo.close();
  });

  test("lets go of what is trimmed, and goes with its stream", async () => {
    const { rheo, prefix } = await open(2);
    const inputs = Array.from({ length: 3_000 }, (_, n) => ({ key: `k${n}`, payload: n, partition: n % 2 }));
    for (let from = 0; from < inputs.length; from += 1_000) await rheo.appendMany("s", inputs.slice(from, from + 1_000));
    await rheo.createIndex("s", "key");
    const sizes = async (): Promise<number[]> => Promise.all((await indexKeys(prefix)).map((key) => client.zcard(key)));
    expect(await sizes()).toEqual([1_500, 1_500]);
    await rheo.trim("s", { keepLast: 100 });
    expect(await sizes()).toEqual([100, 100]);
    expect(await rheo.query("s", { key: "k1" })).toEqual([]);
    expect(await rheo.query("s", { key: "k2999" })).toHaveLength(1);
    await rheo.deleteStream("s", { confirm: true });
    expect(await indexKeys(prefix)).toEqual([]);
    await rheo.createStream("s");
    expect(await rheo.listIndexes("s")).toEqual([]);
    await rheo.close();
  });

  test("that was left half built is not used, and is built on", async () => {
    const { rheo, prefix } = await open();
    await rheo.appendMany("s", [{ key: "a", payload: 1 }]);
    const { nonce } = JSON.parse(String(await client.hget(`${prefix}:{catalog}:streams`, "s"))) as { nonce: string };
    await rheo.createIndex("s", "key");
    const [key = ""] = await indexKeys(prefix);
    const definition = { name: key.slice(-16), path: "key", root: "key", segments: [] };
    await rheo.dropIndex("s", "key");
    await client.eval(LOGS.beginIndex.text, 1, `${prefix}:{s/0}:head`, nonce, "", "", "", JSON.stringify(definition)); // and dies
    await rheo.append("s", { key: "a", payload: 2 });
    expect([await rheo.listIndexes("s"), (await rheo.query("s", { key: "a" })).length]).toEqual([[], 2]);
    await rheo.createIndex("s", "key");
    expect([await rheo.listIndexes("s"), (await rheo.query("s", { key: "a" })).length]).toEqual([["key"], 2]);
    expect(await client.zcard(key)).toBe(2);
    await rheo.close();
  });

  test("is one under a short path and a long one", async () => {
    const { rheo } = await open();
    await rheo.createIndex("s", "correlationId");
    await rheo.createIndex("s", "metadata.correlationId");
    expect(await rheo.listIndexes("s")).toEqual(["correlationId"]);
    expect(await rheo.dropIndex("s", "metadata.correlationId")).toBe(true);
    await rheo.close();
  });

  test("costs nothing where there is none: an append reads and writes what it did", async () => {
    const { rheo, prefix } = await open();
    await rheo.append("s", { key: "a", payload: 1 });
    expect(await indexKeys(prefix)).toEqual([]);
    expect(await client.hget(`${prefix}:{s/0}:head`, "indexes")).toBeNull();
    await rheo.close();
  });
});
