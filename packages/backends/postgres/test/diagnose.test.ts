/** What `diagnose` finds wrong with a server, a schema, and what goes on beside us. */
import { type Diagnosis, Rheo } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { Database, diagnose, resolveOptions } from "@rheo/postgres/internal";
import { type PostgresServer, startPostgres } from "@rheo/testing/servers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { once } from "./fixtures/store.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ max_connections: "20", max_prepared_transactions: "2" });
});
afterAll(() => server.stop());

let made = 0;
let schema = "";
beforeEach(async () => {
  schema = `diagnosed_${++made}`;
  const rheo = await Rheo.open({ backend: postgres({ url: server.url, schema }) });
  await rheo.createStream("orders");
  await rheo.appendMany("orders", [{ payload: 1 }, { payload: 2 }]);
  await rheo.close();
});

const sql = (text: string): Promise<unknown> => once(server.url, (client) => client.query(text));

const look = async (url: string = server.url): Promise<readonly Diagnosis[]> => {
  await using rheo = await Rheo.open({ backend: postgres({ url, schema }), migrate: false });
  return await rheo.diagnose();
};
const ailments = async (url?: string): Promise<readonly Diagnosis[]> => (await look(url)).filter(({ status }) => status !== "ok");

test("of a server that is well, nothing; every check is there", async () => {
  expect((await look()).map(({ check, status }) => `${check} ${status}`)).toEqual([
    ...["node ok", "connection ok", "version ok", "writable ok", "role ok", "durability ok", "autovacuum ok", "connections ok"],
    ...["clock ok", "schema ok", "indexes ok", "functions ok", "transactions ok", "dead rows ok"],
  ]);
});

describe("what was changed by hand", () => {
  test("an index that is missing: the statement that makes it, which does", async () => {
    await sql(`DROP INDEX ${schema}.exceptions_by_due`);
    const [found] = await ailments();
    expect(found).toMatchObject({
      check: "schema",
      status: "fail",
      message: `the index exceptions_by_due is missing in "${schema}"`,
    });
    await sql(found?.fix ?? "");
    expect(await ailments()).toEqual([]);
  });

  test("a primary key, a view", async () => {
    await sql(`ALTER TABLE ${schema}.events DROP CONSTRAINT events_in_order`);
    expect(await ailments()).toMatchObject([
      { check: "schema", message: `the primary key events_in_order is missing in "${schema}"` },
    ]);
    await sql(
      `ALTER TABLE ${schema}.events ADD CONSTRAINT events_in_order PRIMARY KEY (stream_id, partition, sequence); DROP VIEW ${schema}.lag_view`,
    );
    expect(await ailments()).toMatchObject([{ check: "schema", message: `the view lag_view is missing in "${schema}"` }]);
  });

  test("a function of another version", async () => {
    await sql(
      `CREATE OR REPLACE FUNCTION ${schema}.ms(timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 0::bigint'`,
    ).catch(() => sql(`DROP FUNCTION ${schema}.ms CASCADE`));
    expect(await ailments()).toMatchObject([
      { check: "functions", status: "fail", message: "the function ms is not as this version makes it" },
    ]);
  });

  test("an index that was left half built", async () => {
    await sql(`CREATE UNIQUE INDEX CONCURRENTLY half_built ON ${schema}.events (partition)`).catch(() => undefined);
    expect(await ailments()).toMatchObject([
      {
        check: "indexes",
        status: "warn",
        message: "the index half_built was left half built",
        fix: expect.stringContaining("DROP INDEX"),
      },
    ]);
  });
});

describe("what a role is set to", () => {
  const as = async (name: string, settings: string): Promise<string> => {
    await sql(
      `CREATE ROLE ${name} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${name}; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${name}; ${settings}`,
    );
    return server.url.replace("postgres@", `${name}@`);
  };
  test("commits that are not waited for", async () => {
    expect(await ailments(await as("hasty", "ALTER ROLE hasty SET synchronous_commit = off"))).toMatchObject([
      { check: "durability", status: "warn", fix: expect.stringContaining("synchronous_commit = on") },
    ]);
  });
  test("reading only", async () => {
    expect(await ailments(await as("reader", "ALTER ROLE reader SET default_transaction_read_only = on"))).toMatchObject([
      { check: "writable", status: "fail", fix: expect.stringContaining("primary") },
    ]);
  });
  test("rights to read alone are no ailment, and are told", async () => {
    const found = await look(await as("looker", ""));
    expect(found.find(({ check }) => check === "role")).toMatchObject({
      status: "ok",
      message: expect.stringContaining("may only read"),
    });
  });
});

test("connections that are nearly used up", async () => {
  const hold = (left: number): Promise<readonly Diagnosis[]> =>
    left === 0
      ? ailments()
      : once(server.url, async (client) => {
          await client.query("SELECT 1");
          return hold(left - 1);
        });
  expect(await hold(15)).toMatchObject([{ check: "connections", status: "warn", fix: expect.stringContaining("pooler") }]);
});

describe("transactions that hold the clean-up back", () => {
  /** With any that is older than a moment taken for a long one. */
  const found = async (): Promise<Diagnosis | undefined> => {
    const options = resolveOptions({ url: server.url, schema });
    const database = new Database(options, Math.random, () => true);
    const all = await diagnose(database, options.schema, () => Date.now(), 0);
    await database.connections.end();
    return all.find(({ check }) => check === "transactions");
  };

  test("one that is idle: who has it, and how to end it", async () => {
    await once(server.url, async (client) => {
      await client.query("SET application_name = 'lazy'; BEGIN; SELECT 1");
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
      const pid = (rows[0] as { readonly pid: number }).pid;
      expect(await found()).toMatchObject({
        status: "warn",
        message: expect.stringContaining(`one of postgres (lazy, pid ${pid}, idle in transaction)`),
        fix: expect.stringContaining(`pg_terminate_backend(${pid})`),
      });
      expect(await ailments()).toEqual([]); // it is not a minute old
    });
  });

  test("one that was prepared and forgotten", async () => {
    await sql("BEGIN; CREATE TABLE forgotten (); PREPARE TRANSACTION 'forgotten'");
    expect(await found()).toMatchObject({ status: "warn", fix: "COMMIT PREPARED or ROLLBACK PREPARED 'forgotten';" });
    await sql("ROLLBACK PREPARED 'forgotten'");
  });
});

test("a server that may lose its database in a crash, and never cleans up", async () => {
  const careless = await startPostgres({ fsync: "off", autovacuum: "off" });
  try {
    await using rheo = await Rheo.open(careless.url);
    expect((await rheo.diagnose()).filter(({ status }) => status !== "ok")).toMatchObject([
      { check: "durability", status: "fail", fix: expect.any(String) },
      { check: "autovacuum", status: "fail", fix: expect.any(String) },
    ]);
  } finally {
    await careless.stop();
  }
});
