import { type PostgresServer, startPostgres } from "@rheo/testing/servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isAlive, openJobs, until } from "./jobs.ts";
import { fixturePath, RheoCommand } from "./rheo-command.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

test("on PostgreSQL a killed child is replaced, what it held is taken over, and a drain leaves nothing", async () => {
  await using jobs = await openJobs(
    Array.from({ length: 60 }, () => ({ do: "wait", ms: 20 })),
    server.url,
  );
  await using rheo = await new RheoCommand(["start", fixturePath("app.config.mjs"), "--store", server.url, "--processes", "2"], {
    env: { TEST_LEASE_MS: "500" },
  }).ready();
  const [victim = 0] = rheo.readyPids;
  await jobs.begun(4);
  process.kill(victim, "SIGKILL");
  await jobs.caughtUp();
  // what it held may be done before its end is seen, which the kernel may put off
  const isReplaced = (pids: readonly number[]): boolean => !pids.includes(victim) && pids.every(isAlive) && pids.length === 2;
  await until("another is ready", () => isReplaced(rheo.readyPids));
  expect(await jobs.rheo.deadLetters("jobs", "workers")).toEqual([]);
  rheo.signal("SIGTERM");
  expect([await rheo.code, await jobs.leases()], rheo.stderr).toEqual([0, 0]);
});
