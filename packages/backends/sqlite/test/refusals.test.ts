import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { RheoError } from "@rheo/core";
import { type BetterSqlite3Constructor, sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import { startChild } from "./fixtures/children.ts";
import { acks, event, fetching, fill, firstValue, openBackend, openHandle, REAL_TIME, request } from "./fixtures/store.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

const Libsql = createRequire(import.meta.url)("libsql") as BetterSqlite3Constructor;

const refusal = async (file: string, migrate = true): Promise<RheoError> => {
  const backend = sqlite({ file, driver: "libsql" });
  try {
    await backend.open({ clock: null, migrate });
  } catch (error) {
    if (RheoError.is(error)) return error;
    throw error;
  }
  await backend.close();
  throw new Error("It opened.");
};

describe("a file that cannot be used is refused with the reason", () => {
  test("not a database", async () => {
    const file = temporaryFile();
    writeFileSync(file, "Not a database, but long enough to be looked at. ".repeat(100));
    const error = await refusal(file);
    expect(error).toMatchObject({ code: "unavailable", cause: expect.any(Error) });
    expect(error.message).toContain("not a SQLite database");
  });

  test("a directory that does not exist, and one where a file should be", async () => {
    const file = temporaryFile();
    expect((await refusal(join(file, "deeper", "events.db"))).message).toContain("does not exist");
    mkdirSync(file);
    expect((await refusal(file)).message).toContain("it is a directory");
  });

  test("another program's", async () => {
    const file = temporaryFile();
    openHandle(file).exec("PRAGMA application_id = 1234; CREATE TABLE theirs (x)");
    const error = await refusal(file);
    expect(error).toMatchObject({ code: "unavailable" });
    expect(error.message).toContain("another program");
    expect(firstValue(openHandle(file), "PRAGMA journal_mode")).toBe("delete");
  });

  test("a newer schema, naming both versions", async () => {
    const file = temporaryFile();
    await (await openBackend({ file })).close();
    openHandle(file).exec("UPDATE rheo_meta SET value = 99 WHERE name = 'schema_version'");
    const error = await refusal(file);
    expect(error.code).toBe("schema_outdated");
    expect(error.message).toMatch(/version 99.*up to 1/);
  });

  test("an older schema that may not be migrated; nothing is written", async () => {
    const file = temporaryFile();
    expect((await refusal(file, false)).code).toBe("schema_outdated");
    expect(firstValue(openHandle(file), "SELECT COUNT(*) FROM sqlite_schema")).toBe(0);
  });

  test.skipIf(process.getuid?.() !== 0)("one that only others may write (as root: tried by a child that is nobody)", async () => {
    const file = temporaryFile();
    chmodSync(dirname(file), 0o755);
    await (await openBackend({ file })).close();
    chmodSync(file, 0o644);
    const [said] = await startChild("refused", file).done();
    expect(JSON.parse(said ?? "")).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("cannot be written to"),
    });
  });

  test("a damaged file", async () => {
    const file = temporaryFile();
    const handle = openHandle(file);
    await (await openBackend({ file })).close();
    handle.exec(
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'rheo_streams'; PRAGMA wal_checkpoint(TRUNCATE)",
    );
    const backend = sqlite({ file, driver: "libsql" });
    const use = async (): Promise<unknown> => {
      await backend.open(REAL_TIME);
      return backend.getStream("s");
    };
    await expect(use()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("damaged") });
    await backend.close();
  });
});

describe("beside the caller's own tables", () => {
  test("a file with other tables is used, and not marked as Rheo's", async () => {
    const file = temporaryFile();
    openHandle(file).exec("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (7)");
    await fill(await openBackend({ file }), 1);
    expect(firstValue(openHandle(file), "SELECT x FROM theirs")).toBe(7);
    expect(firstValue(openHandle(file), "PRAGMA application_id")).toBe(0);
  });

  test("a file of Rheo's own is marked", async () => {
    const file = temporaryFile();
    await openBackend({ file });
    expect(firstValue(openHandle(file), "PRAGMA application_id")).toBe(0x52_68_65_6f);
  });
});

