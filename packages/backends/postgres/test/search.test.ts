/** Queries go where they were promised to: to the index of their path, or a bounded range of the primary key. */
import { Rheo } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const EVENTS = 300_000;
const RARE = 50_000;

const server = await startPostgres({ fsync: "off", shared_preload_libraries: "auto_explain" });
const pool = new pg.Pool({ connectionString: server.url, max: 1 });
pool.on("error", () => undefined); // the server ends connections when it stops
const notices: string[] = [];
pool.on("connect", (client) => client.on("notice", ({ message }) => notices.push(message ?? "")));
let rheo: Rheo;

beforeAll(async () => {
  rheo = await Rheo.open({ backend: postgres({ pool, notify: false }) });
  await rheo.createStream("s", { partitions: 2 });
  await rheo.append("s", { payload: {} });
  // as appends would have written them
  await pool.query(
    `INSERT INTO rheo.events (stream_id, partition, sequence, timestamp, latest, bytes, id, type, key, metadata, payload)
      SELECT s.stream_id, n % 2, 1 + n / 2 + (1 - n % 2), to_timestamp(n), to_timestamp(n), 100, 'e' || n, CASE WHEN n % ${RARE} = 0 THEN 'rare' ELSE 'common' END, NULL,
        jsonb_build_object('correlationId', 'c' || n / 10), jsonb_build_object('n', n, 'currency', CASE WHEN n % ${RARE} = 0 THEN 'EUR' ELSE 'USD' END)
      FROM rheo.streams s, generate_series(2, ${EVENTS}) n WHERE s.name = 's'`,
  );
  for (const path of ["type", "correlationId", "payload.currency", "payload.n"]) await rheo.createIndex("s", path);
  await pool.query("ANALYZE rheo.events");
  await pool.query(
    "SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET client_min_messages = log; SET auto_explain.log_level = notice",
  );
}, 180_000);

afterAll(async () => {
  await rheo.close();
  await pool.end();
  await server.stop();
});

/** The plans by which events were read for a query. */
const plansOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  notices.length = 0;
  await work();
  return notices.filter((plan) => plan.includes("LIMIT $6"));
};

describe("on many events", () => {
  test.each([
    ["a type", { type: "rare" }],
    ["a correlation id", { correlationId: "c7777" }],
    ["a value in the payload", { where: { "payload.currency": "EUR" } }],
    ["one of several values", { where: { "payload.n": { in: [70_001, 70_002, 290_000] } } }],
    ["a range of values", { where: { "payload.n": { gte: 60_000, lt: 60_020 } } }],
    ["a value, latest first", { where: { "payload.currency": "EUR" }, order: "desc" as const }],
    ["a value within times", { where: { "payload.currency": "EUR" }, from: new Date(150_000_000) }],
  ])("%s is found by its index, without a sequential scan", async (_, query) => {
    let found = 0;
    const plans = await plansOf(async () => (found = (await rheo.query("s", { ...query, limit: 1_000 })).length));
    expect(found).toBeGreaterThan(0);
    expect(plans.length).toBeGreaterThan(0);
    for (const plan of plans) expect(plan).not.toContain("Seq Scan on events");
    expect(plans.some((plan) => /Index (Only )?Scan.* (using|on) events_s\d+_/.test(plan))).toBe(true);
  });

  test("what has no index is looked for in bounded ranges of the primary key, however many there are", async () => {
    let found = 0;
    const plans = await plansOf(async () => {
      for await (const event of rheo.scan("s", {
        where: { "payload.currency": { startsWith: "E" }, "metadata.correlationId": { exists: true } },
      }))
        found += event.partition >= 0 ? 1 : 0;
    });
    expect(found).toBe(EVENTS / RARE);
    expect(plans.length).toBeGreaterThan(2);
    for (const plan of plans) expect(plan).not.toContain("Seq Scan on events");
  });

  test("indexes belong to one stream, are named after paths, and can be dropped", async () => {
    await rheo.createStream("other");
    expect(await rheo.listIndexes("other")).toEqual([]);
    expect(await rheo.listIndexes("s")).toEqual(["correlationId", "payload.currency", "payload.n", "type"]);
    expect(await rheo.dropIndex("s", "payload.n")).toBe(true);
    expect(await rheo.listIndexes("s")).toEqual(["correlationId", "payload.currency", "type"]);
    await expect(rheo.createIndex("s", "payload.0")).resolves.toBeUndefined();
    await expect(rheo.createIndex("s", "payload.-1")).rejects.toMatchObject({ code: "invalid_query" });
  });

  test("an index that was left half built is built anew", async () => {
    await rheo.createIndex("s", "payload.n");
    await pool.query(
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid::regclass::text LIKE '%events_s%' AND obj_description(indexrelid) = 'payload.n'",
    );
    expect(await rheo.listIndexes("s")).not.toContain("payload.n");
    await rheo.createIndex("s", "payload.n");
    expect(await rheo.listIndexes("s")).toContain("payload.n");
  });
});
