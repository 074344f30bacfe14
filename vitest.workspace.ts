import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { findRedis } from "./packages/testing/src/servers/redis.ts";

/**
 * One project per kind of test. Unit tests are quick and need nothing; contract, chaos and demo tests start real processes. Files of a
 * project that run in one worker share its modules, which are loaded once: no test may leave anything behind.
 */
const project = (name: string, include: string[], testTimeout = 30_000, isolate = false): object => ({
  test: { name, include, environment: "node", testTimeout, hookTimeout: 60_000, pool: "forks", isolate, server: { deps } },
});

/** What is built is loaded by Node itself, as it is by users. */
const deps = { external: [/\/dist\//] };

/** Tests of processes wait more than they work, so there are two at a time even on two processors. */
const maxWorkers = Math.max(2, availableParallelism() - 1);

export default defineConfig({
  test: {
    maxWorkers,
    projects: [
      project("core", ["packages/core/test/**/*.test.ts"]),
      project("sqlite", ["packages/backends/sqlite/test/**/*.test.ts"], 60_000),
      project("postgres", ["packages/backends/postgres/test/**/*.test.ts"], 120_000),
      // without a server only the test that says so; what is warned of once in a process is tried more than once
      project("redis", [`packages/backends/redis/test/**/${findRedis() === null ? "server" : "*"}.test.ts`], 120_000, true),
      project("lmdb", ["packages/backends/lmdb/test/**/*.test.ts"], 120_000),
      project("mongo", ["packages/backends/mongo/test/**/*.test.ts"], 120_000),
      project("runtime", ["packages/runtime/test/**/*.test.ts"], 60_000),
      project("contract", ["packages/testing/test/**/*.test.ts"], 120_000),
      project("pipeline", ["packages/pipeline/test/**/*.test.ts"], 60_000),
      project("telemetry", ["packages/telemetry/test/**/*.test.ts"], 60_000),
      project("cli", ["packages/cli/test/**/*.test.ts", "packages/rheo/test/**/*.test.ts"], 120_000),
      project("demo", ["apps/!(site)/test/**/*.test.ts"], 60_000),
      project("examples", ["examples/test/**/*.test.ts"], 180_000),
      project("docs", ["scripts/test/**/*.test.ts", "apps/site/test/**/*.test.ts"], 120_000),
    ],
  },
});
