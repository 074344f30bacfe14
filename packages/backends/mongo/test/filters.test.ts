/** The translation of filters lets through all that core's evaluator does, and mostly just that. */
import type { Filter } from "@rheo/core";
import { copyOf, filterQuery } from "@rheo/mongo/internal";
import { filterCases } from "@rheo/testing/internal";
import { startMongo } from "@rheo/testing/servers";
import fc from "fast-check";
import { type Document, MongoClient } from "mongodb";
import { afterAll, expect, test } from "vitest";
import { newDatabase } from "./fixtures/store.ts";

const server = await startMongo();
const client = await new MongoClient(server.url).connect();
const name = newDatabase();
const events = client.db(name).collection<Document & { case: number; n: number }>("events");
await events.createIndex({ case: 1 });
afterAll(async () => {
  await client.db(name).dropDatabase();
  await client.close();
  await server.stop();
});

const RUNS = 150;

test(`${RUNS} random filters let through all that core does of eight random events each (G7)`, { timeout: 120_000 }, async () => {
  const cases = fc.sample(filterCases, { seed: 7, numRuns: RUNS });
  const documents = cases.flatMap(({ records }, index) =>
    records.map((record, n) => ({ case: index, n, id: record.id, type: record.type, key: record.key, ...copyOf(record) })),
  );
  await events.insertMany(documents);
  let exact = 0;
  let passed = 0;
  let refused = 0;
  for (const [index, { wanted, records, expected }] of cases.entries()) {
    const found = await events.find({ $and: [{ case: index }, filterQuery(wanted as Filter) ?? {}] }).toArray();
    const answer = records.map((_, n) => found.some((document) => document.n === n));
    const told = JSON.stringify({ index, wanted, payloads: records.map(({ payload }) => payload), answer, expected });
    expect(
      answer.every((passes, n) => passes || expected[n] === false),
      told,
    ).toBe(true);
    if (JSON.stringify(answer) === JSON.stringify(expected)) exact += 1;
    passed += expected.filter(Boolean).length;
    refused += answer.filter((passes) => !passes).length;
  }
  // a test that only ever sees one answer proves nothing
  expect(Math.min(passed, refused)).toBeGreaterThan(RUNS / 2);
  expect(exact).toBeGreaterThan(RUNS / 3);
});
