/** Packs each public package and asks publint and are-the-types-wrong what its users would stumble over; and looks that it has what they expect. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packAll } from "./packages.mjs";
import { SIZES_PAGE, statedSizes } from "./sizes-table.mjs";

/** A package may outgrow what is stated by so much before somebody has to look. */
const GROWTH = 1.25;
const EXPECTED = ["LICENSE", "README.md", "package.json"];

const run = (command, args) => execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

const faultsOf = ({ name, files, unpackedSize }, stated) => {
  const paths = files.map(({ path }) => path);
  const missing = EXPECTED.filter((path) => !paths.includes(path)).map((path) => `${name} has no ${path}`);
  const most = (stated.get(name) ?? 0) * GROWTH;
  const grown =
    unpackedSize > most ? [`${name} has outgrown the size stated in docs/packages.md: see why, then npm run sizes`] : [];
  return [...missing, ...grown];
};

const folder = mkdtempSync(join(tmpdir(), "rheo-pack-"));
try {
  const stated = statedSizes(readFileSync(SIZES_PAGE, "utf8"));
  for (const one of packAll(folder)) {
    const faults = faultsOf(one, stated);
    for (const fault of faults) console.error(fault);
    if (faults.length > 0) process.exitCode = 1;
    run("npx", ["publint", "run", one.tarball, "--strict"]);
    run("npx", ["attw", one.tarball, "--profile", "esm-only", "--format", "ascii", "--no-color"]);
    console.log(`${one.name}: ${(one.size / 1024).toFixed(0)} kB packed, ${(one.unpackedSize / 1024).toFixed(0)} kB unpacked`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