describe("a full disk", () => {
  test("is unavailable, leaves nothing half written, and is over when there is room", async () => {
    const handle = openHandle(temporaryFile());
    const backend = sqlite({ database: handle });
    await backend.open(REAL_TIME);
    await fill(backend, 3);
    handle.exec(`PRAGMA max_page_count = ${Number(firstValue(handle, "PRAGMA page_count")) + 4}`);
    const large = event({ payload: JSON.stringify("x".repeat(100_000)), bytes: 100_000 });
    const appended = backend.append([request([event(), large])]);
    await expect(appended).rejects.toMatchObject({
      code: "unavailable",
      cause: expect.any(Error),
      message: expect.stringContaining("full"),
    });
    expect(handle.inTransaction).toBe(false);
    expect(await backend.watermarks("s")).toEqual([{ partition: 0, firstSequence: 1, highWatermark: 3 }]);
    const fetched = await backend.exchange(fetching(10));
    expect((await backend.exchange(fetching(10, acks(fetched)))).settled).toEqual([
      [{ state: "acked" }, { state: "acked" }, { state: "acked" }],
    ]);
    handle.exec("PRAGMA max_page_count = 100000");
    expect(await backend.append([request([large])])).toMatchObject([{ kind: "appended", events: [{ sequence: 4 }] }]);
    await backend.close();
  });
});

describe("a commit that fails", () => {
  /** libsql, but its next COMMIT fails with a code of SQLite's before it does anything. */
  const failing = (code: string): { driver: BetterSqlite3Constructor; readonly arm: () => void } => {
    let armed = false;
    class Failing extends Libsql {
      override exec(sql: string): unknown {
        if (sql !== "COMMIT" || !armed) return super.exec(sql);
        armed = false;
        throw Object.assign(new Error("disk I/O error"), { code });
      }
    }
    const arm = (): void => {
      armed = true;
    };
    return { driver: Failing, arm };
  };

  test.each([
    ["SQLITE_IOERR_FSYNC", "outcome_unknown"],
    ["SQLITE_FULL", "unavailable"],
  ])("with %s is %s, and the store goes on", async (code, wanted) => {
    const { driver, arm } = failing(code);
    const backend = await openBackend({ driver });
    await fill(backend, 1);
    arm();
    await expect(backend.append([request([event()])])).rejects.toMatchObject({ code: wanted, cause: { code } });
    expect(await backend.append([request([event()])])).toMatchObject([{ events: [{ sequence: 2 }] }]);
  });

  test("because another holds the lock is tried again", async () => {
    const { driver, arm } = failing("SQLITE_BUSY");
    const backend = await openBackend({ driver });
    await fill(backend, 1);
    arm();
    expect(await backend.append([request([event()])])).toMatchObject([{ events: [{ sequence: 2 }] }]);
    expect(await backend.watermarks("s")).toMatchObject([{ highWatermark: 2 }]);
  });
});

describe("sequences at the edge of what a number holds (B87)", () => {
  test.each([9, 99, 2 ** 31 - 1, 2 ** 51, Number.MAX_SAFE_INTEGER - 6])("go on after %i", async (seed) => {
    const file = temporaryFile();
    const backend = await openBackend({ file });
    await fill(backend, 0);
    openHandle(file).exec(
      `UPDATE rheo_partitions SET first_sequence = ${seed + 1}, high_watermark = ${seed}; UPDATE rheo_heads SET cursor = ${seed}, token = ${seed}`,
    );
    const [answer] = await backend.append([request([event(), event(), event(), event(), event()])]);
    const wanted = [1, 2, 3, 4, 5].map((n) => seed + n);
    expect(answer?.kind === "appended" ? answer.events.map(({ sequence }) => sequence) : answer).toEqual(wanted);
    const fetched = await backend.exchange(fetching(10));
    expect(fetched.grants).toMatchObject([{ token: seed + 1, events: wanted.map((sequence) => ({ sequence })) }]);
    expect((await backend.exchange({ ...fetching(10, acks(fetched)), fetch: null })).settled[0]).toHaveLength(5);
    expect(await backend.progress("s", "g")).toMatchObject([{ frontier: seed + 5 }]);
  });

  test("end with a clear error, and repeat none", async () => {
    const file = temporaryFile();
    const backend = await openBackend({ file });
    await fill(backend, 0);
    const seed = Number.MAX_SAFE_INTEGER - 1;
    openHandle(file).exec(`UPDATE rheo_partitions SET first_sequence = ${seed + 1}, high_watermark = ${seed}`);
    await expect(backend.append([request([event(), event()])])).rejects.toMatchObject({
      message: expect.stringContaining("used up its sequences"),
    });
    expect(await backend.append([request([event()])])).toMatchObject([{ events: [{ sequence: Number.MAX_SAFE_INTEGER }] }]);
    await expect(backend.append([request([event()])])).rejects.toMatchObject({ code: "unavailable" });
    expect(await backend.watermarks("s")).toMatchObject([{ highWatermark: Number.MAX_SAFE_INTEGER }]);
  });
});
