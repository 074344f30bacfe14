/** The translation of filters to SQL means what core's evaluator means. */
import type { EventRecord, Filter } from "@rheo/core";
import { programText } from "@rheo/core/internal";
import { filterCases } from "@rheo/testing/internal";
import { startPostgres } from "@rheo/testing/servers";
import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBackend } from "./fixtures/scene.ts";

const server = await startPostgres({ fsync: "off" });
const client = new pg.Client({ connectionString: server.url });

beforeAll(async () => {
  const backend = await openBackend({ url: server.url, notify: false });
  await backend.close();
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server.stop();
});

/** Which of the events pass, as the database says. */
const ask = async (wanted: Filter, records: readonly EventRecord[]): Promise<boolean[]> => {
  const { rows } = await client.query("SELECT rheo.filter_sql($1::jsonb) AS sql, rheo.filter_sql($1::jsonb, false) AS lax", [
    programText(wanted),
  ]);
  const found = await client.query(
    `SELECT (${rows[0]?.sql}) AS passes, (${rows[0]?.lax}) IS TRUE AS lax FROM (
      SELECT v->>'id' AS id, v->>'type' AS type, v->>'key' AS key, v->'metadata' AS metadata, v->'payload' AS payload, n
      FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS a (v, n)
    ) e ORDER BY n`,
    [
      `[${records.map(({ id, type, key, metadata, payload }) => `{"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"key":${JSON.stringify(key)},"metadata":${metadata},"payload":${payload}}`).join(",")}]`,
    ],
  );
  return found.rows.map(({ passes, lax }: { passes: boolean; lax: boolean }) => {
    expect(lax).toBe(passes);
    return passes;
  });
};

describe("filters in SQL", () => {
  test("1,500 random filters pass the same of eight random events each as core does (G7)", { timeout: 120_000 }, async () => {
    let passed = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(filterCases, async ({ wanted, records, expected }) => {
        passed += expected.filter(Boolean).length;
        refused += expected.filter((one) => !one).length;
        expect(await ask(wanted, records)).toEqual(expected);
      }),
      { seed: 7, numRuns: 1_500 },
    );
    // a test that only ever sees one answer proves nothing
    expect(Math.min(passed, refused)).toBeGreaterThan(1_000);
  });
});
