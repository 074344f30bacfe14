import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type PostgresServer, startPostgres } from "@rheo/testing/servers";
import { afterAll, beforeAll, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

test("every kill point keeps its promise on PostgreSQL, and the demo leaves no stream behind", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "--store", server.url, "--kill-at", "all", "--json"]);
  const report: unknown = JSON.parse(stdout);
  expect(report).toMatchObject({ ok: true, clock: "frozen" });
});
