/** A role that may only read is enough for everything that is shown. */
import { Rheo, reject } from "@rheo/core";
import { postgres } from "@rheo/postgres";
import { type PostgresServer, startPostgres } from "@rheo/testing/servers";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dashboardOf, view } from "./fixtures/ask.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

/** What an administrator grants, as the README says. */
const READER = `
CREATE ROLE reader LOGIN;
GRANT USAGE ON SCHEMA rheo TO reader;
GRANT SELECT ON ALL TABLES IN SCHEMA rheo TO reader;
ALTER ROLE reader SET default_transaction_read_only = on;`;

test("every view is read by a role that may not write", async () => {
  const writer = await Rheo.open({ backend: postgres({ url: server.url }) });
  await writer.createStream("orders", { partitions: 2 });
  await writer.createGroup("orders", "billing");
  const [event] = await writer.appendMany("orders", [
    { key: "a", payload: { total: 1 } },
    { key: "a", payload: { total: 2 } },
  ]);
  const [lease] = await writer.fetch("orders", "billing", { limit: 2 });
  if (lease === undefined || event === undefined) throw new TypeError("There are two.");
  await writer.settle([{ lease, outcome: reject("no") }]);
  const admin = new pg.Client(server.url);
  await admin.connect();
  await admin.query(READER);
  await admin.end();
  await writer.close();
  const url = new URL(server.url);
  url.username = "reader";
  const rheo = await Rheo.open({ backend: postgres({ url: url.href, notify: false }), migrate: false });
  await expect(rheo.append("orders", { payload: 1 })).rejects.toThrow();
  const dashboard = dashboardOf({ rheo });
  expect(await view(dashboard, "overview")).toMatchObject({ totals: { events: 2, lag: 1, deadLetters: 1 }, problem: null });
  const group = "stream=orders&group=billing";
  for (const path of [
    "about",
    "stream?stream=orders",
    `group?${group}`,
    `dead-letters?${group}`,
    `dead-letter?${group}&id=${event.id}`,
    `event?stream=orders&id=${event.id}`,
    `lineage?stream=orders&id=${event.id}`,
    "search?stream=orders&type=x",
    "tail?stream=orders",
  ])
    expect(await view(dashboard, path), path).toBeTypeOf("object");
});
