/** Faults that come with SQLite. Named by their ids. */
import { statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rheo } from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { expect, test } from "vitest";
import { numbers } from "./corpus-stores.ts";

const MEBIBYTE = 1_048_576;
/** Written in all, of a mebibyte each: more than what the write-ahead log may hold. */
const WRITES = 100;

test("B120 readers that stopped half way, and others that look again and again, keep no part of the write-ahead log", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rheo-corpus-"));
  const file = join(folder, "events.db");
  const [writer, reader] = [
    await Rheo.open({ backend: sqlite({ file, synchronous: "normal" }) }),
    await Rheo.open({ backend: sqlite({ file, synchronous: "normal" }) }),
  ];
  try {
    await writer.createStream("s", { partitions: 2 });
    await writer.createGroup("s", "g", {});
    await writer.appendMany(
      "s",
      numbers(600).map((n) => ({ payload: n, partition: n % 2 })),
    );
    const left = reader.scan("s")[Symbol.asyncIterator]();
    expect((await left.next()).done).toBe(false);
    for await (const _ of reader.scan("s")) break;
    const throwing = async (): Promise<void> => {
      for await (const { sequence } of reader.scan("s")) if (sequence > 3) throw new Error("enough");
    };
    await expect(throwing()).rejects.toThrow("enough");
    const payload = "x".repeat(MEBIBYTE - 1_000);
    let most = 0;
    for (const n of numbers(WRITES)) {
      await writer.append("s", { payload });
      if (n % 20 === 0) await reader.groupInfo("s", "g");
      most = Math.max(most, statSync(`${file}-wal`).size);
    }
    expect(most).toBeLessThan(64 * MEBIBYTE);
    expect((await left.next()).done).toBe(false);
  } finally {
    await reader.close();
    await writer.close();
    await rm(folder, { recursive: true, force: true });
  }
});
