import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { type BetterSqlite3Constructor, type DatabaseHandle, type SqliteOptions, sqlite } from "@rheo/sqlite";
import { describe, expect, test } from "vitest";
import { acks, event, fetching, fill, REAL_TIME, request, sequences } from "./fixtures/store.ts";
import { closing, temporaryFile } from "./fixtures/temporary.ts";

const Libsql = createRequire(import.meta.url)("libsql") as BetterSqlite3Constructor;

const nodeSqlite = ((): { DatabaseSync: new (path: string, options?: object) => DatabaseHandle } | null => {
  const found: unknown = process.getBuiltinModule?.("node:sqlite");
  return typeof found === "object" && found !== null
    ? (found as { DatabaseSync: new (path: string, options?: object) => DatabaseHandle })
    : null;
})();

/** It compiles for minutes where it is installed, so it is not in the lock; `npm run test:better-sqlite3` brings it. */
const betterSqlite3 = process.env.RHEO_BETTER_SQLITE3;

/** @throws when it was not brought */
const loadBetterSqlite3 = (): BetterSqlite3Constructor =>
  createRequire(`${betterSqlite3}/`)("better-sqlite3") as BetterSqlite3Constructor;

if (betterSqlite3 === undefined) {
  console.warn("\n*** NOT RUN: better-sqlite3 itself. Run npm run test:better-sqlite3 too. ***\n");
}

if (nodeSqlite === null) {
  console.warn(
    `\n*** NOT RUN: this Node (${process.version}) has no node:sqlite, so its driver is untested here. Run the tests on Node 22.13 or later too. ***\n`,
  );
}

interface Case {
  readonly name: string;
  readonly isHere: boolean;
  readonly options: (file: string) => SqliteOptions;
}

const cases: readonly Case[] = [
  { name: "libsql", isHere: true, options: (file) => ({ file, driver: "libsql" }) },
  { name: "the default", isHere: true, options: (file) => ({ file }) },
  { name: "a constructor like better-sqlite3's", isHere: true, options: (file) => ({ file, driver: Libsql }) },
  { name: "a libsql handle", isHere: true, options: (file) => ({ database: closing(new Libsql(file)) }) },
  { name: "better-sqlite3", isHere: betterSqlite3 !== undefined, options: (file) => ({ file, driver: loadBetterSqlite3() }) },
  {
    name: "a better-sqlite3 handle",
    isHere: betterSqlite3 !== undefined,
    options: (file) => ({ database: closing(new (loadBetterSqlite3())(file)) }),
  },
  { name: "node:sqlite", isHere: nodeSqlite !== null, options: (file) => ({ file, driver: "node:sqlite" }) },
  { name: "a DatabaseSync", isHere: nodeSqlite !== null, options: (file) => ({ database: closing(makeDatabaseSync(file)) }) },
  {
    name: "a DatabaseSync that reads BigInts",
    isHere: nodeSqlite !== null,
    options: (file) => ({ database: closing(makeDatabaseSync(file, { readBigInts: true })) }),
  },
];

const makeDatabaseSync = (file: string, options: object = {}): DatabaseHandle => {
  if (nodeSqlite === null) throw new Error("no node:sqlite");
  return new nodeSqlite.DatabaseSync(file, options);
};

