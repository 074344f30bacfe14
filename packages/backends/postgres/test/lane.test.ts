/** Appends share a connection and do not wait for one another's answers; whatever becomes of one, the others get their own. */
import { type Backend, RheoError } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, afterEach, expect, test } from "vitest";
import { event, openBackend, request, STREAM } from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

let schemas = 0;
const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const open = async (options: object = {}): Promise<{ backend: Backend; schema: string }> => {
  const schema = `lane${++schemas}`;
  const backend = await openBackend({ url: `${server.url}?application_name=${schema}`, schema, notify: false, ...options });
  opened.push(backend);
  await backend.createStream(STREAM, 1);
  return { backend, schema };
};

const admin = (text: string): Promise<pg.QueryResult> => once(server.url, (client) => client.query(text));

/** Holds the partition until it is let go, so that appends queue up. */
const holdPartition = async (schema: string): Promise<() => Promise<void>> => {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`BEGIN; SELECT FROM ${schema}.partitions FOR UPDATE`);
  return async () => {
    await client.query("COMMIT");
    await client.end();
  };
};

const sessionsOf = async (schema: string, condition = "true"): Promise<number> => {
  const { rows } = await admin(
    `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE application_name = '${schema}' AND ${condition}`,
  );
  return rows[0].count;
};

const waiting = (schema: string): Promise<number> => sessionsOf(schema, "wait_event_type = 'Lock'");

const until = (isSo: () => Promise<boolean>): Promise<void> => expect.poll(isSo, { timeout: 10_000, interval: 10 }).toBe(true);

const outcomeOf = (call: Promise<readonly unknown[]>): Promise<string> =>
  call.then(
    () => "appended",
    (error: unknown) => (RheoError.is(error) ? error.code : "not a RheoError"),
  );

test("ten at a time are under way on one connection, and take effect in the order of the calls", async () => {
  const { backend, schema } = await open();
  const letGo = await holdPartition(schema);
  const calls = Array.from({ length: 10 }, () => backend.append([request(3)]));
  await until(async () => (await waiting(schema)) === 1);
  expect(await sessionsOf(schema, "state = 'active'")).toBe(1);
  await letGo();
  const answers = (await Promise.all(calls)).flat();
  const sequences = answers.flatMap((answer) =>
    answer.kind === "appended" ? answer.events.map(({ sequence }) => sequence) : [],
  );
  expect(sequences).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});

test("one that the server refuses is told so; those before and behind it are appended", async () => {
  const { backend, schema } = await open();
  await admin(`ALTER TABLE ${schema}.events ADD CONSTRAINT no_thirteen CHECK (payload <> '13'::jsonb)`);
  const letGo = await holdPartition(schema);
  const calls = [12, 13, 14].map((payload) =>
    outcomeOf(backend.append([{ stream: STREAM, partitions: 1, events: [event(payload)] }])),
  );
  await until(async () => (await waiting(schema)) === 1);
  await letGo();
  expect(await Promise.all(calls)).toEqual(["appended", "unavailable", "appended"]);
  const read = await backend.read({
    stream: STREAM,
    partition: 0,
    after: 0,
    until: Number.MAX_SAFE_INTEGER,
    limit: 10,
    order: "asc",
    maxBytes: 1_000_000,
  });
  expect(read.map(({ payload, sequence }) => [sequence, payload])).toEqual([
    [1, "12"],
    [2, "14"],
  ]);
});

test("when their connection is ended, each outcome is unknown, none is stored, and the next goes over another", async () => {
  const { backend, schema } = await open();
  const letGo = await holdPartition(schema);
  const calls = [1, 2, 3].map(() => outcomeOf(backend.append([request(1)])));
  await until(async () => (await waiting(schema)) === 1);
  await admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${schema}' AND state = 'active'`);
  expect(await Promise.all(calls)).toEqual(["outcome_unknown", "outcome_unknown", "outcome_unknown"]);
  await letGo();
  expect(await backend.append([request(1)])).toMatchObject([{ kind: "appended", events: [{ sequence: 1 }] }]);
});

test("a server that does not answer in time costs the connection, at the server too, and nothing else", async () => {
  const { backend, schema } = await open({ statementTimeoutMs: 300 });
  const letGo = await holdPartition(schema);
  const calls = [1, 2].map(() => outcomeOf(backend.append([request(1)])));
  expect(await Promise.all(calls)).toEqual(["outcome_unknown", "outcome_unknown"]);
  await letGo();
  const [answer] = await backend.append([request(1)]);
  expect(answer).toMatchObject({ kind: "appended" });
  await until(async () => (await sessionsOf(schema)) === 1);
});

test("a pool of the user's is used so only if it was made for it", async () => {
  const pools = [false, true].map((pipeline) => new pg.Pool({ connectionString: server.url, pipeline }));
  const backends = pools.map((pool) => postgres({ pool }));
  expect(backends.map(({ capabilities }) => capabilities.appendsInCallOrder)).toEqual([false, true]);
  for (const pool of pools) await pool.end();
});
