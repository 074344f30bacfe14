import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type MongoServer, startMongo } from "@rheo/testing/servers";
import { afterAll, beforeAll, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

let server: MongoServer;
beforeAll(async () => {
  server = await startMongo();
});
afterAll(() => server.stop());

test("on MongoDB every kill point keeps its promise", { timeout: 120_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "--store", server.url, "--kill-at", "all", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, clock: "frozen" });
});
