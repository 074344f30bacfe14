/** Statements that come often are named, where a connection is a session of its own; and whatever becomes of their names, nothing is lost. */
import type { Backend } from "@rheo/core";
import { startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, afterEach, expect, test } from "vitest";
import { acks, fetching, fill, openBackend, request, STREAM, sequencesOf, settling, untilHearing } from "./fixtures/scene.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

const NAMES = "SELECT name FROM pg_prepared_statements WHERE name LIKE 'rheo%'";
let schemas = 0;
const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** One connection only, so that what is seen on it is what the backend has left there. */
const open = async (notify: boolean): Promise<{ backend: Backend; pool: pg.Pool; schema: string }> => {
  const schema = `named${++schemas}`;
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  pool.on("error", () => undefined); // the server ends connections when it stops
  endings.push(() => pool.end());
  const backend = await openBackend({ pool, schema, notify });
  endings.push(() => backend.close());
  await fill(backend, 3);
  if (notify) await untilHearing(backend);
  return { backend, pool, schema };
};

/** Appends two events, and delivers and settles one. */
const work = async (backend: Backend): Promise<readonly number[]> => {
  await backend.append([request(2)]);
  const { grants } = await backend.exchange(fetching(1));
  const { settled } = await backend.exchange(settling(acks(grants)));
  expect(settled).toEqual([[{ state: "acked" }]]);
  return sequencesOf(grants);
};

const namesOn = async (pool: pg.Pool): Promise<readonly string[]> =>
  (await pool.query<{ name: string }>(NAMES)).rows.map(({ name }) => name);

test("are named once notifications come through, one name for each", async () => {
  const { backend, pool } = await open(true);
  for (const sequence of [1, 2, 3]) expect(await work(backend)).toEqual([sequence]);
  const names = await namesOn(pool);
  expect(names).toHaveLength(2);
  for (const name of names) expect(name.length).toBeLessThanOrEqual(63);
});

test("are not named where nobody listens", async () => {
  const { backend, pool } = await open(false);
  for (const sequence of [1, 2, 3]) expect(await work(backend)).toEqual([sequence]);
  expect(await namesOn(pool)).toEqual([]);
});

test("go on without a name once somebody has thrown them away, and nothing is done twice", async () => {
  const { backend, pool } = await open(true);
  expect(await work(backend)).toEqual([1]);
  await pool.query("DISCARD ALL");
  expect(await work(backend)).toEqual([2]);
  expect(await namesOn(pool)).toEqual([]);
  expect((await backend.watermarks(STREAM))[0]?.highWatermark).toBe(7);
});

test("go on without a name where somebody else has taken it", async () => {
  const { backend, pool, schema } = await open(true);
  expect(await work(backend)).toEqual([1]);
  const names = await namesOn(pool);
  const taken = new pg.Pool({ connectionString: server.url, max: 1 });
  taken.on("error", () => undefined); // the server ends connections when it stops
  endings.push(() => taken.end());
  for (const name of names) await taken.query(`PREPARE ${name} AS SELECT 1`);
  const other = await openBackend({ pool: taken, schema });
  endings.push(() => other.close());
  await untilHearing(other);
  expect(await work(other)).toEqual([2]);
  expect(await namesOn(taken)).toEqual(names);
});

test("go on where a function is made anew with another result", async () => {
  const { backend, pool, schema } = await open(true);
  expect(await work(backend)).toEqual([1]);
  const { rows } = await pool.query<{ source: string }>(
    `SELECT pg_get_functiondef(p.oid) AS source FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND proname = 'settle_and_fetch'`,
    [schema],
  );
  const [{ source } = { source: "" }] = rows;
  await pool.query(`ALTER TYPE "${schema}".event_row ADD ATTRIBUTE more text CASCADE`);
  await pool.query(`ALTER TYPE "${schema}".event_row DROP ATTRIBUTE more CASCADE`);
  await pool.query(source);
  expect(await work(backend)).toEqual([2]);
});
