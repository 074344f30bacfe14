/** Commands about the store as a whole: migrate, doctor, bench; and what no command does to it. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { Running, run, values } from "./run.ts";
import { openScene } from "./scene.ts";

const Libsql = createRequire(import.meta.url)("libsql") as new (path: string) => { exec(sql: string): void; close(): void };

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-care-"));
});
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
const fresh = (): { readonly file: string; readonly store: string } => {
  const file = join(folder, "events.db");
  return { file, store: `sqlite:${file}` };
};

describe("a store that is not there", () => {
  test.for(["streams", "create-stream orders", "append orders 1", "bench", "migrate --dry-run", "doctor", "tail orders"])(
    "is not made by: %s",
    async (args) => {
      const { file, store } = fresh();
      const { err, out } = await run(args, { store });
      expect([existsSync(file), `${out}${err}`]).toEqual([false, expect.stringMatching(/rheo migrate|does not exist/)]);
    },
  );

  test("or that has no schema yet, is left as it is, and migrate is named", async () => {
    const { file, store } = fresh();
    await writeFile(file, "");
    const { code, err } = await run("streams", { store });
    expect([code, err, (await stat(file)).size]).toEqual([1, expect.stringMatching(/\(schema_outdated\)\nRun: rheo migrate/), 0]);
  });

  test("is made by migrate, once", async () => {
    const { store } = fresh();
    expect((await run("migrate --dry-run", { store })).out).toMatch(
      /^Would bring the schema up to date: The SQLite file .* does not exist/,
    );
    expect(values((await run("migrate --dry-run --json", { store })).out)).toEqual([{ dryRun: true, migrated: true }]);
    expect(values((await run("migrate --json", { store })).out)).toEqual([{ dryRun: false, migrated: true }]);
    expect((await run("migrate", { store })).out).toBe("The schema is up to date.\n");
    expect((await run("streams", { store })).code).toBe(0);
  });
});

describe("doctor", () => {
  test("of a store that is well: every check is ok, exit 0", async () => {
    await using scene = await openScene();
    const { code, out } = await run("doctor --json", scene);
    const found = values(out) as { readonly check: string; readonly status: string; readonly fix: unknown }[];
    expect([code, found.filter(({ status }) => status === "fail")]).toEqual([0, []]);
    expect(found.map(({ check }) => check)).toEqual(
      expect.arrayContaining(["node", "connection", "version", "schema", "integrity"]),
    );
  });

  test("of one whose schema was changed by hand: says which, and the statement that mends it; exit 1", async () => {
    await using scene = await openScene();
    dropIndex(scene.store);
    const { code, out } = await run("doctor", scene);
    expect(code).toBe(1);
    expect(out).toMatch(/^fail {2}schema +the index rheo_exceptions_by_due is missing$/m);
    expect(out).toMatch(
      /fail schema: .*\n {2}Run in sqlite3: CREATE INDEX rheo_exceptions_by_due ON rheo_exceptions .* WHERE due_at_ms IS NOT NULL;/,
    );
  });

  test.for<readonly [string, string, string]>([
    ["that cannot be reached", "postgres://127.0.0.1:1/nobody", "connection"],
    ["in a folder that is not there", "sqlite:/nowhere/deeper/events.db", "connection"],
  ])("of one %s, that is the finding: exit 1", async ([, store, check]) => {
    const { code, out, err } = await run("doctor --json", { store });
    expect([code, values(out), err]).toMatchObject([1, [{ check, status: "fail" }], ""]);
  });
});

/** Takes an index of Rheo's own away. */
const dropIndex = (store: string): void => {
  const database = new Libsql(store.replace(/^sqlite:|\?.*$/g, ""));
  database.exec("DROP INDEX rheo_exceptions_by_due");
  database.close();
};

describe("bench", () => {
  test("measures as a table and as JSON, and leaves nothing behind", async () => {
    await using scene = await openScene();
    const { code, out } = await run("bench --events 200 --json", scene);
    expect([code, values(out)]).toMatchObject([
      0,
      [
        { measure: "append, one at a time", events: 200 },
        { measure: "append, 64 at once", events: 200 },
        { measure: "append, batches of 100", events: 200 },
        { measure: "fetch and settle, 100 at a time", events: 200 },
        { measure: "append → handler", events: 100 },
      ],
    ]);
    expect((await run("bench --events 100", scene)).out).toMatch(/EVENTS +RATE +P50 +P95 +P99\nappend, one at a time +100 /);
    expect((await scene.rheo.listStreams()).map(({ name }) => name)).toEqual(["empty", "orders"]);
  });

  test("shows how far it is at a terminal; Ctrl-C ends it with 130, and its stream is gone", async () => {
    await using scene = await openScene();
    const bench = new Running("bench --events 100000", { store: scene.store, columns: 120 });
    await until("it is under way", () => /append.*% [\d,]+ of [\d,]+, [\d.,]+\/s, .* left/.test(bench.err));
    bench.signal("SIGINT");
    expect(await bench.code).toBe(130);
    expect((await scene.rheo.listStreams()).map(({ name }) => name)).toEqual(["empty", "orders"]);
  });

  test("--dry-run says what it would do", async () => {
    await using scene = await openScene();
    expect((await run("bench --events 1000 --dry-run", scene)).out).toBe(
      "Would append and consume 3,600 events (1.03 MiB) on a stream of its own, and remove it.\n",
    );
    expect(values((await run("bench --events 1000 --dry-run --json", scene)).out)).toEqual([
      { dryRun: true, events: 3_600, bytes: 1_080_000 },
    ]);
  });
});

test("long trims and replays show how far they are at a terminal", async () => {
  await using scene = await openScene();
  for (let n = 0; n < 5; n++)
    await scene.rheo.appendMany(
      "empty",
      Array.from({ length: 10_000 }, () => ({ payload: 1 })),
    );
  const { code, err } = await run("trim empty --keep-last 1 --yes", { ...scene, columns: 120 });
  expect([code, err]).toEqual([0, expect.stringMatching(/Trimming \d+% [\d,]+ of 49,999, [\d.,]+\/s/)]);
});
