import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findRedis, type RedisServer, redisCommand, startRedis } from "@rheo/testing/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));
const PASSWORD = "s3cret";

const isMissing = findRedis() === null;
if (isMissing) {
  const missing = "redis-server is not installed, so the demo is not tested on Redis (Debian: apt-get install redis-server)";
  console.warn(`\n*** NOT RUN: ${missing}. ***\n`);
  test.runIf(process.env.CI === "true")("in CI redis-server is there", () => expect.fail(missing));
}

describe.skipIf(isMissing)("on Redis", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ settings: { appendonly: "yes" } });
    await redisCommand(server.port, "ACL", "SETUSER", "demo", "on", `>${PASSWORD}`, "+@all", "~*", "&*");
  });
  afterAll(() => server.stop());

  test("every kill point keeps its promise, the demo leaves no stream behind, and shows no password", async () => {
    const url = server.url.replace("//", `//demo:${PASSWORD}@`);
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "--store", url, "--kill-at", "all", "--json"]);
    const report: unknown = JSON.parse(stdout);
    expect(report).toMatchObject({ ok: true, clock: "frozen" });
    expect(stdout).not.toContain(PASSWORD);
    expect(await redisCommand(server.port, "KEYS", "*demo-*")).toBe("*0\r\n");
  });
});
