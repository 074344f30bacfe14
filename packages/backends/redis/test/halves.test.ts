/** What needs several slots of a Cluster, and was left half done by a process that died, is completed by whoever meets it. */
import type { Backend } from "@rheo/core";
import { GROUPS, STREAMS } from "@rheo/redis/internal";
import { startRedisCluster } from "@rheo/testing/servers";
import { Cluster } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { acks, event, fetching, GROUP, OPTIONS, openBackend, STREAM, sequencesOf, settling } from "./fixtures/scene.ts";
import { newPrefix } from "./fixtures/store.ts";

const cluster = await startRedisCluster();
const raw = new Cluster([...cluster.nodes]);
afterAll(async () => {
  raw.disconnect();
  await cluster.stop();
});

const PARTITIONS = 4;

const open = (prefix: string): Promise<Backend> => openBackend({ nodes: cluster.nodes, prefix, notify: false });

interface Scene {
  readonly backend: Backend;
  readonly prefix: string;
  readonly nonce: string;
}

const nonceOf = async (prefix: string): Promise<string> =>
  (JSON.parse(String(await raw.hget(`${prefix}:{catalog}:streams`, STREAM))) as { nonce: string }).nonce;

const headOf = (prefix: string, partition: number): string => `${prefix}:{${STREAM}/${partition}}:head`;

const groupOf = (prefix: string, partition: number): string => `${prefix}:{${STREAM}/${partition}}:g:${GROUP}`;

/** A stream with an event in each partition. */
const scene = async (): Promise<Scene> => {
  const prefix = newPrefix();
  const backend = await open(prefix);
  await backend.createStream(STREAM, PARTITIONS);
  await fill(backend);
  return { backend, prefix, nonce: await nonceOf(prefix) };
};

const fill = async (backend: Backend): Promise<void> => {
  const events = Array.from({ length: PARTITIONS }, (_, partition) => event(partition, partition));
  const [answer] = await backend.append([{ stream: STREAM, partitions: PARTITIONS, events }]);
  expect(answer?.kind).toBe("appended");
};

const fetched = async (backend: Backend): Promise<number[]> =>
  (await backend.exchange(fetching(100))).grants.map(({ partition }) => partition).sort((a, b) => a - b);

