/** The same commands on Redis: looking, changing, and what the doctor says. */
import { findRedis, type RedisServer, startRedis } from "@rheo/testing/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run, values } from "./run.ts";
import { openScene, type Scene } from "./scene.ts";

const isThere = findRedis() !== null;
const MISSING = "redis-server is not installed, so no command is tried on Redis (Debian: apt-get install redis-server)";
if (!isThere) console.warn(`\n*** NOT RUN: ${MISSING}. ***\n`);

test.skipIf(!isThere && process.env.CI !== "true")("there is a Redis server to try commands on", () => {
  expect(isThere, MISSING).toBe(true);
});

describe.runIf(isThere)("on Redis", () => {
  let server: RedisServer;
  let scene: Scene;
  beforeAll(async () => {
    server = await startRedis({ settings: { appendonly: "yes" } });
    scene = await openScene(server.url);
  });
  afterAll(async () => {
    await scene[Symbol.asyncDispose]();
    await server.stop();
  });

  test("what holds a group up is named", async () => {
    const { code, out } = await run("explain orders billing --json", scene);
    expect([code, values(out)]).toMatchObject([0, [{ eventId: "o3", state: "retrying", lastError: "busy" }, { eventId: "p1" }]]);
  });

  test("the doctor looks at persistence, memory and clock", async () => {
    const { code, out } = await run("doctor --json", scene);
    expect([code, (values(out) as { readonly check: string }[]).map(({ check }) => check)]).toEqual([
      0,
      expect.arrayContaining(["eviction", "persistence", "memory", "clock"]),
    ]);
  });

  test("a policy that evicts is the doctor's finding, with the fix", async () => {
    const evicting = await startRedis({ settings: { "maxmemory-policy": "allkeys-lru", maxmemory: "50mb", appendonly: "yes" } });
    try {
      const { code, out } = await run("doctor", { store: evicting.url });
      expect([code, out]).toEqual([1, expect.stringMatching(/maxmemory-policy is allkeys-lru.*Set maxmemory-policy noeviction/)]);
    } finally {
      await evicting.stop();
    }
  });

  test("a store that has nothing of ours is not made by looking", async () => {
    const empty = await startRedis({ settings: { appendonly: "yes" } });
    try {
      const { code, err } = await run("streams", { store: empty.url });
      expect([code, err]).toEqual([1, expect.stringMatching(/\(schema_outdated\)\nRun: rheo migrate/)]);
      expect((await run("migrate", { store: empty.url })).out).toBe("The schema has been brought up to date.\n");
      expect((await run("streams", { store: empty.url })).code).toBe(0);
    } finally {
      await empty.stop();
    }
  });
});
