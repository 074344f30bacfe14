/** Queries go where they were promised to: to the index of their path, or along the primary key. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Filter, Rheo } from "@rheo/core";
import { sqlite } from "@rheo/sqlite";
import { filterSql } from "@rheo/sqlite/internal";
import Database from "libsql";
import { afterAll, beforeAll, expect, test } from "vitest";

let folder = "";
let database: InstanceType<typeof Database>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-search-"));
  const file = join(folder, "events.db");
  const rheo = await Rheo.open({ backend: sqlite({ file, synchronous: "normal", driver: "libsql" }) });
  await rheo.createStream("s", { partitions: 2 });
  for (const path of ["payload.v", "key", "correlationId"]) await rheo.createIndex("s", path);
  const inputs = Array.from({ length: 1_000 }, (_, n) => ({
    key: `k${n}`,
    payload: { v: n, w: n },
    metadata: { correlationId: `c${n}` },
  }));
  await rheo.appendMany("s", inputs);
  await rheo.close();
  database = new Database(file);
});
afterAll(async () => {
  database.close();
  await rm(folder, { recursive: true, force: true });
});

/** As `readMatching` asks. */
const planOf = (where: Filter): string => {
  const { text, values } = filterSql(where);
  const rows = database
    .prepare(
      `EXPLAIN QUERY PLAN SELECT * FROM rheo_events WHERE stream_id = 1 AND partition = ? AND sequence > ? AND sequence <= ? AND ${text} ORDER BY sequence ASC LIMIT ?`,
    )
    .all(0, 0, 1_000, ...values, 256) as { readonly detail: string }[];
  return rows.map(({ detail }) => detail).join("; ");
};

test.each<[string, Filter]>([
  ["a number", { "payload.v": 7 }],
  ["a text", { "payload.v": "x" }],
  ["a key", { key: "k7" }],
  ["a correlation id", { correlationId: "c7" }],
  ["one of two conditions", { and: [{ "payload.w": { gt: 3 } }, { where: { "payload.v": 7 } }] }],
])("%s goes to the index of its path", (_, where) => {
  expect(planOf(where)).toMatch(/SEARCH rheo_events USING INDEX rheo_events_s1_/);
});

test.each<[string, Filter]>([
  ["a path without an index", { "payload.w": 7 }],
  ["a list", { "payload.v": { in: [1, 2, 3] } }],
  ["a range", { "payload.v": { gt: 7 } }],
  ["what must not be", { not: { "payload.v": 7 } }],
])("%s goes along the primary key", (_, where) => {
  expect(planOf(where)).toMatch(/SEARCH rheo_events USING (PRIMARY KEY|INDEX sqlite_autoindex)/);
});
