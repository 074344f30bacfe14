/**
 * For the tests that are to notice a mutant: what they test is loaded by Node itself, whose module hooks plant it, and not by vite. That is
 * quicker, too.
 */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "node",
    pool: "forks",
    maxWorkers: 1,
    testTimeout: 15_000,
    hookTimeout: 60_000,
    server: { deps: { external: [/\/dist\//] } },
  },
});
