/**
 * `npm run release` makes a release in a copy of what is committed, up to the tarballs, and throws it away. `npm run release -- --prepare` does the
 * same and brings the commit and the tag here; pushing the tag has .github/workflows/release.yml publish. `--quick` leaves checks and tests out of
 * a dry run. Nothing is published from here: a package's provenance is what the workflow can prove.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { publicPackages, ROOT } from "./packages.mjs";
import { refusals } from "./release/refusals.mjs";
import { capture, step } from "./release/step.mjs";

const { values: flags } = parseArgs({
  options: { prepare: { type: "boolean", default: false }, quick: { type: "boolean", default: false } },
});
if (flags.prepare && flags.quick) {
  console.error("A release is checked and tested: --quick is for dry runs.");
  process.exit(2);
}

const reasons = refusals(publicPackages());
for (const reason of reasons) console.log(`${flags.prepare ? "refused" : "would be refused"}: ${reason}`);
if (flags.prepare && reasons.length > 0) process.exit(1);

const folder = mkdtempSync(join(tmpdir(), "rheo-release-"));
const copy = join(folder, "copy");
const versionOf = () => JSON.parse(readFileSync(join(copy, "packages/core/package.json"), "utf8")).version;

const CHECKS = [
  ["checks", "node", "scripts/check.mjs"],
  ["tests", "npx", "vitest", "run", "--config", "vitest.workspace.ts"],
  ["installs the tarballs on every Node", "node", "scripts/test-install.mjs"],
];

const dryPublish = () => {
  const tarballs = join(folder, "tarballs");
  mkdirSync(tarballs);
  const wanted = publicPackages().flatMap(({ folder: location }) => ["-w", location]);
  step(copy, "packs", "npm", "pack", ...wanted, "--silent", "--pack-destination", tarballs);
  for (const name of readdirSync(tarballs))
    step(
      copy,
      `could publish ${name}`,
      "npm",
      "publish",
      join(tarballs, name),
      "--dry-run",
      "--access",
      "public",
      "--loglevel",
      "error",
    );
};

const bringHere = (tag) => {
  step(ROOT, "brings the commit and the tag here", "git", "pull", "--ff-only", "--tags", copy, "HEAD");
  console.log(
    `\nNothing is published yet. Look at the commit, then: git push --follow-tags\nThe tag ${tag} has release.yml publish.`,
  );
};

try {
  step(ROOT, "copies what is committed", "git", "clone", "--quiet", ROOT, copy);
  step(copy, "installs", "npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error");
  step(copy, "versions and changelogs", "npx", "changeset", "version");
  step(copy, "the lock", "npm", "install", "--package-lock-only", "--no-audit", "--no-fund", "--loglevel", "error");
  step(copy, "builds", "npm", "run", "--silent", "build");
  step(copy, "keeps what this version leaves in each store", "node", "apps/proof/dist/upgrade/main.js");
  step(copy, "states the sizes", "node", "scripts/sizes.mjs");
  for (const [name, ...command] of flags.quick ? [] : CHECKS) step(copy, name, ...command);
  if (flags.quick) console.log("left out, as --quick says: checks, tests, installs");
  dryPublish();
  const tag = `v${versionOf()}`;
  capture(copy, "git", "add", "--all");
  step(copy, "commits", "git", "commit", "--quiet", "-m", `Version ${versionOf()}`);
  step(copy, `tags ${tag}`, "git", "tag", "--annotate", tag, "-m", tag);
  console.log(`\n${capture(copy, "git", "show", "--stat", "--format=%s", "HEAD")}`);
  if (flags.prepare) bringHere(tag);
  else console.log("\nA dry run: nothing here has changed, and nothing was published.");
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (reasons.length > 0) process.exitCode = 1;
