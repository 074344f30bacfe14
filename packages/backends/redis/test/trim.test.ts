/** What a trim leaves of the log, of the ids and of groups. */
import type { Backend, TrimRequest } from "@rheo/core";
import { LOGS } from "@rheo/redis/internal";
import { startRedis } from "@rheo/testing/servers";
import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { drain, event, fetching, GROUP, OPTIONS, openBackend, STREAM } from "./fixtures/scene.ts";
import { newPrefix } from "./fixtures/store.ts";

const server = await startRedis();
const client = new Redis(server.url);
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const EVENTS = 2_500;

interface Scene {
  readonly backend: Backend;
  readonly prefix: string;
  readonly ids: readonly string[];
}

const open = async (): Promise<Scene> => {
  const prefix = newPrefix();
  const backend = await openBackend({ url: server.url, prefix, notify: false });
  await backend.createStream(STREAM, 2);
  const events = Array.from({ length: EVENTS }, (_, n) => event(n));
  await backend.append([{ stream: STREAM, partitions: 2, events }]);
  return { backend, prefix, ids: events.map(({ id }) => id) };
};

const keepLast = (last: number, force = false): TrimRequest => ({
  stream: STREAM,
  cut: { kind: "keep", last },
  partitions: null,
  force,
  dryRun: false,
});

const idCount = async (prefix: string): Promise<number> => {
  const counts = await Promise.all([0, 1].map((shard) => client.hlen(`${prefix}:{${STREAM}/ids/${shard}}`)));
  return counts.reduce((sum, count) => sum + count, 0);
};

/** Trims as a process does that dies before it has swept anything away. */
const trimAndDie = async (prefix: string, keep: number): Promise<void> => {
  const { nonce } = JSON.parse(String(await client.hget(`${prefix}:{catalog}:streams`, STREAM))) as { nonce: string };
  const heads = [0, 1].map((partition) => `${prefix}:{${STREAM}/${partition}}:head`);
  await client.eval(LOGS.trim.text, 2, ...heads, nonce, "", "", "", "", "keep", keep, "0", "", "");
};

describe("a trim", () => {
  test("removes entries and their ids, page by page, and nothing else", async () => {
    const { backend, prefix, ids } = await open();
    expect(await backend.trim(keepLast(200))).toEqual({ removed: EVENTS - 200, heldBack: 0, more: false });
    expect(await client.xlen(`${prefix}:{${STREAM}/0}:log`)).toBe(200);
    expect(await idCount(prefix)).toBe(200);
    const found = await backend.readIds(STREAM, ids);
    expect(found.filter((record) => record !== null).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 200 }, (_, n) => EVENTS - 200 + n + 1),
    );
    await backend.close();
  });

  test("of everything keeps where the log stands", async () => {
    const { backend } = await open();
    await backend.trim(keepLast(0));
    expect((await backend.watermarks(STREAM))[0]).toEqual({ partition: 0, firstSequence: EVENTS + 1, highWatermark: EVENTS });
    const [answer] = await backend.append([{ stream: STREAM, partitions: 2, events: [event()] }]);
    expect(answer).toMatchObject({ events: [{ sequence: EVENTS + 1 }] });
    await backend.close();
  });

  test("whose process dies before it has swept is a trim for everybody at once, and is swept by the next", async () => {
    const { backend, prefix, ids } = await open();
    await backend.createGroup(STREAM, "late", OPTIONS, { kind: "after", after: [1, 1] });
    await drain(backend, 1_000, 0).catch(() => undefined); // no such group: a stream that is known
    await trimAndDie(prefix, 500);
    // held back by the group, so nothing yet
    expect((await backend.watermarks(STREAM))[0]?.firstSequence).toBe(2);
    await backend.deleteGroup(STREAM, "late");
    await trimAndDie(prefix, 500);
    expect(await client.xlen(`${prefix}:{${STREAM}/0}:log`)).toBe(EVENTS);
    expect((await backend.watermarks(STREAM))[0]?.firstSequence).toBe(EVENTS - 500 + 1);
    expect(await backend.readIds(STREAM, ids.slice(0, 3))).toEqual([null, null, null]);
    const page = { stream: STREAM, partition: 0, after: 0, until: null, limit: 2, maxBytes: 10_000 } as const;
    expect((await backend.read({ ...page, order: "asc" })).map(({ sequence }) => sequence)).toEqual([2_001, 2_002]);
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    expect((await backend.exchange(fetching(1))).grants[0]?.events[0]?.sequence).toBe(2_001);
    expect(await backend.trim(keepLast(500))).toEqual({ removed: 0, heldBack: 0, more: false });
    expect(await client.xlen(`${prefix}:{${STREAM}/0}:log`)).toBe(500);
    expect(await idCount(prefix)).toBe(500);
    await backend.close();
  });

  test("lets an id be appended anew at once, and sweeping leaves the new one alone", async () => {
    const { backend, prefix, ids } = await open();
    await trimAndDie(prefix, 10);
    const again = { ...event("again"), id: ids[0] ?? "" };
    const [answer] = await backend.append([{ stream: STREAM, partitions: 2, events: [again] }]);
    expect(answer).toMatchObject({ kind: "appended", events: [{ sequence: EVENTS + 1, duplicate: null }] });
    await backend.trim(keepLast(11));
    expect((await backend.readIds(STREAM, [again.id]))[0]).toMatchObject({ sequence: EVENTS + 1, payload: '"again"' });
    expect(await idCount(prefix)).toBe(11);
    await backend.close();
  });

  test("by time finds its place although only events that are gone were late enough", async () => {
    const { backend } = await open();
    const at = (timestampMs: number): ReturnType<typeof event> => ({ ...event("t", 1), timestampMs });
    const times = [5_000, 90_000, 6_000, 7_000, 8_000, 9_000];
    await backend.append([{ stream: STREAM, partitions: 2, events: times.map(at) }]);
    const cut = { stream: STREAM, partitions: [1], force: false, dryRun: false } as const;
    expect(await backend.trim({ ...cut, cut: { kind: "sequence", before: 3 } })).toEqual({
      removed: 2,
      heldBack: 0,
      more: false,
    });
    expect(await backend.trim({ ...cut, cut: { kind: "time", beforeMs: 8_000 } })).toEqual({
      removed: 2,
      heldBack: 0,
      more: false,
    });
    expect((await backend.watermarks(STREAM))[1]).toMatchObject({ firstSequence: 5, highWatermark: 6 });
    await backend.close();
  });
});
