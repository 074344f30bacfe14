/** The translation of filters to SQL lets through all that core's evaluator does, and just that where it says so. */
import type { EventRecord, Filter } from "@rheo/core";
import { filterSql } from "@rheo/sqlite/internal";
import { filterCases } from "@rheo/testing/internal";
import fc from "fast-check";
import Database from "libsql";
import { afterAll, describe, expect, test } from "vitest";

const database = new Database(":memory:");
afterAll(() => void database.close());

/** Which of the events pass, as SQLite says. */
const ask = (wanted: Filter, records: readonly EventRecord[]): boolean[] => {
  const { text, values } = filterSql(wanted);
  const rows = records.map(() => "(?, ?, ?, ?, ?)").join(", ");
  const all = records.flatMap(({ id, type, key, metadata, payload }) => [id, type, key, metadata, payload]);
  const found = database
    .prepare(`WITH events (id, type, key, metadata, payload) AS (VALUES ${rows}) SELECT ${text} AS passes FROM events`)
    .all(...all, ...values) as { passes: number }[];
  return found.map(({ passes }) => passes === 1);
};

describe("filters in SQL", () => {
  test("1,500 random filters let through what core does of eight random events each, and only that where exact (G7)", () => {
    let exact = 0;
    let passed = 0;
    let refused = 0;
    fc.assert(
      fc.property(filterCases, ({ wanted, records, expected }) => {
        const answer = ask(wanted, records);
        if (filterSql(wanted).isExact) {
          exact += 1;
          expect(answer).toEqual(expected);
        } else expect(answer.map((passes, index) => passes || expected[index] === false)).not.toContain(false);
        passed += expected.filter(Boolean).length;
        refused += answer.filter((passes) => !passes).length;
      }),
      { seed: 7, numRuns: 1_500 },
    );
    // a test that only ever sees one answer proves nothing
    expect(Math.min(passed, refused, exact * 4)).toBeGreaterThan(1_000);
  });
});