describe.each(cases)("driver: $name", ({ isHere, options }) => {
  test.skipIf(!isHere)("appends, delivers, settles and reads back what was given", async () => {
    const backend = closing(sqlite(options(temporaryFile())));
    await backend.open(REAL_TIME);
    await fill(backend, 0);
    const given = [
      event({
        type: null,
        key: "ключ \u{1F600}",
        metadata: '{"a":null}',
        payload: JSON.stringify({ text: '\u001f\u001e"\\ \u2028 \u{1F600}', list: [1, -0.5, 1e300] }),
      }),
      event({ timestampMs: -1, payload: "null" }),
      event({ payload: JSON.stringify("x".repeat(300_000)), bytes: 300_000 }),
    ];
    await backend.append([request(given)]);
    const wanted = given.map(({ id, type, key, metadata, payload }, index) => ({
      id,
      type,
      key,
      metadata,
      payload,
      partition: 0,
      sequence: index + 1,
    }));
    const fetched = await backend.exchange(fetching(10));
    expect(fetched.grants.flatMap(({ events }) => events)).toMatchObject(wanted);
    expect(
      await backend.readIds(
        "s",
        given.map(({ id }) => id),
      ),
    ).toMatchObject(wanted);
    for (const one of wanted)
      expect(
        await backend.read({
          stream: "s",
          partition: 0,
          after: one.sequence - 1,
          until: null,
          order: "asc",
          limit: 1,
          maxBytes: 1,
        }),
      ).toMatchObject([one]);
    const [settlement] = acks(fetched);
    if (settlement === undefined) throw new Error("nothing fetched");
    await backend.exchange({ ...fetching(1, [{ ...settlement, sequences: [2] }]), fetch: null });
    expect(await backend.leases("s", "g", 10)).toMatchObject([{ sequence: 1 }, { sequence: 3 }]);
    await backend.exchange({
      ...fetching(1, [{ ...settlement, sequences: [1], outcome: { kind: "reject", reason: "no", stack: null } }]),
      fetch: null,
    });
    expect(await backend.deadLetters({ stream: "s", group: "g", limit: 10, after: null, where: null })).toMatchObject([
      { sequence: 1, reason: "no" },
    ]);
    expect(await backend.redrive({ stream: "s", group: "g", select: { kind: "all" }, purge: false })).toBe(1);
    expect(sequences(await backend.exchange(fetching(10)))).toEqual([1]);
  });

  test.skipIf(!isHere)("answers a repeated id with what is stored, whatever else is asked", async () => {
    const backend = closing(sqlite(options(temporaryFile())));
    await backend.open(REAL_TIME);
    await fill(backend, 0);
    const one = event({ expectedSequence: 0, payload: '{"a":1,"b":2}' });
    await backend.append([request([one])]);
    const [again, other, fresh] = await backend.append([
      request([{ ...one, payload: '{"b":2,"a":1}' }]),
      request([event({ id: "never" }), { ...one, payload: '{"a":2}' }]),
      request([event({ expectedSequence: 1 }), event({ expectedSequence: 2 })]),
    ]);
    expect(again).toMatchObject({
      kind: "appended",
      events: [{ sequence: 1, duplicate: { id: one.id, payload: '{"a":1,"b":2}' } }],
    });
    expect(other).toMatchObject({ kind: "id_conflict", index: 1, stored: { id: one.id } });
    expect(fresh).toMatchObject({ kind: "appended", events: [{ sequence: 2 }, { sequence: 3 }] });
    expect(await backend.readIds("s", ["never"])).toEqual([null]);
  });
});

describe("the caller's transaction", () => {
  test.skipIf(nodeSqlite === null)("on a DatabaseSync commits and rolls back what was appended in it", async () => {
    const file = temporaryFile();
    const backend = closing(sqlite({ file, driver: "node:sqlite" }));
    await backend.open(REAL_TIME);
    await fill(backend, 0);
    const handle = closing(makeDatabaseSync(file));
    await expect(backend.append([request([event()])], handle)).rejects.toMatchObject({ code: "invalid_option" });
    for (const end of ["ROLLBACK", "COMMIT"]) {
      handle.exec("BEGIN IMMEDIATE");
      expect(await backend.append([request([event()])], handle)).toMatchObject([{ events: [{ sequence: 1 }] }]);
      handle.exec(end);
    }
    expect(await backend.watermarks("s")).toMatchObject([{ highWatermark: 1 }]);
  });

  test("on a handle of another copy of SQLite is refused, because the two would not see each other's locks", async () => {
    const file = temporaryFile();
    const backend = closing(sqlite({ file, driver: "libsql" }));
    await backend.open(REAL_TIME);
    await fill(backend, 0);
    const handle = closing(new (class Other extends Libsql {})(file));
    handle.exec("BEGIN IMMEDIATE");
    await expect(backend.append([request([event()])], handle)).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("another SQLite library"),
    });
    handle.exec("ROLLBACK");
  });
});

test("opening with the default driver prints nothing", () => {
  const script = `import { sqlite } from "@rheo/sqlite"; const store = sqlite({ file: ":memory:" }); await store.open({ clock: null, migrate: true }); await store.close();`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: import.meta.dirname,
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
