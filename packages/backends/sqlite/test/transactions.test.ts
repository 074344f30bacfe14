import type { Backend } from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import {
  acks,
  event,
  fetching,
  fill,
  firstValue,
  GROUP,
  type Handle,
  openBackend,
  openHandle,
  REAL_TIME,
  request,
  sequences,
} from "./fixtures/store.ts";
import { closing, temporaryFile } from "./fixtures/temporary.ts";

const setUp = async (): Promise<{ backend: Backend; handle: Handle }> => {
  const file = temporaryFile();
  const backend = await openBackend({ file, busyTimeoutMs: 2_000 });
  await fill(backend, 3);
  const handle = openHandle(file);
  handle.exec("CREATE TABLE theirs (x)");
  return { backend, handle };
};

const settling = async (backend: Backend, transaction: unknown): Promise<Parameters<Backend["exchange"]>[0]> => ({
  ...fetching(2, acks(await backend.exchange(fetching(2)))),
  fetch: null,
  transaction,
});

describe("settling in the caller's transaction (T8)", () => {
  test("commits with it", async () => {
    const { backend, handle } = await setUp();
    const request = await settling(backend, handle);
    handle.exec("BEGIN IMMEDIATE; INSERT INTO theirs VALUES (1)");
    expect((await backend.exchange(request)).settled).toEqual([[{ state: "acked" }, { state: "acked" }]]);
    expect(await backend.progress("s", "g")).toMatchObject([{ frontier: 0 }]);
    handle.exec("COMMIT");
    expect(await backend.progress("s", "g")).toMatchObject([{ frontier: 2 }]);
    expect(firstValue(handle, "SELECT COUNT(*) FROM theirs")).toBe(1);
  });

  test("is undone with it, and the lease is good as before", async () => {
    const { backend, handle } = await setUp();
    const request = await settling(backend, handle);
    handle.exec("BEGIN IMMEDIATE; INSERT INTO theirs VALUES (1)");
    await backend.exchange(request);
    handle.exec("ROLLBACK");
    expect(await backend.progress("s", "g")).toMatchObject([{ frontier: 0 }]);
    expect((await backend.exchange({ ...request, transaction: undefined })).settled).toEqual([
      [{ state: "acked" }, { state: "acked" }],
    ]);
    expect(firstValue(handle, "SELECT COUNT(*) FROM theirs")).toBe(0);
  });

  test("is stale inside it when the lease was settled before", async () => {
    const { backend, handle } = await setUp();
    const request = await settling(backend, handle);
    await backend.exchange({ ...request, transaction: undefined });
    handle.exec("BEGIN IMMEDIATE");
    expect((await backend.exchange(request)).settled[0]?.[0]).toEqual({ state: "stale", why: "settled" });
    handle.exec("ROLLBACK");
  });

  test("is refused on a handle with no transaction, and on one of another database", async () => {
    const { backend, handle } = await setUp();
    const request = await settling(backend, handle);
    await expect(backend.exchange(request)).rejects.toMatchObject({ code: "invalid_option" });
    const other = openHandle(temporaryFile());
    other.exec("BEGIN IMMEDIATE");
    await expect(backend.exchange({ ...request, transaction: other })).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("another database"),
    });
    other.exec("ROLLBACK");
    await expect(backend.exchange({ ...request, transaction: { sql: "BEGIN" } })).rejects.toMatchObject({
      code: "invalid_option",
    });
  });
});

