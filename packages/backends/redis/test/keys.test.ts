/** Names of keys: none meets another, each partition's are in one hash slot, and what is removed leaves none. */
import type { Backend, SettleOutcome } from "@rheo/core";
import { LAYOUT_VERSION } from "@rheo/redis/internal";
import { startRedis } from "@rheo/testing/servers";
import { Command, Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { acks, event, fetching, GROUP, OPTIONS, openBackend, STREAM, settling } from "./fixtures/scene.ts";
import { keysOf, newPrefix } from "./fixtures/store.ts";

const server = await startRedis();
const client = new Redis(server.url);
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const open = (prefix: string): Promise<Backend> => openBackend({ url: server.url, prefix, notify: false });

/** The hash slot of a key, as the driver has it. */
const slotOf = (key: string): number => new Command("exists", [key]).getSlot();

/** Everything that a group can have: leases, exceptions of each kind, dead letters, revocations. Leases are of 1 ms of real time. */
const busy = async (backend: Backend, stream: string, partitions: number, group: string): Promise<void> => {
  await backend.createStream(stream, partitions);
  await backend.createGroup(stream, group, { ...OPTIONS, leaseMs: 1 }, { kind: "earliest" });
  const events = Array.from({ length: partitions * 8 }, (_, n) => event(n, n % partitions));
  await backend.append([{ stream, partitions, events }]);
  const { grants } = await backend.exchange({ ...fetching(partitions * 4), stream, group });
  const failure = { reason: "r", stack: null };
  const outcomes: readonly SettleOutcome[] = [
    { kind: "retry", delayMs: 60_000, ...failure },
    { kind: "retry", delayMs: 0, ...failure },
    { kind: "reject", ...failure },
  ];
  for (const { partition, token, events } of grants) {
    const settlements = outcomes.map((outcome, n) => ({ partition, token, sequences: [events[n]?.sequence ?? 0], outcome }));
    await backend.exchange({ ...settling(settlements), stream, group });
  }
  await new Promise((resolve) => setTimeout(resolve, 3));
  await backend.exchange({ ...fetching(1_000), stream, group });
};

describe("keys", () => {
  test("of one partition are in one slot, with those of its groups, and partitions are spread over slots", async () => {
    const prefix = newPrefix();
    const backend = await open(prefix);
    await busy(backend, STREAM, 6, GROUP);
    const slots = new Map<string, Set<number>>();
    for (const key of await keysOf(client, prefix)) {
      const [, tag = ""] = /\{(.*)\}/.exec(key) ?? [];
      slots.set(tag, (slots.get(tag) ?? new Set()).add(slotOf(key)));
    }
    expect([...slots.keys()].sort()).toEqual(
      ["catalog", ...Array.from({ length: 6 }, (_, n) => [`${STREAM}/${n}`, `${STREAM}/ids/${n}`]).flat()].sort(),
    );
    for (const [tag, found] of slots) expect([tag, found.size]).toEqual([tag, 1]);
    expect(new Set([...slots.values()].flatMap((found) => [...found])).size).toBe(slots.size);
    await backend.close();
  });

  test("of names that look like parts of others do not meet", async () => {
    const prefix = newPrefix();
    const names = ["ids", "catalog", "g", "log", "head", "a", "a.b", "a-b", "0", "1", "ids.0", "A"];
    // a prefix may contain colons, and end like the beginning of a key
    const prefixes = [prefix, `${prefix}:`, `${prefix}:a`, `${prefix}:catalog`];
    const backends = await Promise.all(prefixes.map(open));
    for (const backend of backends)
      for (const [n, stream] of names.entries()) {
        await backend.createStream(stream, 2);
        for (const group of names) await backend.createGroup(stream, group, OPTIONS, { kind: "earliest" });
        await backend.append([{ stream, partitions: 2, events: Array.from({ length: n + 1 }, () => event(stream)) }]);
      }
    for (const backend of backends)
      for (const [n, stream] of names.entries()) {
        expect((await backend.watermarks(stream))[0]?.highWatermark).toBe(n + 1);
        for (const group of names) {
          const { grants } = await backend.exchange({ ...fetching(100), stream, group });
          expect(grants[0]?.events.map(({ payload }) => payload)).toEqual(new Array(n + 1).fill(JSON.stringify(stream)));
        }
      }
    const [first, ...others] = backends;
    await first?.deleteStream("a");
    for (const backend of others) expect((await backend.watermarks("a"))[0]?.highWatermark).toBe(6);
    expect((await first?.watermarks("a.b"))?.[0]?.highWatermark).toBe(7);
    for (const backend of backends) await backend.close();
  });

  test("of what was removed are gone: a group's, and then everything but the catalog's own", async () => {
    const prefix = newPrefix();
    const backend = await open(prefix);
    await busy(backend, STREAM, 2, GROUP);
    const kinds = (await keysOf(client, prefix)).map((key) => /\}:g:[^:]+:?(.*)$/.exec(key)?.[1]).filter(Boolean);
    expect(new Set(kinds).size).toBe(9);
    await backend.deleteGroup(STREAM, GROUP);
    expect((await keysOf(client, prefix)).filter((key) => key.includes(":g:"))).toEqual([]);
    await busy(backend, STREAM, 2, GROUP);
    await backend.deleteStream(STREAM);
    expect(await keysOf(client, prefix)).toEqual([`${prefix}:{catalog}:meta`]);
    await backend.close();
  });

  test("left by a drained group: its own hash and its members, whatever the number of events", async () => {
    const prefix = newPrefix();
    const backend = await open(prefix);
    await backend.createStream(STREAM, 1);
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    await backend.append([{ stream: STREAM, partitions: 1, events: Array.from({ length: 500 }, () => event()) }]);
    for (let n = 0; n < 5; n++) {
      const { grants } = await backend.exchange(fetching(100));
      await backend.exchange(settling(acks(grants)));
    }
    const group = `${prefix}:{${STREAM}/0}:g:${GROUP}`;
    expect((await keysOf(client, prefix)).filter((key) => key.includes(":g:"))).toEqual([group, `${group}:members`]);
    await backend.close();
  });
});

describe("the layout", () => {
  test("of a newer version is refused as schema_outdated, and so is none at all without migrate", async () => {
    const prefix = newPrefix();
    const { redis } = await import("@rheo/redis");
    const closed = redis({ url: server.url, prefix, notify: false });
    await expect(closed.open({ clock: null, migrate: false })).rejects.toMatchObject({ code: "schema_outdated" });
    expect(await keysOf(client, prefix)).toEqual([]);
    const backend = await open(prefix);
    expect(await client.hget(`${prefix}:{catalog}:meta`, "layout")).toBe(String(LAYOUT_VERSION));
    await backend.close();
    await closed.open({ clock: null, migrate: false });
    await closed.close();
    await client.hset(`${prefix}:{catalog}:meta`, "layout", LAYOUT_VERSION + 1);
    await expect(open(prefix)).rejects.toMatchObject({ code: "schema_outdated" });
    expect(await client.hget(`${prefix}:{catalog}:meta`, "layout")).toBe(String(LAYOUT_VERSION + 1));
    await client.hset(`${prefix}:{catalog}:meta`, "layout", LAYOUT_VERSION - 1);
    await expect(closed.open({ clock: null, migrate: false })).rejects.toMatchObject({ code: "schema_outdated" });
    await (await open(prefix)).close();
    expect(await client.hget(`${prefix}:{catalog}:meta`, "layout")).toBe(String(LAYOUT_VERSION));
  });
});