describe("half done on a Cluster", () => {
  test("a stream that was listed, and made in no partition: it is there for everybody", async () => {
    const prefix = newPrefix();
    const backend = await open(prefix);
    await raw.eval(STREAMS.create.text, 1, `${prefix}:{catalog}:streams`, STREAM, PARTITIONS, "x", "");
    expect((await backend.createStream(STREAM, PARTITIONS)).created).toBe(false);
    await fill(backend);
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    expect(await fetched(backend)).toEqual([0, 1, 2, 3]);
    await backend.close();
  });

  test("a stream that was struck from the list, and removed nowhere: it is gone, and can be made again, empty", async () => {
    const { backend, prefix, nonce } = await scene();
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    const { grants } = await backend.exchange(fetching(100));
    await raw.eval(STREAMS.remove.text, 1, `${prefix}:{catalog}:streams`, STREAM, nonce);
    const other = await open(prefix);
    expect(await other.getStream(STREAM)).toBeNull();
    await expect(other.watermarks(STREAM)).rejects.toMatchObject({ code: "stream_not_found" });
    expect((await other.createStream(STREAM, PARTITIONS)).created).toBe(true);
    expect((await backend.watermarks(STREAM)).map(({ highWatermark }) => highWatermark)).toEqual([0, 0, 0, 0]);
    await fill(backend);
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    const again = await backend.exchange(fetching(100));
    // F1: greater than those of the stream before
    for (const { token } of again.grants) expect(token).toBeGreaterThan(Math.max(...grants.map((grant) => grant.token)));
    for (const one of [backend, other]) await one.close();
  });

  test("partitions that were made by a process that came late, for a stream that is gone: a new stream begins empty", async () => {
    const { backend, prefix, nonce } = await scene();
    await backend.deleteStream(STREAM);
    const late = headOf(prefix, 2);
    await raw.eval(STREAMS.init.text, 1, late, nonce, "", "", "1", PARTITIONS, "0");
    await raw.xadd(`${prefix}:{${STREAM}/2}:log`, "7-0", "event", `zombie\0${1}\0\0\0{}`, "payload", "{}");
    await backend.createStream(STREAM, PARTITIONS);
    await fill(backend);
    expect((await backend.watermarks(STREAM)).map(({ highWatermark }) => highWatermark)).toEqual([1, 1, 1, 1]);
    // and one that comes later still changes nothing
    await raw.eval(STREAMS.init.text, 1, late, nonce, "", "", "1", PARTITIONS, "0");
    await raw.eval(STREAMS.clear.text, 1, late, nonce, "", "", "1");
    await raw.eval(STREAMS.clearIds.text, 1, `${prefix}:{${STREAM}/ids/2}`, nonce);
    expect((await backend.watermarks(STREAM)).map(({ highWatermark }) => highWatermark)).toEqual([1, 1, 1, 1]);
    await backend.close();
  });

  test("a group that was made in partition 0 only: it begins in the others as was decided", async () => {
    const { backend, prefix } = await scene();
    await fill(backend);
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "after", after: [0, 0, 1, 1] });
    for (const partition of [1, 2, 3]) {
      await raw.del(groupOf(prefix, partition));
      await raw.zrem(`${prefix}:{${STREAM}/${partition}}:groups`, GROUP);
    }
    const other = await open(prefix);
    const { grants } = await other.exchange(fetching(100));
    expect(sequencesOf([...grants].sort((a, b) => a.partition - b.partition))).toEqual([1, 2, 1, 2, 2, 2]);
    for (const one of [backend, other]) await one.close();
  });

  test("options that were changed in partition 0 only: the next fetch brings them to the others", async () => {
    const { backend, prefix, nonce } = await scene();
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    const change = [nonce, "", GROUP, "1", JSON.stringify({ ...OPTIONS, maxAttempts: 9 }), 9, 30_000, "none", "", "", "", ""];
    await raw.eval(GROUPS.update.text, 1, headOf(prefix, 0), ...change);
    expect(await raw.hget(groupOf(prefix, 3), "attempts")).toBe("5");
    await fetched(backend);
    for (let partition = 0; partition < PARTITIONS; partition++)
      expect(await raw.hget(groupOf(prefix, partition), "attempts")).toBe("9");
    await backend.close();
  });

  test("a group that was removed in partition 0 only: it is gone, holds no trim back, and begins anew with greater tokens", async () => {
    const { backend, prefix, nonce } = await scene();
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    const { grants } = await backend.exchange(fetching(100));
    await raw.eval(GROUPS.remove.text, 1, headOf(prefix, 0), nonce, "", GROUP, "1");
    await expect(backend.exchange(fetching(1))).rejects.toMatchObject({ code: "group_not_found" });
    await expect(backend.progress(STREAM, GROUP)).rejects.toMatchObject({ code: "group_not_found" });
    await backend.createGroup(STREAM, GROUP, OPTIONS, { kind: "earliest" });
    const again = await backend.exchange(fetching(100));
    for (const { partition, token } of again.grants)
      expect(token).toBeGreaterThan(grants.find((grant) => grant.partition === partition)?.token ?? 0);
    await backend.exchange(settling(acks(again.grants)));
    await raw.eval(GROUPS.remove.text, 1, headOf(prefix, 0), nonce, "", GROUP, "1");
    await fill(backend);
    const cut = { stream: STREAM, cut: { kind: "keep", last: 0 }, partitions: null, force: false, dryRun: false } as const;
    expect(await backend.trim(cut)).toEqual({ removed: 8, heldBack: 0, more: false });
    for (let partition = 0; partition < PARTITIONS; partition++) expect(await raw.exists(groupOf(prefix, partition))).toBe(0);
    await backend.close();
  });
});
