/**
 * What comes with the packages under which licence: `npm run licences`. The list is that of a project of a user who installs all of them,
 * with the clients of stores, for every platform. Fails on a licence that is not one of those below. `--sbom FILE` keeps the bill of materials.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import satisfies from "spdx-satisfies";
import { packAll } from "./packages.mjs";

/** Those that ask for no more than a notice, and MPL-2.0, which asks for the source of files that we leave as they are (lightningcss, for vitest). */
const ALLOWED = [
  "MIT",
  "ISC",
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "Unlicense",
  "MPL-2.0",
];

const billOfMaterials = () => {
  const folder = mkdtempSync(join(tmpdir(), "rheo-licences-"));
  const npm = (...args) =>
    execFileSync("npm", [...args, "--loglevel", "error"], { cwd: folder, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  try {
    const place = join(folder, "tarballs");
    mkdirSync(place);
    writeFileSync(join(folder, "package.json"), '{ "name": "consumer", "version": "1.0.0", "private": true }');
    npm("install", "--package-lock-only", "--prefer-offline", "--no-audit", ...packAll(place).map(({ tarball }) => tarball));
    return npm("sbom", "--package-lock-only", "--sbom-format", "cyclonedx");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** As SPDX says it: of several licences, all hold. */
const licenceOf = ({ licenses = [] }) =>
  licenses.map(({ expression, license }) => expression ?? license.id ?? license.name).join(" AND ") || "none is stated";

const isAllowed = (licence) => {
  try {
    return satisfies(licence, ALLOWED);
  } catch {
    return false; // no expression of SPDX
  }
};

const { values: flags } = parseArgs({ options: { sbom: { type: "string" } } });
const text = billOfMaterials();
if (flags.sbom !== undefined) writeFileSync(flags.sbom, text);

const all = new Map();
for (const component of JSON.parse(text).components) {
  const licence = licenceOf(component);
  all.set(licence, [...(all.get(licence) ?? []), component]);
}
for (const [licence, components] of [...all].sort(([, a], [, b]) => b.length - a.length)) {
  const names = components.map(({ name, version }) => `${name}@${version}`).sort();
  console.log(`${isAllowed(licence) ? "ok  " : "FAIL"} ${licence} (${names.length}): ${names.join(" ")}`);
  if (!isAllowed(licence)) process.exitCode = 1;
}
