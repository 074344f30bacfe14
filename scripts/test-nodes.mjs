/**
 * Runs the tests on other Node versions than the one at hand: `npm run test:nodes -- 22 24 [-- vitest arguments]`.
 * The binaries come from the npm package `node`, each in a folder of its own: in the workspace it would shadow the real one.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const VERSIONS = { 20: "20.19.6", 22: "22.23.3", 24: "24.21.0" };

const own = process.argv.slice(2);
const split = own.indexOf("--");
const majors = (split === -1 ? own : own.slice(0, split)).filter((word) => word in VERSIONS);
const rest = split === -1 ? [] : own.slice(split + 1);
const results = [];

for (const major of majors.length > 0 ? majors : ["22", "24"]) {
  const folder = join("node_modules", ".cache", "nodes", major);
  const binary = join(folder, "node_modules", "node", "bin", "node");
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: { node: VERSIONS[major] } }));
    spawnSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--foreground-scripts"], { stdio: "inherit" });
  }
  const version = spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout?.trim() || "not installed";
  console.log(`\n== Node ${version}`);
  const { status } = spawnSync(binary, ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.workspace.ts", ...rest], {
    stdio: "inherit",
  });
  results.push([version, status]);
}

for (const [version, status] of results) console.log(`${version}: ${status === 0 ? "passed" : "FAILED"}`);
process.exitCode = results.every(([, status]) => status === 0) ? 0 : 1;
