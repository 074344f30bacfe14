/** Other Node versions, from the npm package `node`, each in a folder of its own: in the workspace it would shadow the real one. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const VERSIONS = { 20: "20.19.6", 22: "22.23.3", 24: "24.21.0" };

/** The path of that Node, installed if it was not. @throws - it could not be installed */
export const installedNode = (major) => {
  const folder = resolve("node_modules", ".cache", "nodes", major);
  const binary = join(folder, "node_modules", "node", "bin", "node");
  if (!existsSync(binary)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: { node: VERSIONS[major] } }));
    spawnSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--foreground-scripts"], { stdio: "inherit" });
  }
  if (!existsSync(binary)) throw new Error(`Node ${VERSIONS[major]} could not be installed.`);
  return binary;
};
