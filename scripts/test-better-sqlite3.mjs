/** Runs the driver tests with better-sqlite3 itself, installed (and compiled, which takes a while) in a folder of its own. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const VERSION = "12.11.1";

const folder = resolve("node_modules/.cache/better-sqlite3");
if (!existsSync(join(folder, "node_modules", "better-sqlite3", "build", "Release"))) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: { "better-sqlite3": VERSION } }));
  const { status } = spawnSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--foreground-scripts"], {
    stdio: "inherit",
    env: { ...process.env, CFLAGS: "-O0 -w", CXXFLAGS: "-O0 -w" }, // what is tried here is not how fast it is
  });
  if (status !== 0) process.exit(1);
}
const vitest = [
  "vitest",
  "run",
  "--config",
  "vitest.workspace.ts",
  "--project",
  "sqlite",
  "packages/backends/sqlite/test/drivers.test.ts",
];
const { status } = spawnSync("npx", vitest, { stdio: "inherit", env: { ...process.env, RHEO_BETTER_SQLITE3: folder } });
process.exitCode = status ?? 1;
