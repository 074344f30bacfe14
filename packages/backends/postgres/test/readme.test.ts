/** The README's code does what the README says. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { postgres } from "@rheo/postgres";
import { startPostgres } from "@rheo/testing/servers";
import { afterAll, describe, expect, test } from "vitest";
import { sqlWith, writeFiles } from "./fixtures/readme.ts";
import { drain, fill, openBackend } from "./fixtures/scene.ts";
import { once } from "./fixtures/store.ts";

const server = await startPostgres({ fsync: "off" });
const { folder, names } = await writeFiles();
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await server.stop();
});

const run = async (file: string): Promise<string> => {
  const env = { ...process.env, RHEO_POSTGRES_URL: server.url };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env, timeout: 60_000 });
  expect(stderr).toBe("");
  return stdout;
};

const query = (text: string): Promise<Record<string, unknown>[]> =>
  once(server.url, async (client) => (await client.query(text)).rows);

test("each file is run by a test below", () => {
  expect(names).toEqual([
    "start.mjs",
    "script.mjs",
    "store.mjs",
    "raw-pg.mjs",
    "kysely.mjs",
    "drizzle.mjs",
    "knex.mjs",
    "postgres-js.mjs",
  ]);
});

describe.each(["raw-pg", "kysely", "drizzle", "knex", "postgres-js"])("%s", (name) => {
  test("an invoice and its ack in one transaction", async () => {
    await run("start.mjs");
    const settled = (): Promise<Record<string, unknown>[]> =>
      query("SELECT coalesce(sum(frontier), 0)::int AS settled FROM rheo.lag_view WHERE group_name = 'billing'");
    const invoices = async (): Promise<unknown> => {
      const [{ found } = { found: null }] = await query("SELECT to_regclass('invoices') AS found");
      return found === null ? 0 : (await query("SELECT count(*)::int AS count FROM invoices"))[0]?.count;
    };
    const before = [(await settled())[0]?.settled, await invoices()].map(Number);
    await run(`${name}.mjs`);
    expect([(await settled())[0]?.settled, await invoices()]).toEqual(before.map((count) => count + 1));
  });
});

test("the queries give what they say", async () => {
  await run("start.mjs");
  const [prices, lags] = (await sqlWith("events_view")).trim().split("\n");
  expect(await query(prices ?? "")).toContainEqual({ timestamp: expect.any(Date), "?column?": "12.5" });
  expect(await query(lags ?? "")).toEqual([{ group_name: "billing", sum: expect.stringMatching(/^\d+$/) }]);
});

test("with the printed script and the grants, a user of few rights works", async () => {
  await query("CREATE DATABASE by_hand");
  const url = (user: string): string => server.url.replace("postgres@", `${user}@`).replace(/postgres$/, "by_hand");
  const script = await run("script.mjs");
  await once(url("postgres"), async (client) => {
    await client.query(script);
    await client.query(`CREATE ROLE app LOGIN; ${await sqlWith("GRANT")}`);
  });
  const backend = postgres({ url: url("app") });
  await backend.open({ clock: null, migrate: false });
  await fill(backend, 3);
  expect(await drain(backend, 2)).toBe(3);
  expect(await backend.deleteStream("s")).toBe(true);
  await backend.close();
  await (await openBackend({ url: url("app") })).close();
});
