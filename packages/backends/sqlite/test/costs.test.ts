import { readdirSync, readlinkSync, statSync } from "node:fs";
import { FrozenClock } from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import {
  acks,
  event,
  fetching,
  fill,
  firstValue,
  GROUP,
  openBackend,
  openHandle,
  REAL_TIME,
  request,
  sequences,
} from "./fixtures/store.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

const MEBIBYTE = 1_048_576;

describe("what an idle poll costs", () => {
  test("it commits nothing, with and without leases in flight, and when the group is full or paused", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file });
    await fill(backend, 20);
    await backend.createGroup("s", "full", { ...GROUP, maxInflight: 5 }, { kind: "earliest" });
    await backend.createGroup("s", "paused", GROUP, { kind: "earliest" });
    await backend.updateGroup("s", "paused", { paused: true });
    await backend.exchange(fetching(100));
    await backend.exchange({ ...fetching(5), group: "full" });
    const watcher = openHandle(file);
    const before = firstValue(watcher, "PRAGMA data_version");
    for (let i = 0; i < 20; i++) {
      for (const group of ["g", "full", "paused"])
        expect((await backend.exchange({ ...fetching(10), group })).grants).toEqual([]);
    }
    expect(firstValue(watcher, "PRAGMA data_version")).toBe(before);
  });

  test("it goes on while another holds the write lock", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file, busyTimeoutMs: 0 });
    await fill(backend, 0);
    const other = openHandle(file);
    other.exec("BEGIN IMMEDIATE");
    expect((await backend.exchange(fetching(10))).grants).toEqual([]);
    other.exec("ROLLBACK");
  });
});

describe("what deliveries leave behind", () => {
  test("nothing for what is acked, one row for a batch in flight", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file });
    await fill(backend, 1_000);
    const handle = openHandle(file);
    const rows = (): unknown =>
      firstValue(
        handle,
        "SELECT (SELECT COUNT(*) FROM rheo_leases) + (SELECT COUNT(*) FROM rheo_exceptions) + (SELECT COUNT(*) FROM rheo_revocations)",
      );
    let fetched = await backend.exchange(fetching(100));
    for (let batch = 1; batch < 10; batch++) {
      expect(rows()).toBe(1);
      fetched = await backend.exchange(fetching(100, acks(fetched)));
    }
    await backend.exchange(fetching(100, acks(fetched)));
    expect(rows()).toBe(0);
    expect(await backend.progress("s", "g")).toMatchObject([{ frontier: 1_000 }]);
  });

  test("a busy member is written at most once a second", async () => {
    const clock = new FrozenClock();
    const file = temporaryFile();
    const backend = await openBackend({ file }, { clock, migrate: true });
    await fill(backend, 10);
    const seen = (): unknown => firstValue(openHandle(file), "SELECT last_seen_at_ms FROM rheo_members");
    await backend.exchange(fetching(1));
    const first = seen();
    clock.advance(999);
    await backend.exchange(fetching(1));
    expect(seen()).toBe(first);
    clock.advance(1);
    await backend.exchange(fetching(1));
    expect(seen()).toBe(Number(first) + 1_000);
  });

  test("members not seen for days are forgotten when a new one comes", async () => {
    const clock = new FrozenClock();
    const file = temporaryFile();
    const backend = await openBackend({ file }, { clock, migrate: true });
    await fill(backend, 10);
    const as = async (consumerId: string): Promise<void> => {
      const { fetch } = fetching(1);
      const fetched = await backend.exchange({ ...fetching(1), fetch: fetch === null ? null : { ...fetch, consumerId } });
      await backend.exchange({ ...fetching(1, acks(fetched)), fetch: null });
    };
    await as("old");
    clock.advance(3 * 86_400_000);
    await as("new");
    expect(openHandle(file).prepare("SELECT consumer_id FROM rheo_members").raw().all()).toEqual([["new"]]);
  });

  test("the log stays bounded while much is written (B120)", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file, synchronous: "normal" });
    await fill(backend, 0);
    const payload = JSON.stringify("x".repeat(100_000));
    for (let i = 0; i < 20; i++) {
      await backend.append([request(Array.from({ length: 50 }, () => event({ payload, bytes: 100_000 })))]);
      await backend.read({ stream: "s", partition: 0, after: 0, until: null, order: "asc", limit: 2, maxBytes: 1 });
    }
    expect(statSync(`${file}-wal`).size).toBeLessThan(64 * MEBIBYTE);
  });
});

