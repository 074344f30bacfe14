/** On PostgreSQL: a role that may only read is enough for every command that looks. */
import { type PostgresServer, startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run, values } from "./run.ts";
import { openScene, type Scene } from "./scene.ts";

let server: PostgresServer;
let scene: Scene;
let store = "";
beforeAll(async () => {
  server = await startPostgres();
  scene = await openScene(server.url);
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query(
    "CREATE ROLE looker LOGIN; GRANT USAGE ON SCHEMA rheo TO looker; GRANT SELECT ON ALL TABLES IN SCHEMA rheo TO looker",
  );
  await client.end();
  store = server.url.replace("postgres@", "looker@");
});
afterAll(async () => {
  await scene[Symbol.asyncDispose]();
  await server.stop();
});

test.for([
  "streams",
  "groups orders",
  "lag orders billing",
  "info orders billing",
  "info orders",
  "explain orders billing",
  "dead-letters orders billing",
  "leases orders billing",
  "query orders --where payload.total>=20",
  "query orders --count",
  "tail orders --limit 3",
  "event orders o2",
  "lineage orders p2",
  "indexes orders",
  "replay orders billing --from-sequence 0 --dry-run",
  "trim orders --keep-last 1 --dry-run",
])("%s", async (args) => {
  const asOwner = await run(`${args} --json`, { store: server.url });
  const asLooker = await run(`${args} --json`, { store });
  expect([asLooker.code, asLooker.err]).toEqual([0, ""]);
  expect(values(asLooker.out)).toEqual(values(asOwner.out));
});

test("doctor finds nothing wrong, and says that the role may only read", async () => {
  const { code, out } = await run("doctor --json", { store });
  expect([code, values(out)]).toEqual([
    0,
    expect.arrayContaining([
      expect.objectContaining({ check: "role", status: "ok", message: expect.stringContaining("may only read") }),
    ]),
  ]);
});

test("what changes something is refused, with what to grant", async () => {
  const { code, err } = await run("append orders 1", { store });
  expect([code, err]).toEqual([1, expect.stringMatching(/the user lacks a permission/)]);
});
