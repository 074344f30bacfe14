import { RheoError } from "@rheo/core";
import { fromUrl, type SqliteOptions, sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import { openHandle, REAL_TIME } from "./fixtures/store.ts";
import { temporaryFile } from "./fixtures/temporary.ts";

const refusal = (make: () => unknown): unknown => {
  try {
    make();
    return null;
  } catch (error) {
    return RheoError.is(error) ? error.code : error;
  }
};

/** What JavaScript callers may write. */
const loose = (options: object): SqliteOptions => options as SqliteOptions;

describe("options", () => {
  test.each([
    ["none", {}],
    ["an unknown name", { file: "x.db", files: "y.db" }],
    ["both a file and a handle", { file: "x.db", database: {} }],
    ["an empty path", { file: "" }],
    ["a handle that is none", { database: { query: () => null } }],
    ["a driver beside a handle", { database: { exec() {}, prepare() {}, inTransaction: false }, driver: "libsql" }],
    ["an unknown driver", { file: "x.db", driver: "sqlite3" }],
    ["an unknown synchronous", { file: "x.db", synchronous: "off" }],
    ["a negative wait", { file: "x.db", busyTimeoutMs: -1 }],
  ])("%s is invalid_option", (_, options) => {
    expect(refusal(() => sqlite(loose(options)))).toBe("invalid_option");
  });

  test.each([
    "sqlite:",
    "postgres://x",
    "sqlite:./x.db?mode=ro",
    "sqlite:./x.db?synchronous=off",
    "sqlite:./x.db?busyTimeoutMs=soon",
    "sqlite:./%zz",
  ])("the URL %s is invalid_option", (url) => {
    expect(refusal(() => fromUrl(url))).toBe("invalid_option");
  });

  test("a URL names a file, and how it is synchronised", async () => {
    const file = temporaryFile("a b.db");
    const backend = fromUrl(`sqlite:${file.replace(" ", "%20")}?synchronous=normal`);
    await backend.open(REAL_TIME);
    await backend.close();
    expect(openHandle(file).prepare("SELECT COUNT(*) FROM rheo_meta").raw().get()).toEqual([2]);
  });

  test("sqlite::memory: is a store that says it will not last", async () => {
    const backend = fromUrl("sqlite::memory:");
    expect(backend.capabilities).toMatchObject({ persistent: false, distributed: false });
    await backend.open(REAL_TIME);
    expect((await backend.createStream("s", 1)).created).toBe(true);
    await backend.close();
  });

  test("nothing is opened before open, and nothing can be called", async () => {
    const backend = sqlite({ file: temporaryFile() });
    await expect(backend.ping()).rejects.toMatchObject({ code: "closed" });
  });

  test("after close every call is refused, and closing again is nothing", async () => {
    const backend = sqlite({ file: temporaryFile() });
    await backend.open(REAL_TIME);
    await backend.ping();
    await backend.close();
    await backend.close();
    await expect(backend.ping()).rejects.toMatchObject({ code: "closed" });
    await expect(backend.append([])).rejects.toMatchObject({ code: "closed" });
  });

  test("a backend that was closed can be opened again", async () => {
    const backend = sqlite({ file: temporaryFile() });
    await backend.open(REAL_TIME);
    await backend.createStream("s", 1);
    await backend.close();
    await backend.open(REAL_TIME);
    expect(await backend.getStream("s")).toMatchObject({ name: "s" });
    await backend.close();
  });
});