describe("appending in the caller's transaction (T8)", () => {
  test("is seen by others when it commits, and not before", async () => {
    const { backend, handle } = await setUp();
    handle.exec("BEGIN IMMEDIATE; INSERT INTO theirs VALUES (1)");
    expect(await backend.append([request([event()])], handle)).toMatchObject([{ kind: "appended", events: [{ sequence: 4 }] }]);
    expect(
      sequences(await backend.exchange(fetching(10)).catch(() => ({ settled: [], grants: [], more: false, died: [] }))),
    ).not.toContain(4);
    handle.exec("COMMIT");
    expect(await backend.watermarks("s")).toMatchObject([{ highWatermark: 4 }]);
  });

  test("leaves no gap when it is rolled back (L1)", async () => {
    const { backend, handle } = await setUp();
    handle.exec("BEGIN IMMEDIATE");
    await backend.append([request([event()])], handle);
    handle.exec("ROLLBACK");
    expect(await backend.append([request([event()])])).toMatchObject([{ events: [{ sequence: 4 }] }]);
  });

  test("leaves nothing of itself when it fails, and the caller's part can still commit", async () => {
    const { backend, handle } = await setUp();
    handle.exec("CREATE TRIGGER stop BEFORE INSERT ON rheo_events WHEN NEW.id = 'bad' BEGIN SELECT RAISE(ABORT, 'stopped'); END");
    handle.exec("BEGIN IMMEDIATE; INSERT INTO theirs VALUES (1)");
    const failing = backend.append([request([event()]), request([event({ id: "bad" })])], handle);
    await expect(failing).rejects.toMatchObject({ code: "unavailable", cause: expect.any(Error) });
    handle.exec("COMMIT");
    expect(firstValue(handle, "SELECT COUNT(*) FROM theirs")).toBe(1);
    expect(await backend.watermarks("s")).toMatchObject([{ highWatermark: 3 }]);
    handle.exec("DROP TRIGGER stop");
  });

  test("says why a deferred transaction that is behind cannot write", async () => {
    const { backend, handle } = await setUp();
    handle.exec("BEGIN");
    firstValue(handle, "SELECT COUNT(*) FROM theirs");
    await backend.append([request([event()])]);
    await expect(backend.append([request([event()])], handle)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("BEGIN IMMEDIATE"),
    });
    handle.exec("ROLLBACK");
  });
});

describe("on the caller's own handle", () => {
  const open = async (busyTimeoutMs: number): Promise<{ backend: Backend; handle: Handle }> => {
    const handle = openHandle(temporaryFile());
    handle.exec("PRAGMA busy_timeout = 1234; CREATE TABLE theirs (x)");
    const backend = closing(sqlite({ database: handle, busyTimeoutMs }));
    await backend.open(REAL_TIME);
    await fill(backend, 3);
    return { backend, handle };
  };

  test("other calls wait for the end of the caller's transaction, and slip nothing into it", async () => {
    const { backend, handle } = await open(5_000);
    handle.exec("BEGIN IMMEDIATE; INSERT INTO theirs VALUES (1)");
    const appended = backend.append([request([event({ id: "outside" })])]);
    const read = backend.watermarks("s");
    await backend.append([request([event({ id: "inside" })])], handle);
    handle.exec("ROLLBACK");
    expect(await appended).toMatchObject([{ events: [{ sequence: 4 }] }]);
    expect((await backend.readIds("s", ["inside", "outside"])).map((found) => found?.id ?? null)).toEqual([null, "outside"]);
    expect((await read)[0]?.highWatermark).toBeLessThan(5);
    expect(firstValue(handle, "SELECT COUNT(*) FROM theirs")).toBe(0);
  });

  test("a transaction that is never ended is unavailable after busyTimeoutMs", async () => {
    const { backend, handle } = await open(40);
    handle.exec("BEGIN");
    await expect(backend.watermarks("s")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("transaction of yours"),
    });
    handle.exec("COMMIT");
    expect(await backend.watermarks("s")).toHaveLength(1);
  });

  test("settings stay the caller's, and the handle stays open", async () => {
    const { backend, handle } = await open(5_000);
    await backend.createGroup("s", "h", GROUP, { kind: "latest" });
    await backend.close();
    expect(firstValue(handle, "PRAGMA busy_timeout")).toBe(1234);
    expect(firstValue(handle, "PRAGMA journal_mode")).toBe("delete");
    expect(firstValue(handle, "SELECT COUNT(*) FROM rheo_groups")).toBe(2);
  });

  test("closed by the caller, calls are unavailable", async () => {
    const { backend, handle } = await open(5_000);
    handle.close();
    await expect(backend.append([request([event()])])).rejects.toMatchObject({ code: "unavailable" });
  });
});
