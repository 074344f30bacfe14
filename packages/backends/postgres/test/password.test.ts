/** A server that asks for passwords (scram-sha-256), by URL and by a pool of the user's, which hides its password from copies. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Backend } from "@rheo/core";
import type { PostgresOptions } from "@rheo/postgres";
import { startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { drain, fill, openBackend, request, STREAM } from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
/** With characters that mean something in a URL. */
const PASSWORD = "s3:cr@t/?#&%";
await once(server.url, async (client) => {
  await client.query(`CREATE ROLE app LOGIN PASSWORD '${PASSWORD}'; GRANT CREATE ON DATABASE postgres TO app`);
  const folder: string = (await client.query("SHOW data_directory")).rows[0].data_directory;
  const lines = ["host all postgres 127.0.0.1/32 trust", "host all app 127.0.0.1/32 scram-sha-256"];
  await writeFile(join(folder, "pg_hba.conf"), `${lines.join("\n")}\n`);
  await client.query("SELECT pg_reload_conf()");
});
afterAll(() => server.stop());

const URL_OF_APP = server.url.replace("postgres@", `app:${encodeURIComponent(PASSWORD)}@`);
const WAIT_MS = 5_000;

const poolOf = (config: pg.PoolConfig): pg.Pool => {
  const pool = new pg.Pool({ ...config, max: 3 });
  pool.on("error", () => undefined);
  return pool;
};
const PARTS = { host: "127.0.0.1", port: server.port, user: "app", database: "postgres" };
const POOLS = {
  "a pool with a url": poolOf({ connectionString: URL_OF_APP }),
  "a pool with a password": poolOf({ ...PARTS, password: PASSWORD }),
  "a pool with a function that gives the password": poolOf({ ...PARTS, password: async () => PASSWORD }),
};
afterAll(async () => {
  for (const pool of Object.values(POOLS)) await pool.end();
});

const WAYS: readonly (readonly [string, PostgresOptions])[] = [
  ["a url", { url: URL_OF_APP }],
  ...Object.entries(POOLS).map(([name, pool]) => [name, { pool }] as const),
];

/** Waits until somebody listens on a schema, as a user with a password. */
const untilListening = async (schema: string): Promise<void> => {
  const text = "SELECT FROM pg_stat_activity WHERE query = $1 AND usename = 'app'";
  for (const endMs = performance.now() + WAIT_MS; performance.now() < endMs; ) {
    if ((await once(server.url, (client) => client.query(text, [`LISTEN "${schema}"`]))).rowCount === 1) return;
  }
  throw new Error("nobody listens");
};

describe.each(WAYS)("a server with passwords, by %s", (name, options) => {
  test("takes appends, and wakes another instance", async () => {
    const schema = `p-${name.replaceAll(" ", "-")}`;
    const backend: Backend = await openBackend({ ...options, schema });
    await fill(backend, 2);
    await untilListening(schema);
    const woken = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("nobody was woken")), WAIT_MS);
      backend.subscribe(({ stream }) => {
        clearTimeout(timer);
        if (stream === STREAM) resolve();
      });
    });
    const other = await openBackend({ ...options, schema, notify: true });
    await other.append([request(1)]);
    await woken;
    expect(await drain(backend, 10)).toBe(3);
    await other.close();
    await backend.close();
  });
});

test("a wrong password is unavailable, says so, and does not repeat it", async () => {
  const url = server.url.replace("postgres@", "app:wrong-one@");
  const error: unknown = await openBackend({ url, schema: "none" }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("refused the user or password") });
  expect(String(error)).not.toContain("wrong-one");
});
