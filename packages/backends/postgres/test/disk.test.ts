/** A full disk: of the tables, which the server says (53100), and of the write-ahead log, of which it dies. Needs root, for a small disk. */
import { chown, cp, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Backend } from "@rheo/core";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll, describe, expect, test } from "vitest";
import { acks, drain, event, fetching, fill, GROUP, insist, openBackend, STREAM, settling } from "./fixtures/scene.ts";
import { mountSmallDisk, UNPRIVILEGED } from "./fixtures/small-disk.ts";
import { once } from "./fixtures/store.ts";

const disk = await mountSmallDisk(24);
const logDisk = await mountSmallDisk(72);
if (disk === null || logDisk === null) {
  console.warn("\n*** NOT RUN: full disks. Mounting a small one needs root on Linux. ***\n");
}

/** Does not get smaller when it is compressed. */
const noise = (): string => Array.from({ length: 2_000 }, () => Math.random().toString(36).slice(2)).join("");

/** Appends until the store refuses; how many it took, and how it refused. */
const appendUntilRefused = async (backend: Backend, tries: number): Promise<{ taken: number; error: unknown }> => {
  for (let taken = 0; taken < tries; taken++) {
    try {
      await backend.append([{ stream: STREAM, partitions: 1, events: [event(noise()), event(noise())] }]);
    } catch (error) {
      return { taken: taken * 2, error };
    }
  }
  throw new Error("the disk did not get full");
};

describe.skipIf(disk === null)("a full disk", async () => {
  if (disk === null) return;
  const server = await startPostgres({ min_wal_size: "32MB", max_wal_size: "32MB" });
  afterAll(async () => {
    await server.stop();
    await disk.remove();
  });
  await once(server.url, (client) => client.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`));

  test("of the tables: appends are unavailable and write nothing, what is there can be read and settled, and room is enough to go on", async () => {
    const backend = await openBackend({
      url: `${server.url}?options=-c%20default_tablespace%3Dsmall`,
      schema: "crowded",
      notify: false,
    });
    await fill(backend, 10);
    const { grants } = await backend.exchange(fetching(5));
    await disk.fill();
    const { taken, error } = await appendUntilRefused(backend, 1_000);
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("disk is full") });
    expect(await backend.watermarks(STREAM)).toMatchObject([{ highWatermark: 10 + taken }]);
    const events = await backend.read({
      stream: STREAM,
      partition: 0,
      after: 0,
      until: null,
      order: "asc",
      limit: 10_000,
      maxBytes: 1e8,
    });
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 10 + taken }, (_, n) => n + 1));
    expect((await backend.exchange(settling(acks(grants)))).settled.flat().every(({ state }) => state === "acked")).toBe(true);
    await disk.free();
    expect(await backend.append([{ stream: STREAM, partitions: 1, events: [event(noise())] }])).toMatchObject([
      { kind: "appended", events: [{ sequence: 11 + taken }] },
    ]);
    expect(await drain(backend, 100)).toBe(6 + taken);
    expect(await backend.progress(STREAM, GROUP)).toMatchObject([{ frontier: 11 + taken, highWatermark: 11 + taken }]);
    await backend.close();
    await once(server.url, async (client) => {
      await client.query("DROP SCHEMA crowded CASCADE");
      await client.query("DROP TABLESPACE small");
    });
  });
});

describe.skipIf(logDisk === null)("a full disk of the write-ahead log", async () => {
  if (logDisk === null) return;
  const server = await startPostgres({ min_wal_size: "32MB", max_wal_size: "32MB", checkpoint_timeout: "1h" });
  afterAll(async () => {
    await server.stop();
    await logDisk.remove();
  });

  test("kills the server, and nothing that was acknowledged: with room it starts again and goes on", async () => {
    const [row] = await once(server.url, async (client) => (await client.query("SHOW data_directory")).rows);
    const log = join(row.data_directory, "pg_wal");
    await server.kill();
    await moveLog(log, join(logDisk.folder, "pg_wal"));
    await server.restart();
    const backend = await openBackend({ url: server.url, schema: "crowded", notify: false, connectTimeoutMs: 1_000 });
    await fill(backend, 10);
    await logDisk.fill();
    const { taken, error } = await appendUntilRefused(backend, 5_000);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(unavailable|outcome_unknown)$/) });
    await server.kill();
    await logDisk.free();
    await server.restart();
    const one = [{ stream: STREAM, partitions: 1, events: [event("after")] }];
    const [answer] = await insist(() => backend.append(one));
    expect(answer).toMatchObject({ kind: "appended" });
    const [watermark] = await backend.watermarks(STREAM);
    // the append that broke may have been carried out, whole
    expect([11 + taken, 13 + taken]).toContain(watermark?.highWatermark);
    expect(await drain(backend, 100)).toBe(watermark?.highWatermark);
    await backend.close();
  });
});

const moveLog = async (from: string, to: string): Promise<void> => {
  await cp(from, to, { recursive: true });
  await chownAll(to);
  await rm(from, { recursive: true });
  await symlink(to, from);
};

/** Copies are root's. */
const chownAll = async (folder: string): Promise<void> => {
  for (const path of [folder, ...(await readdir(folder)).map((name) => join(folder, name))])
    await chown(path, UNPRIVILEGED, UNPRIVILEGED);
  for (const name of await readdir(folder, { withFileTypes: true }))
    if (name.isDirectory()) await chownAll(join(folder, name.name));
};
