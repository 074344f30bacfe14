/** Packs each public package and asks publint and are-the-types-wrong what its users would stumble over. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PACKAGES = [
  "packages/core",
  "packages/backends/memory",
  "packages/backends/sqlite",
  "packages/backends/lmdb",
  "packages/backends/postgres",
  "packages/backends/redis",
  "packages/backends/mongo",
  "packages/runtime",
  "packages/pipeline",
  "packages/telemetry",
  "packages/testing",
  "apps/dashboard",
  "apps/demo",
  "packages/cli",
  "packages/rheo",
];
const folder = mkdtempSync(join(tmpdir(), "rheo-pack-"));
const run = (command, args) => execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

try {
  for (const path of PACKAGES) {
    const [{ filename, size, unpackedSize, name }] = JSON.parse(
      run("npm", ["pack", `./${path}`, "--json", "--pack-destination", folder]),
    );
    const tarball = join(folder, filename);
    run("npx", ["publint", "run", tarball, "--strict"]);
    run("npx", ["attw", tarball, "--profile", "esm-only", "--format", "ascii", "--no-color"]);
    console.log(`${name}: ${(size / 1024).toFixed(0)} kB packed, ${(unpackedSize / 1024).toFixed(0)} kB unpacked`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
