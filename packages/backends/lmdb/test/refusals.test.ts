import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lmdb } from "@rheo/lmdb";
import { drain, fetching, fill, firstSeed, request, runs, STREAM, seeded } from "@rheo/testing/internal";
import { open } from "lmdb";
import { afterAll, describe, expect, test } from "vitest";
import { newDirectory, openBackend, refusal } from "./fixtures/store.ts";

const OPENER = fileURLToPath(new URL("./fixtures/opener.mjs", import.meta.url));

/** A store with some events in it, closed. */
const filled = async (): Promise<string> => {
  const path = join(newDirectory(), "store");
  const backend = await openBackend({ path });
  await fill(backend, 500);
  await backend.close();
  return path;
};

/** Tries to use a store in a process of its own, since a damaged file can end one. Killed when it takes too long. */
const attempt = (
  path: string,
  options: { readonly uid?: number } = {},
): { status: number | null; signal: string | null; told: string } => {
  const { status, signal, stdout } = spawnSync(process.execPath, [OPENER, path], {
    encoding: "utf8",
    timeout: 20_000,
    ...options,
  });
  return { status, signal, told: stdout.trim() };
};

describe("a directory that cannot be used is refused with the reason", () => {
  test("a file", async () => {
    const path = join(newDirectory(), "file");
    writeFileSync(path, "text");
    expect((await refusal(path)).message).toContain("it is not a directory");
  });

  test("a path through a file", async () => {
    const path = join(newDirectory(), "file");
    writeFileSync(path, "text");
    expect(await refusal(join(path, "store"))).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("not a directory"),
    });
  });

  test("one with somebody's files in it", async () => {
    const path = newDirectory();
    writeFileSync(join(path, "letter.txt"), "text");
    expect((await refusal(path)).message).toContain("files that are not Rheo's (letter.txt)");
    expect(readdirSync(path)).toEqual(["letter.txt"]);
  });

  test("another program's LMDB", async () => {
    const path = newDirectory();
    const theirs = open({ path, noSubdir: false });
    await theirs.put("key", "value");
    await theirs.close();
    const before = readFileSync(join(path, "data.mdb"));
    expect((await refusal(path)).message).toContain("belongs to another program");
    expect(readFileSync(join(path, "data.mdb")).equals(before)).toBe(true);
  });

  test("a data.mdb that is none", async () => {
    const path = newDirectory();
    writeFileSync(join(path, "data.mdb"), "Not LMDB, but long enough to be looked at. ".repeat(1_000));
    expect((await refusal(path)).message).toContain("not an LMDB file");
  });

  test("a data.mdb that is gone or empty, though the store was made", async () => {
    const path = await filled();
    truncateSync(join(path, "data.mdb"));
    expect((await refusal(path)).message).toContain("gone or empty");
    rmSync(join(path, "data.mdb"));
    expect((await refusal(path)).message).toContain("gone or empty");
  });

  test("a newer schema, naming both versions", async () => {
    const path = await filled();
    const root = open({ path, noSubdir: false, keyEncoding: "binary", encoding: "binary" });
    const { crc32 } = await import("node:zlib");
    const key = Buffer.concat([Buffer.from([1]), Buffer.from("schema_version")]);
    const value = Buffer.from("....99");
    value.writeUInt32LE(crc32(value.subarray(4), crc32(key)), 0);
    await root.put(key as never, value);
    await root.close();
    const error = await refusal(path);
    expect(error.code).toBe("schema_outdated");
    expect(error.message).toMatch(/version 99.*knows 1/);
  });

  test("an empty one that may not be migrated; nothing is made", async () => {
    const path = newDirectory();
    expect((await refusal(path, false)).code).toBe("schema_outdated");
    expect(readdirSync(path)).toEqual([]);
    const absent = join(path, "store");
    expect((await refusal(absent, false)).code).toBe("schema_outdated");
    expect(existsSync(absent)).toBe(false);
    await (await openBackend({ path: absent })).close();
    await (async () => {
      const backend = lmdb({ path: absent });
      await backend.open({ clock: null, migrate: false });
      await backend.close();
    })();
  });

  test("after a refusal it can be opened once the reason is gone", async () => {
    const path = newDirectory();
    writeFileSync(join(path, "letter.txt"), "text");
    const backend = lmdb({ path });
    await expect(backend.open({ clock: null, migrate: true })).rejects.toMatchObject({ code: "unavailable" });
    rmSync(join(path, "letter.txt"));
    await backend.open({ clock: null, migrate: true });
    await backend.close();
  });
});

const isRoot = process.getuid?.() === 0;
const mounted: string[] = [];
afterAll(() => {
  for (const path of mounted) execFileSync("umount", ["-l", path]);
});

/** A small file system in memory; null where this user may not mount one. */
const mountSmall = (size: string): string | null => {
  const path = newDirectory();
  if (!isRoot || spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path]).status !== 0) {
    console.warn("\nNOT RUN: this user may not mount a small disk");
    return null;
  }
  mounted.push(path);
  return path;
};

