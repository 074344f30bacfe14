import { describe, expect, test } from "vitest";
import { startChild } from "./fixtures/children.ts";
import { firstValue, openBackend, openHandle } from "./fixtures/store.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

const MIGRATING = 8;
const WORKERS = 4;
const APPENDED = 150;
const KILLS = 30;
/** Acknowledged appends a writer gets to before it is killed: different each time, the same in every run. */
const acknowledgedBefore = (kill: number): number => 1 + ((kill * 7) % 12);

describe("several processes on one file", () => {
  test("eight that open an empty database at once all find one schema (B104)", async () => {
    const file = temporaryFile();
    const children = Array.from({ length: MIGRATING }, () => startChild("migrate", file));
    expect(await Promise.all(children.map((child) => child.done()))).toEqual(new Array(MIGRATING).fill(["1"]));
    expect(firstValue(openHandle(file), "SELECT COUNT(*) FROM rheo_meta WHERE name = 'schema_version'")).toBe(1);
  });

  test("one killed while it migrates leaves a file that the next can open", async () => {
    for (let round = 0; round < 6; round++) {
      const file = temporaryFile();
      const child = startChild("migrate", file);
      await new Promise((resolve) => setTimeout(resolve, 60 + round * 12));
      await child.kill();
      const backend = await openBackend({ file });
      expect((await backend.createStream("t", 1)).created).toBe(true);
      await backend.close();
    }
  });

  test("four that append, fetch and settle lose nothing and deliver nothing twice (B118)", async () => {
    const file = temporaryFile();
    const children = Array.from({ length: WORKERS }, () => startChild("work", file, APPENDED));
    const said = await Promise.all(children.map((child) => child.done()));
    const seen = said.flatMap(([line]) => JSON.parse(line ?? "[]") as string[]);
    expect(seen).toHaveLength(WORKERS * APPENDED);
    expect(new Set(seen).size).toBe(WORKERS * APPENDED);
    const backend = await openBackend({ file });
    const progress = await backend.progress("s", "g");
    expect(progress.map(({ frontier, highWatermark }) => frontier - highWatermark)).toEqual([0, 0]);
    expect(progress.map(({ highWatermark }) => highWatermark).reduce((a, b) => a + b)).toBe(WORKERS * APPENDED);
    expect(await backend.groupStats("s", "g")).toMatchObject({ inflight: 0, deadLetters: 0, retrying: 0 });
  });

  test("writers killed again and again lose nothing they were told was there, and leave no gap (L1)", async () => {
    const file = temporaryFile();
    const setup = await openBackend({ file });
    await setup.createStream("s", 2);
    await setup.close();
    const acknowledged: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const child = startChild("append", file);
      while (child.lines.length < 3 * acknowledgedBefore(kill))
        if ((await child.line()) === null) throw new Error("The writer ended by itself.");
      await child.kill();
      acknowledged.push(...child.lines.filter((line) => /^\d+-\d+-\d$/.test(line)));
    }
    const backend = await openBackend({ file });
    const [{ highWatermark } = { highWatermark: 0 }] = await backend.watermarks("s");
    const events = [];
    for (let after = 0; after < highWatermark; after = events[events.length - 1]?.sequence ?? highWatermark) {
      events.push(
        ...(await backend.read({
          stream: "s",
          partition: 0,
          after,
          until: null,
          order: "asc",
          limit: 1_000,
          maxBytes: 8_388_608,
        })),
      );
    }
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: highWatermark }, (_, index) => index + 1));
    const stored = new Set(events.map(({ id }) => id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(highWatermark % 3).toBe(0);
    expect(firstValue(openHandle(file), "PRAGMA integrity_check")).toBe("ok");
  });
});

describe("a lock that another process holds", () => {
  const HELD_MS = 1_000;

  test("is waited for without blocking the event loop (B118, B119)", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file, busyTimeoutMs: 10_000 });
    await backend.createStream("s", 1);
    const child = startChild("lock", file, HELD_MS);
    await child.line();
    let longestMs = 0;
    let last = performance.now();
    const beat = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - last);
      last = performance.now();
    }, 1);
    // each try of a writer may block for a few ms, so many writers are what could stop the loop
    const names = Array.from({ length: 100 }, (_, index) => `waiting-${index}`);
    const finished: string[] = [];
    const many = names.map(async (name) => {
      await backend.createStream(name, 1);
      finished.push(name);
    });
    const [, reading] = await Promise.all([
      backend.createStream("t", 1),
      backend.getStream("s").then(() => child.lines.includes('"free"')),
    ]);
    await Promise.all(many);
    clearInterval(beat);
    expect(finished).toEqual(names);
    expect(await backend.getStream("t")).not.toBeNull();
    expect(reading).toBe(false); // readers did not wait for the writer
    // far below the lock's second, and far above what a loaded machine may add to a wait of 4 ms
    expect(longestMs).toBeLessThan(HELD_MS / 4);
    await child.done();
  });

  test("longer than busyTimeoutMs is unavailable, and nothing was written", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file, busyTimeoutMs: 50 });
    const handle = openHandle(file);
    handle.exec("BEGIN IMMEDIATE");
    await expect(backend.createStream("s", 1)).rejects.toMatchObject({
      code: "unavailable",
      cause: expect.any(Error),
      message: expect.stringContaining("lock"),
    });
    handle.exec("ROLLBACK");
    expect(await backend.getStream("s")).toBeNull();
  });

  test("is no longer waited for once the backend is closed", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file, busyTimeoutMs: 60_000 });
    const handle = openHandle(file);
    handle.exec("BEGIN IMMEDIATE");
    const waiting = backend.createStream("s", 1);
    const refused = expect(waiting).rejects.toMatchObject({ code: "closed" });
    await backend.close();
    await refused;
    handle.exec("ROLLBACK");
  });
});