describe("large events", () => {
  test("of 16 MiB are read one at a time where the byte limit says so", async () => {
    const backend = await openBackend({ synchronous: "normal" });
    await fill(backend, 0);
    const payload = JSON.stringify("x".repeat(16 * MEBIBYTE - 100));
    for (let i = 0; i < 3; i++) await backend.append([request([event({ payload, bytes: payload.length })])]);
    const fetched = await backend.exchange(fetching(10));
    expect(sequences(fetched)).toEqual([1]);
    expect(fetched.grants[0]?.events[0]?.payload).toBe(payload);
  });

  test("end a slice before it exceeds maxBytes, in both directions, but never leave it empty", async () => {
    const backend = await openBackend();
    await backend.createStream("s", 1);
    const sizes = [100, 900, 50, 50, 2_000, 10];
    await backend.append([request(sizes.map((bytes) => event({ bytes })))]);
    const slice = async (
      order: "asc" | "desc",
      after: number,
      maxBytes: number,
      until: number | null = null,
    ): Promise<number[]> =>
      (await backend.read({ stream: "s", partition: 0, after, until, order, limit: 100, maxBytes })).map(
        ({ sequence }) => sequence,
      );
    expect(await slice("asc", 0, 1_050)).toEqual([1, 2, 3]);
    expect(await slice("asc", 4, 100)).toEqual([5]);
    expect(await slice("asc", 4, 2_010)).toEqual([5, 6]);
    expect(await slice("desc", 0, 2_060)).toEqual([6, 5, 4]);
    expect(await slice("desc", 0, 100, 4)).toEqual([4, 3]);
    expect(await slice("asc", 6, 100)).toEqual([]);
  });

  test("behind many small ones are found by size, page after page", async () => {
    const backend = await openBackend();
    await backend.createStream("s", 1);
    await backend.append([request([...Array.from({ length: 700 }, () => event({ bytes: 10 })), event({ bytes: 1_000_000 })])]);
    await backend.trim({ stream: "s", cut: { kind: "sequence", before: 101 }, partitions: null, force: false, dryRun: false });
    const read = async (order: "asc" | "desc", maxBytes: number): Promise<number> =>
      (await backend.read({ stream: "s", partition: 0, after: 0, until: null, order, limit: 1_000, maxBytes })).length;
    expect(await read("asc", 6_500)).toBe(600);
    expect(await read("asc", 3_000)).toBe(300);
    expect(await read("desc", 1_003_000)).toBe(301);
    expect(await read("desc", 2_000_000)).toBe(601);
  });
});

describe("closing", () => {
  const openFiles = (file: string): string[] =>
    readdirSync("/proc/self/fd").flatMap((descriptor) => {
      try {
        const path = readlinkSync(`/proc/self/fd/${descriptor}`);
        return path.startsWith(file) ? [path] : [];
      } catch {
        return [];
      }
    });

  test.skipIf(process.platform !== "linux")("lets go of the file, and leaves all of it in one piece", async () => {
    const file = temporaryFile();
    const backend = sqlite({ file });
    await backend.open(REAL_TIME);
    await fill(backend, 100);
    await backend.exchange(fetching(10));
    expect(openFiles(file)).not.toEqual([]);
    await backend.close();
    expect(openFiles(file)).toEqual([]);
    expect(readdirSync(file.replace(/\/[^/]+$/, "")).filter((name) => name.endsWith("-wal"))).toEqual([]);
  });
});