describe("what the system refuses is said", () => {
  test("no permission", async () => {
    if (!isRoot) return console.warn("\nNOT RUN: needs root to become somebody else");
    const path = await filled();
    chmodSync(path, 0o700);
    expect(attempt(path, { uid: 65_534 })).toMatchObject({
      status: 1,
      told: expect.stringMatching(/^unavailable .*access was denied/),
    });
  });

  test("a file system that can only be read", async () => {
    const path = mountSmall("4m");
    if (path === null) return;
    await (await openBackend({ path: join(path, "store") })).close();
    execFileSync("mount", ["-o", "remount,ro", path]);
    expect(await refusal(join(path, "store"))).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("only be read"),
    });
    expect((await refusal(join(path, "another"))).message).toContain("only be read");
  });

  test("a full disk: nothing of the call is there, and it goes on once there is room", async () => {
    for (const durability of ["sync", "relaxed"] as const) {
      const path = mountSmall("2m");
      if (path === null) return;
      const backend = await openBackend({ path: join(path, "store"), durability });
      await fill(backend, 10);
      writeFileSync(join(path, "filler"), Buffer.alloc(1_300_000));
      const large = request(100, 1, { text: "x".repeat(3_000) });
      let failed = 0;
      for (let tries = 0; tries < 8 && failed < 2; tries++) {
        const [before] = await backend.watermarks(STREAM);
        const events = large.events.map((event) => ({ ...event, id: `${event.id}-${tries}` }));
        try {
          await backend.append([{ ...large, events }]);
        } catch (error) {
          failed += 1;
          expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("disk is full") });
          expect(await backend.watermarks(STREAM)).toEqual([before]);
          expect(await backend.readIds(STREAM, [`${large.events[0]?.id}-${tries}`])).toEqual([null]);
        }
      }
      expect(failed).toBe(2);
      rmSync(join(path, "filler"));
      await backend.append([request(100, 1, { text: "x".repeat(3_000) })]);
      const [after] = await backend.watermarks(STREAM);
      expect(await drain(backend, 50)).toBe(after?.highWatermark);
      await backend.close();
    }
  });
});

/** Turns over a bit in each id of an event. */
const turnIds = (file: string): void => {
  const data = readFileSync(file);
  const id = Buffer.from(`id-${process.pid}`);
  for (let at = data.indexOf(id); at !== -1; at = data.indexOf(id, at + 1)) data[at] = (data[at] ?? 0) ^ 4;
  writeFileSync(file, data);
};

describe("a damaged file never hangs anybody, and is never taken for a whole one", () => {
  test("cut short", async () => {
    const path = await filled();
    const file = join(path, "data.mdb");
    const whole = readFileSync(file);
    for (const share of [0.9, 0.6, 0.3, 0.1]) {
      writeFileSync(file, whole);
      truncateSync(file, Math.floor(whole.length * share));
      const { status, told } = attempt(path);
      expect(status, told).toBe(1);
      expect(told).toMatch(/^unavailable /);
    }
  });

  test("bits turned over in what events are kept in", async () => {
    const path = await filled();
    const file = join(path, "data.mdb");
    turnIds(file);
    expect(attempt(path)).toMatchObject({ status: 1, told: expect.stringMatching(/^unavailable .*is damaged/) });
  });

  test("bits turned over anywhere", { timeout: 120_000 }, async () => {
    const path = await filled();
    const file = join(path, "data.mdb");
    const whole = readFileSync(file);
    const random = seeded(firstSeed(9));
    const ends = { whole: 0, refused: 0, ended: 0 };
    for (let run = 0; run < runs(8); run++) {
      const data = Buffer.from(whole);
      for (let times = 0; times < 4; times++) {
        const at = random.below(data.length);
        data[at] = (data[at] ?? 0) ^ (1 << random.below(8));
      }
      writeFileSync(file, data);
      rmSync(join(path, "lock.mdb"), { force: true });
      const { status, signal, told } = attempt(path);
      expect(signal, "it hung").not.toBe("SIGTERM");
      if (status === 0) {
        // a lookup by a key that is damaged finds nothing, but no event is taken for another
        expect(told).toMatch(/^500 /);
        ends.whole += 1;
      } else if (status === 1) {
        expect(told).toMatch(/^unavailable /);
        ends.refused += 1;
      } else ends.ended += 1;
    }
    console.log(`\nbits turned over: ${JSON.stringify(ends)}`);
  });
});

test("a damaged record costs only those who ask for it", async () => {
  const path = join(newDirectory(), "store");
  const backend = await openBackend({ path });
  await fill(backend, 60, {});
  await backend.createStream("other", 1);
  await backend.close();
  turnIds(join(path, "data.mdb"));
  const next = await openBackend({ path });
  expect(await next.getStream("other")).not.toBeNull();
  await expect(next.exchange(fetching(100))).rejects.toMatchObject({ code: "unavailable" });
  await next.close();
});
