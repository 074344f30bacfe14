/** Dead letters are counted, so that those that are gone do not pass for acked deliveries. */
import type { Backend } from "@rheo/core";
import { startRedis } from "@rheo/testing/servers";
import { Redis } from "ioredis";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { event, fetching, GROUP, OPTIONS, openBackend, STREAM, settling } from "./fixtures/scene.ts";
import { newPrefix } from "./fixtures/store.ts";

const server = await startRedis();
const client = new Redis(server.url);
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

let backend: Backend;
let group: string;

/** Three events, of which two are dead. */
beforeEach(async () => {
  const prefix = newPrefix();
  group = `${prefix}:{${STREAM}/0}:g:${GROUP}`;
  backend = await openBackend({ url: server.url, prefix, notify: false });
  await backend.createStream(STREAM, 1);
  await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
  await backend.append([{ stream: STREAM, partitions: 1, events: [event(1), event(2), event(3)] }]);
  await die([1, 2]);
  return () => backend.close();
});

const die = async (sequences: readonly number[]): Promise<void> => {
  const { grants } = await backend.exchange(fetching(sequences.length));
  const token = grants[0]?.token ?? 0;
  const outcome = { kind: "reject", reason: "r", stack: null } as const;
  await backend.exchange(settling([{ partition: 0, token, sequences, outcome }]));
};

const letters = async (): Promise<readonly number[]> =>
  (await backend.deadLetters({ stream: STREAM, group: GROUP, limit: 10, after: null, where: null })).map(
    ({ sequence }) => sequence,
  );

const redrive = (purge: boolean): Promise<number> =>
  backend.redrive({ stream: STREAM, group: GROUP, select: { kind: "all" }, purge });

const replay = (): Promise<number> =>
  backend.replay({ stream: STREAM, group: GROUP, partitions: null, scope: { kind: "after", after: 0 }, dryRun: false });

describe("dead letters that are gone", () => {
  beforeEach(() => client.del(`${group}:dead`));

  test("are told when the lag is asked for", async () => {
    await expect(backend.progress(STREAM, GROUP)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("2 by the count"),
    });
  });

  test("are told when dead letters are asked for", async () => {
    await expect(letters()).rejects.toMatchObject({ code: "unavailable" });
  });

  test("hold up nothing", async () => {
    const { grants } = await backend.exchange(fetching(10));
    expect(grants.flatMap(({ events }) => events.map(({ sequence }) => sequence))).toEqual([3]);
  });

  test("come again by a replay", async () => {
    expect(await replay()).toBe(2);
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 0 }]);
    expect(await letters()).toEqual([]);
  });

  test("come again by a reset", async () => {
    expect(await backend.reset(STREAM, GROUP, { kind: "earliest" })).toBe(2);
    expect(await letters()).toEqual([]);
  });
});

describe("a group whose dead letters were never counted", () => {
  beforeEach(async () => {
    const counted = (await client.hget(group, "progress")) ?? "";
    await client.hset(group, "progress", counted.split(" ").slice(0, 11).join(" "));
  });

  test("is not judged by a count", async () => {
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 2 }]);
    expect(await letters()).toEqual([1, 2]);
  });

  test("buries more, and is still not judged", async () => {
    await die([3]);
    expect(await letters()).toEqual([1, 2, 3]);
  });

  test("is counted from a replay on", async () => {
    await replay();
    await die([1, 2, 3]);
    await client.del(`${group}:dead`);
    await expect(letters()).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("the count is kept", () => {
  test("by a redrive", async () => {
    expect(await redrive(false)).toBe(2);
    expect(await letters()).toEqual([]);
  });

  test("by a purge", async () => {
    expect(await redrive(true)).toBe(2);
    expect(await letters()).toEqual([]);
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 2 }]);
  });
});
