import { fork } from "node:child_process";
import { once } from "node:events";
import { migrationScript, postgres } from "@rheo/postgres";
import { SCHEMA_VERSION } from "@rheo/postgres/internal";
import { startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { openBackend, REAL_TIME } from "./fixtures/scene.ts";
import { once as withClient } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
afterAll(() => server.stop());

const CHILD = new URL("./fixtures/migrate.mjs", import.meta.url);
const PROCESSES = 10;
const KILLS = 12;

const query = (text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> =>
  withClient(server.url, async (client) => (await client.query(text, [...values])).rows);

const functionsOf = (schema: string): Promise<Record<string, unknown>[]> =>
  query("SELECT count(*)::int AS count FROM pg_proc WHERE pronamespace = to_regnamespace($1)", [`"${schema}"`]);

describe("migrations", () => {
  test("ten processes that open an empty database at once all find one schema", async () => {
    const children = Array.from({ length: PROCESSES }, () => fork(CHILD, [server.url, "ten"]));
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as unknown));
    expect(codes).toEqual(new Array(PROCESSES).fill(0));
    expect(await query(`SELECT value FROM ten.meta WHERE name = 'schema_version'`)).toEqual([{ value: String(SCHEMA_VERSION) }]);
  });

  test("one killed while it migrates leaves nothing, and the next does it", async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const schema = `killed-${kill}`;
      const child = fork(CHILD, [server.url, schema]);
      const ended = once(child, "exit");
      await once(child, "message");
      await new Promise((resolve) => setTimeout(resolve, kill * 8));
      child.kill("SIGKILL");
      await ended;
      const backend = await openBackend({ url: server.url, schema, notify: false });
      expect((await backend.createStream("t", 1)).created).toBe(true);
      await backend.close();
    }
    const counts = await Promise.all(Array.from({ length: KILLS }, (_, kill) => functionsOf(`killed-${kill}`)));
    expect(new Set(counts.map(([row]) => row?.count)).size).toBe(1);
  });

  test("with migrate: false an older schema is refused, and one that is there is taken", async () => {
    const options = { url: server.url, schema: "by-hand", notify: false };
    await expect(postgres(options).open({ clock: null, migrate: false })).rejects.toMatchObject({ code: "schema_outdated" });
    expect(await query("SELECT 1 FROM pg_namespace WHERE nspname = 'by-hand'")).toEqual([]);
    await withClient(server.url, (client) => client.query(migrationScript({ schema: "by-hand" })));
    const backend = postgres(options);
    await backend.open({ clock: null, migrate: false });
    expect((await backend.createStream("t", 2)).created).toBe(true);
    await backend.close();
    expect(await functionsOf("by-hand")).toEqual(await functionsOf("ten"));
  });

  test("a schema that is newer than the code is refused, and says what to do", async () => {
    const options = { url: server.url, schema: "newer", notify: false };
    await (await openBackend(options)).close();
    await query(`UPDATE newer.meta SET value = '99' WHERE name = 'schema_version'`);
    for (const migrate of [true, false]) {
      await expect(postgres(options).open({ clock: null, migrate })).rejects.toMatchObject({
        code: "schema_outdated",
        message: expect.stringContaining("99"),
      });
    }
    await query(`UPDATE newer.meta SET value = '1' WHERE name = 'schema_version'`);
  });

  test("a user without the right to make schemas can use one that was made for him", async () => {
    await withClient(server.url, (client) => client.query(`CREATE ROLE app LOGIN; CREATE SCHEMA given AUTHORIZATION app`));
    const url = server.url.replace("postgres@", "app@");
    const backend = await openBackend({ url, schema: "given", notify: false });
    expect((await backend.createStream("t", 1)).created).toBe(true);
    await backend.close();
    await expect(postgres({ url, schema: "not-given", notify: false }).open(REAL_TIME)).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  test("schema names are quoted, and those that PostgreSQL would cut off or keeps for itself are refused", async () => {
    const schema = "Select.Table-1";
    const backend = await openBackend({ url: server.url, schema, notify: false });
    expect((await backend.createStream("t", 1)).created).toBe(true);
    await backend.close();
    for (const bad of ['a"b', "a b", "", "x".repeat(64), "pg_rheo", "é"]) {
      expect(() => postgres({ url: server.url, schema: bad })).toThrow(expect.objectContaining({ code: "invalid_name" }));
    }
  });

  test("a pool of the user's is used and never ended", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 2 });
    const backend = await openBackend({ pool, schema: "borrowed" });
    await backend.createStream("t", 1);
    await backend.close();
    await backend.close();
    expect((await pool.query("SELECT count(*)::int AS count FROM borrowed.streams")).rows).toEqual([{ count: 1 }]);
    expect(pool.totalCount - pool.idleCount).toBe(0);
    expect(pool.listenerCount("error") + pool.listenerCount("connect")).toBe(0);
    pool.on("error", () => undefined);
    await pool.end();
  });
});
