/** `npm run check`: everything short of running the code, each step timed; stops at the first that fails. With --built it takes what is built as it is. */
import { spawnSync } from "node:child_process";

const STEPS = [
  ["build, with types", "npm run --silent build"],
  ["format and style", "npx biome check ."],
  ["lint with types", "npx oxlint --type-aware"],
  ["unused code and dependencies", "npx knip"],
  ["public API", "node scripts/api-report.mjs --check"],
  ["words of the docs", "npm run --silent docs:words"],
  ["packages", "node scripts/check-packages.mjs"],
];

for (const [name, command] of process.argv.includes("--built") ? STEPS.slice(1) : STEPS) {
  const start = performance.now();
  const { status } = spawnSync(command, { shell: true, stdio: "inherit" });
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (status !== 0) process.exit(1);
}
