/** Why no release can be made from what is here; each with what to do about it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../packages.mjs";
import { attempt, capture } from "./step.mjs";

export const refusals = (packages) =>
  [dirty, branch, behind, nothing, () => tooEarly(packages), () => unplaced(packages), audit]
    .map((ask) => ask())
    .filter((reason) => reason !== null);

const dirty = () =>
  capture(ROOT, "git", "status", "--porcelain") === ""
    ? null
    : "the working tree is not clean; commit or stash what git status lists";

const branch = () => {
  const name = capture(ROOT, "git", "branch", "--show-current");
  return name === "main" ? null : `this is the branch ${name || "of no name"}; releases are made from main`;
};

const behind = () => {
  if (!attempt(ROOT, "git", "fetch", "--quiet", "origin", "main").ok)
    return "main of the remote origin cannot be fetched, so it is not known whether this is the newest";
  return capture(ROOT, "git", "rev-parse", "HEAD") === capture(ROOT, "git", "rev-parse", "FETCH_HEAD")
    ? null
    : "this is not what origin has as main; pull or push first";
};

const changesets = () => {
  const folder = join(ROOT, ".changeset");
  const names = readdirSync(folder).filter((name) => name.endsWith(".md") && name !== "README.md");
  return names.map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
};

const nothing = () => (changesets().length > 0 ? null : "there is nothing to release; npx changeset describes a change");

/** While 0.x a breaking change is a minor one; a major one would make 1.0.0 of all packages. */
const tooEarly = (packages) => {
  if (!packages.every(({ manifest }) => manifest.version.startsWith("0."))) return null;
  const names = changesets()
    .filter(({ text }) => /^["'].+["']: major$/m.test(text))
    .map(({ name }) => name);
  return names.length === 0
    ? null
    : `while 0.x a breaking change is a minor one (docs/versioning.md), and these say major: ${names.join(" ")}`;
};

const unplaced = (packages) => {
  const names = packages.filter(({ manifest }) => manifest.repository === undefined).map(({ name }) => name);
  return names.length === 0
    ? null
    : `npm proves where a package was built by the repository in its package.json, which these lack: ${names.join(" ")}`;
};

const audit = () => {
  const { ok, text } = attempt(ROOT, "npm", "audit", "--loglevel", "error");
  if (ok) return null;
  return /audit endpoint returned an error/.test(text)
    ? "the registry here does not answer npm audit; run it where it does"
    : `npm audit found something:\n${text}`;
};
