/**
 * "relaxed" after a power cut. Of what was written since the last safe point, any pages may have reached the disk and any may not: here
 * each page is taken at random from the file as it was at the safe point, or as it was later. The store is what it was at the safe point.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Backend } from "@rheo/core";
import {
  acks,
  drain,
  fetching,
  fill,
  firstSeed,
  GROUP,
  type Random,
  request,
  runs,
  STREAM,
  seeded,
  settling,
} from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";
import { newDirectory, openBackend } from "./fixtures/store.ts";

const PAGE = 4_096;
const CUTS = 12;
const SEED = 40;
const POLL_MS = 20;

/** Everything that can be seen of a store. */
const seen = async (backend: Backend): Promise<unknown> => {
  const [watermark] = await backend.watermarks(STREAM);
  const events = await backend.read({
    stream: STREAM,
    partition: 0,
    after: 0,
    until: null,
    order: "asc",
    limit: 1e6,
    maxBytes: 1e9,
  });
  expect(events).toHaveLength((watermark?.highWatermark ?? 0) + 1 - (watermark?.firstSequence ?? 0));
  const ids = await backend.readIds(
    STREAM,
    events.map(({ id }) => id),
  );
  expect(ids.map((event) => event?.sequence)).toEqual(events.map(({ sequence }) => sequence));
  return {
    events: events.map(({ sequence, id, payload }) => [sequence, id, payload]),
    progress: await backend.progress(STREAM, GROUP),
    leases: await backend.leases(STREAM, GROUP, 1_000),
    letters: await backend.deadLetters({ stream: STREAM, group: GROUP, limit: 1_000, after: null, where: null }),
  };
};

/** Writes of every kind, with much that is written over. */
const work = async (backend: Backend, random: Random): Promise<void> => {
  for (let round = 0; round < 10; round++) {
    await backend.append([request(1 + random.below(40), 1, { text: "x".repeat(random.below(400)) })]);
    const { grants } = await backend.exchange(fetching(1 + random.below(30)));
    const outcome = { kind: "reject", reason: "no", stack: null } as const;
    await backend.exchange(settling(acks(grants).map((one) => (random.below(3) === 0 ? { ...one, outcome } : one))));
    if (random.below(3) === 0)
      await backend.trim({ stream: STREAM, cut: { kind: "keep", last: 50 }, partitions: null, force: true, dryRun: false });
  }
};

interface Moment {
  readonly data: Buffer;
  readonly safePoint: Buffer;
}

const momentOf = (path: string): Moment => ({
  data: readFileSync(join(path, "data.mdb")),
  safePoint: readFileSync(join(path, "safe-point")),
});

/** The directory as another boot of the machine finds it. */
const afterCut = (path: string, at: Moment, later: Buffer, random: Random, boot = "another"): string => {
  const directory = join(newDirectory(), "store");
  mkdirSync(directory);
  const data = Buffer.alloc(Math.max(at.data.length, later.length));
  at.data.copy(data);
  for (let page = 0; page * PAGE < later.length; page++) {
    const [start, end] = [page * PAGE, (page + 1) * PAGE];
    if (start >= at.data.length || random.below(2) === 0) later.copy(data, start, start, end);
  }
  writeFileSync(join(directory, "data.mdb"), data);
  const saved: object = JSON.parse(at.safePoint.toString());
  writeFileSync(join(directory, "safe-point"), JSON.stringify(boot === "another" ? { ...saved, boot } : saved));
  copyFileSync(join(path, "store.json"), join(directory, "store.json"));
  return directory;
};

const filled = async (random: Random): Promise<{ path: string; backend: Backend }> => {
  const path = join(newDirectory(), "store");
  const backend = await openBackend({ path, durability: "relaxed" });
  await fill(backend, 200);
  await work(backend, random);
  return { path, backend };
};

const nextSafePoint = async (path: string): Promise<void> => {
  const before = statSync(join(path, "safe-point")).mtimeMs;
  while (statSync(join(path, "safe-point")).mtimeMs === before) await wait(POLL_MS);
};

describe("after a power cut the store is as it was at the last safe point", () => {
  test("the one that is made on opening", async () => {
    for (let run = 0; run < runs(CUTS); run++) {
      const random = seeded(firstSeed(SEED) + run);
      const { path, backend } = await filled(random);
      await backend.close();
      await backend.open({ clock: null, migrate: true });
      const expected = await seen(backend);
      const at = momentOf(path);
      await work(backend, random);
      const directory = afterCut(path, at, readFileSync(join(path, "data.mdb")), random);
      await backend.close();
      const next = await openBackend({ path: directory, durability: run % 2 === 0 ? "relaxed" : "sync" });
      expect(await seen(next), `RHEO_SEED=${firstSeed(SEED) + run}`).toEqual(expected);
      // and goes on from there
      await next.append([request(3)]);
      await drain(next, 50);
      await next.close();
    }
  });

  test("those that are made while it is open", async () => {
    const random = seeded(firstSeed(SEED));
    const { path, backend } = await filled(random);
    for (let round = 0; round < 3; round++) {
      await nextSafePoint(path);
      const expected = await seen(backend);
      const at = momentOf(path);
      await work(backend, random);
      const next = await openBackend({ path: afterCut(path, at, readFileSync(join(path, "data.mdb")), random) });
      expect(await seen(next)).toEqual(expected);
      await next.close();
    }
    await backend.close();
  });
});

test("one that is being made when the store is closed is the last", async () => {
  const { path, backend } = await filled(seeded(firstSeed(SEED)));
  // something is committed while one is being made, so that another would be due
  while (!existsSync(join(path, "safe-point.draft"))) await backend.append([request(200, 1, { text: "x".repeat(300) })]);
  await backend.append([request(1)]);
  await backend.close();
  expect(existsSync(join(path, "safe-point"))).toBe(false);
  await wait(600); // longer than from a commit to the next safe point: making that would fail the run
});

test("after a mere crash of the process nothing is put back", async () => {
  const random = seeded(firstSeed(SEED));
  const { path, backend } = await filled(random);
  const at = momentOf(path);
  const expected = await seen(backend);
  const next = await openBackend({
    path: afterCut(path, { ...at, data: readFileSync(join(path, "data.mdb")) }, Buffer.alloc(0), random, "this"),
  });
  expect(await seen(next)).toEqual(expected);
  await next.close();
  await backend.close();
});

test("a damaged safe point is said, and not used", async () => {
  const random = seeded(firstSeed(SEED));
  const { path, backend } = await filled(random);
  const at = momentOf(path);
  const saved: { roots: string } = JSON.parse(at.safePoint.toString());
  const roots = Buffer.from(saved.roots, "base64");
  roots[100] = (roots[100] ?? 0) ^ 1;
  const damaged = Buffer.from(JSON.stringify({ ...saved, roots: roots.toString("base64") }));
  const directory = afterCut(path, { data: at.data, safePoint: damaged }, at.data, random);
  await expect(openBackend({ path: directory })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("safe point is damaged"),
  });
  await backend.close();
});
