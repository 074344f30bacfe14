/** Runs the tests on other Node versions than the one at hand: `npm run test:nodes -- 22 24 [-- vitest arguments]`. */
import { spawnSync } from "node:child_process";
import { installedNode, VERSIONS } from "./nodes.mjs";

const own = process.argv.slice(2);
const split = own.indexOf("--");
const majors = (split === -1 ? own : own.slice(0, split)).filter((word) => word in VERSIONS);
const rest = split === -1 ? [] : own.slice(split + 1);
const results = [];

for (const major of majors.length > 0 ? majors : ["22", "24"]) {
  const binary = installedNode(major);
  const version = spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout?.trim();
  console.log(`\n== Node ${version}`);
  const { status } = spawnSync(binary, ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.workspace.ts", ...rest], {
    stdio: "inherit",
  });
  results.push([version, status]);
}

for (const [version, status] of results) console.log(`${version}: ${status === 0 ? "passed" : "FAILED"}`);
process.exitCode = results.every(([, status]) => status === 0) ? 0 : 1;
