/** Polls of many idle groups at once: what they cost, and what they must find all the same. The contract has more of the latter. */
import type { Backend, ExchangeAnswer, ExchangeRequest } from "@rheo/core";
import { startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { ackOf, fetching, OPTIONS, openBackend, request, STREAM, sequencesOf } from "./fixtures/scene.ts";

const server = await startPostgres({ fsync: "off", track_functions: "pl" });
const pool = new pg.Pool({ connectionString: server.url, max: 4 });
pool.on("error", () => undefined);
let schemas = 0;
afterAll(async () => {
  await pool.end();
  await server.stop();
});

const open = async (groups: readonly string[]): Promise<{ backend: Backend; schema: string }> => {
  const schema = `i${++schemas}`;
  const backend = await openBackend({ pool, schema, notify: false });
  await backend.createStream(STREAM, 1);
  for (const group of groups)
    await backend.createGroup(STREAM, group, { ...OPTIONS, ordering: "partition" }, { kind: "earliest" });
  return { backend, schema };
};

const requestOf = (group: string): ExchangeRequest => ({ ...fetching(10), group });
const poll = (backend: Backend, groups: readonly string[]): Promise<ExchangeAnswer[]> =>
  Promise.all(groups.map((group) => backend.exchange(requestOf(group))));
const found = (answers: readonly ExchangeAnswer[]): number[][] => answers.map(({ grants }) => sequencesOf(grants));

/** Calls of a function so far. */
const calls = async (schema: string, name: string): Promise<number> => {
  for (const client of await Promise.all([1, 2, 3, 4].map(() => pool.connect()))) {
    await client.query("SELECT pg_stat_force_next_flush()");
    client.release();
  }
  const { rows } = await pool.query(
    "SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_user_functions WHERE schemaname = $1 AND funcname = $2",
    [schema, name],
  );
  return rows[0].calls;
};

test("polls of idle groups at once are one statement for 200 of them; those of one group alone are the fetch itself", async () => {
  const groups = Array.from({ length: 250 }, (_, n) => `g${n}`);
  const { backend, schema } = await open(groups);
  expect(found(await poll(backend, groups)).flat()).toEqual([]);
  const before = await calls(schema, "settle_and_fetch");
  expect(before).toBe(250);
  for (let round = 0; round < 10; round++) expect(found(await poll(backend, groups)).flat()).toEqual([]);
  expect([await calls(schema, "settle_and_fetch"), await calls(schema, "claimable")]).toEqual([before, 20]);
  for (let round = 0; round < 5; round++) await backend.exchange(requestOf("g7"));
  expect([await calls(schema, "settle_and_fetch"), await calls(schema, "claimable")]).toEqual([before + 5, 20]);
  await backend.append([request(1)]);
  expect(found(await poll(backend, groups))).toEqual(groups.map(() => [1]));
  expect([await calls(schema, "settle_and_fetch"), await calls(schema, "claimable")]).toEqual([before + 255, 20]);
  await backend.close();
});

test("what another process appended, of which nobody told, is found by those that it is for", async () => {
  const { backend, schema } = await open(["g0", "g1"]);
  await poll(backend, ["g0", "g1"]);
  const other = await openBackend({ pool, schema, notify: false });
  await other.append([request(2)]);
  expect(found(await poll(backend, ["g0", "g1"]))).toEqual([[1], [1]]);
  await other.close();
  await backend.close();
});

test("what was settled in a user's transaction lets the next of its order be fetched", async () => {
  const { backend, schema } = await open(["g0", "g1"]);
  await backend.append([request(2)]);
  const [taken] = await poll(backend, ["g0", "g1"]);
  await poll(backend, ["g0", "g1"]);
  const other = await openBackend({ pool, schema, notify: false });
  const client = await pool.connect();
  await client.query("BEGIN");
  await other.exchange({ ...requestOf("g0"), fetch: null, settlements: [ackOf(taken?.grants[0], 1)], transaction: client });
  expect(found(await poll(backend, ["g0", "g1"]))).toEqual([[], []]);
  await client.query("COMMIT");
  client.release();
  expect(found(await poll(backend, ["g0", "g1"]))).toEqual([[2], []]);
  await other.close();
  await backend.close();
});

test("each poll is told that the backend was closed before it was looked at", async () => {
  const { backend } = await open(["g0", "g1"]);
  await poll(backend, ["g0", "g1"]);
  const polls = ["g0", "g1"].map((group) => backend.exchange(requestOf(group)));
  const codes = Promise.all(polls.map((answer) => answer.catch((error: unknown) => Reflect.get(Object(error), "code"))));
  await backend.close();
  expect(await codes).toEqual(["closed", "closed"]);
});
