/**
 * What `rheo start` runs, in each of its processes. The store is not named here: RHEO_STORE names it, so that the same files run on SQLite,
 * PostgreSQL and Redis.
 */
import { defineConfig } from "@rheo/runtime";
import { serveMetrics } from "./metrics.ts";

export default defineConfig({
  threads: 2,
  consumers: [
    {
      stream: "jobs",
      group: "workers",
      handler: new URL("./jobs.handler.ts", import.meta.url),
      concurrency: 4,
      timeoutMs: 60_000,
      createStream: { partitions: 8 },
      createGroup: { maxAttempts: 5, leaseMs: 10_000 },
    },
  ],
  // a week of jobs is kept to be looked at, and what no group has settled is kept anyway
  retention: [{ stream: "jobs", maxAgeMs: 7 * 24 * 3_600_000 }],
  observe: serveMetrics,
});
