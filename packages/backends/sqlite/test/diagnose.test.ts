/** What `diagnose` finds wrong with a file. */
import { Rheo } from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import { openHandle } from "./fixtures/store.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

/** A store in a file, with an index by content. */
const makeStore = async (): Promise<string> => {
  const file = temporaryFile();
  await using rheo = await Rheo.open({ backend: sqlite({ file, driver: "libsql" }) });
  await rheo.createStream("orders");
  await rheo.append("orders", { payload: { total: 1 } });
  await rheo.createIndex("orders", "payload.total");
  return file;
};

/** What is not well with it. */
const ailments = async (file: string): Promise<unknown[]> => {
  await using rheo = await Rheo.open({ backend: sqlite({ file, driver: "libsql" }), migrate: false });
  return (await rheo.diagnose()).filter(({ status }) => status !== "ok");
};

test("of a store that is well, nothing; every check is there", async () => {
  const file = await makeStore();
  await using rheo = await Rheo.open({ backend: sqlite({ file, driver: "libsql" }) });
  expect((await rheo.diagnose()).map(({ check, status }) => `${check} ${status}`)).toEqual([
    ...["node ok", "connection ok", "version ok", "schema ok", "indexes ok", "integrity ok"],
    ...["space ok", "journal ok", "log ok", "file system ok", "disk ok"],
  ]);
});

test("a database of the caller's own, and one in memory, have no file to look at", async () => {
  const handle = openHandle(await makeStore());
  await using rheo = await Rheo.open({ backend: sqlite({ database: handle }) });
  await using inMemory = await Rheo.open("sqlite::memory:");
  for (const store of [rheo, inMemory]) expect((await store.diagnose()).filter(({ status }) => status !== "ok")).toEqual([]);
});

describe("what was changed by hand is found, and how it is mended", () => {
  test("an index that is missing: the statement that makes it, which does", async () => {
    const file = await makeStore();
    const handle = openHandle(file);
    handle.exec("DROP INDEX rheo_exceptions_leased");
    const [found] = (await ailments(file)) as { readonly message: string; readonly fix: string }[];
    expect(found).toMatchObject({ check: "schema", status: "fail", message: "the index rheo_exceptions_leased is missing" });
    handle.exec(found?.fix.replace("Run in sqlite3: ", "") ?? "");
    expect(await ailments(file)).toEqual([]);
  });

  test("a trigger that is missing, and a table with another column", async () => {
    const file = await makeStore();
    const handle = openHandle(file);
    handle.exec("DROP TRIGGER rheo_exceptions_added");
    expect(await ailments(file)).toMatchObject([{ check: "schema", message: "the trigger rheo_exceptions_added is missing" }]);
    handle.exec("ALTER TABLE rheo_events ADD COLUMN extra TEXT");
    expect(await ailments(file)).toMatchObject([
      { check: "schema", message: "the table rheo_events is not as Rheo made it", fix: expect.stringContaining("backup") },
    ]);
  });

  test("an index by content that is missing: the command that makes it", async () => {
    const file = await makeStore();
    const handle = openHandle(file);
    const name = handle.prepare("SELECT name FROM sqlite_schema WHERE name GLOB 'rheo_events_s[0-9]*'").raw().get();
    handle.exec(`DROP INDEX ${String(name)}`);
    expect(await ailments(file)).toMatchObject([
      { check: "indexes", status: "warn", fix: "Make it again with: rheo create-index orders 'payload.total'" },
    ]);
  });

  test("a table that no longer agrees with its index", async () => {
    const file = await makeStore();
    const handle = openHandle(file);
    handle.exec("PRAGMA writable_schema = ON");
    handle.exec(
      "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'rheo_members') WHERE name = 'rheo_events_by_id'",
    );
    expect(await ailments(file)).toEqual(
      expect.arrayContaining([expect.objectContaining({ check: "integrity", status: "fail" })]),
    );
  });
});
