/**
 * Installs the packed packages into empty projects, as their users do, and uses them there: `npm run test:install [-- 20 22 24]`.
 * What does not depend on the Node is done once, on the one at hand.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeCodeBlocks } from "@rheo/testing/internal";
import { createProject } from "./install/project.mjs";
import { installedNode, VERSIONS } from "./nodes.mjs";
import { entryPoints, packAll, publicPackages, ROOT } from "./packages.mjs";

/** Clients of stores: peers, so that the user has the version that the rest of the program has. */
const CLIENTS = { postgres: "pg", redis: "ioredis", mongo: "mongodb" };
const PEERS = [...Object.values(CLIENTS), "@opentelemetry/api", "prom-client", "vitest", "fast-check"];
const QUICK_START = ["EUR-6M 2.913 (attempt 1)", "EUR-6M 2.917 (attempt 1)", "USD-3M 4.402 (attempt 1)", "lag 0"];

const ownMajor = process.versions.node.split(".")[0];
const packages = publicPackages();
const folder = mkdtempSync(join(tmpdir(), "rheo-install-"));

/** As the workspace has it, so that what was tested together is. */
const pinned = (...names) =>
  names.map((name) => {
    const require = createRequire(join(ROOT, "packages/testing/package.json"));
    const path = require.resolve.paths(name).map((place) => join(place, name, "package.json"));
    for (const place of path) {
      try {
        return `${name}@${require(place).version}`;
      } catch {}
    }
    throw new Error(`${name} is not in the workspace.`);
  });

const step = (name, run) => {
  const start = performance.now();
  const result = attempt(name, run);
  console.log(`ok   ${name} (${((performance.now() - start) / 1_000).toFixed(1)} s)`);
  return result;
};

const attempt = (name, run) => {
  try {
    return run();
  } catch (cause) {
    throw new Error(`FAIL ${name}`, { cause });
  }
};

const expectLines = (text, lines) => {
  const [got, wanted] = [text.split("\n"), [...lines]].map((all) => all.sort((a, b) => (a < b ? -1 : 1)).join("\n"));
  if (got !== wanted) throw new Error(`Expected\n${wanted}\nand got\n${got}`);
};

const binaryOf = (major) => (major === ownMajor ? process.execPath : installedNode(major));

const withoutClients = (project, tarballs) => {
  step("installs without the clients of stores", () => project.install("--omit=peer", ...tarballs));
  step("a store without its client says what to install", () => {
    const lines = Object.entries(CLIENTS).map(
      ([store, client]) => `unsupported: @rheo/${store} needs ${client}, which is not installed. Run: npm install ${client}`,
    );
    expectLines(project.node("without-clients.mjs"), lines);
  });
};

const types = (project) => {
  step("installs TypeScript", () => project.install(...pinned("typescript", "@types/node", "@types/pg")));
  for (const resolution of ["nodenext", "bundler"])
    step(`types check under ${resolution}`, () => project.bin("tsc", "-p", `types/tsconfig.${resolution}.json`));
};

const uses = async (project, major) => {
  const libraries = packages.flatMap(entryPoints).filter(({ path }) => path !== "./bin"); // which is a program, run below
  const specifiers = libraries.map(({ specifier }) => specifier);
  step("every entry point loads, with import and with require", () => project.node("entries.mjs", ...specifiers));
  await writeCodeBlocks(join(ROOT, "README.md"), project.folder);
  step("the quick start of the README runs", () => {
    project.node("publish.mjs");
    expectLines(project.node("consume.mjs"), QUICK_START);
  });
  if (major === "20") step("installs tsx", () => project.install(...pinned("tsx")));
  step("a handler in TypeScript runs", () => expectLines(project.node("typescript-handler.mjs"), ["EUR-6M 2.913", "lag 0"]));
  step("rheo says its version", () => {
    const { version } = packages.find(({ name }) => name === "rheo").manifest;
    expectLines(project.bin("rheo", "--version"), [version]);
  });
  step("rheo reads the store of the quick start", () => {
    const [group] = project.bin("rheo", "groups", "market-events", "--store", "sqlite:./events.db", "--json").split("\n");
    if (JSON.parse(group).lag !== 0) throw new Error(group);
  });
  step("rheo demo ends well", () => project.bin("rheo", "demo"));
};

try {
  const majors = process.argv.slice(2).filter((word) => word in VERSIONS);
  const place = join(folder, "tarballs");
  mkdirSync(place);
  const tarballs = step("packs", () => packAll(place).map(({ tarball }) => tarball));
  for (const major of majors.length > 0 ? majors : Object.keys(VERSIONS)) {
    console.log(`\n== Node ${major}`);
    const project = createProject(join(folder, major), binaryOf(major));
    if (major === ownMajor) withoutClients(project, tarballs);
    step("installs", () => project.install(...tarballs, ...pinned(...PEERS)));
    if (major === ownMajor) types(project);
    await uses(project, major);
  }
} catch (error) {
  console.error(`${error.message}\n${error.cause?.message ?? error.stack}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
