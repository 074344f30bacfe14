/** Every page of the documentation does what it says: its files are written, its commands run, and what they print is what stands there. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Page, readPage, runPage } from "@rheo/cli/internal";
import { findRedis, startMongo, startPostgres, startRedis } from "@rheo/testing/servers";
import { afterEach, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const below = async (folder: string): Promise<string[]> =>
  (await readdir(join(root, folder), { recursive: true }))
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
    .map((name) => join(folder, name));

const readmesIn = async (folder: string): Promise<string[]> =>
  (await readdir(join(root, folder)))
    .map((name) => join(folder, name, "README.md"))
    .filter((path) => existsSync(join(root, path)));

const paths = [
  "README.md",
  "CONTRIBUTING.md",
  ...(await Promise.all([below("docs"), below("packages/cli/walkthroughs")])).flat(),
  ...(await Promise.all(["packages", "packages/backends", "apps"].map(readmesIn))).flat(),
].sort();

interface Server {
  readonly url: string;
  stop(): Promise<void>;
}

/** What `<!-- needs: … -->` asks for. @throws when its binaries are not to be had */
const SERVERS: Readonly<Record<string, () => Promise<Server>>> = {
  mongo: () => startMongo(),
  postgres: () => startPostgres({ fsync: "off" }),
  redis: () => startRedis({ settings: { appendonly: "yes" } }), // as it should be run: else Rheo warns
};

/** Why a page cannot be run here; null when it can. Where CI says that everything is there, its start fails instead. */
const whyNot = (servers: readonly string[]): string | null =>
  servers.includes("redis") && findRedis() === null && process.env.CI !== "true" ? "redis-server is not installed" : null;

/** Names of files that no command runs and no other file names. Pages without commands are run by tests of their own packages. */
const unused = ({ steps }: Page): readonly string[] => {
  const runs = steps.some(({ kind }) => kind === "commands");
  const files = steps.filter((step) => step.kind === "file").map(({ name }) => name);
  const isUsed = (name: string): boolean =>
    steps.some((step) => step.kind !== "prose" && !(step.kind === "file" && step.name === name) && step.code.includes(name));
  return runs ? files.filter((name) => !isUsed(name)) : [];
};

/** What a test has to undo, the last first. */
type Undo = (() => Promise<void>)[];

const start = async (servers: readonly string[], undo: Undo): Promise<Record<string, string>> => {
  const env: Record<string, string> = {};
  for (const name of servers) {
    const open = SERVERS[name];
    if (open === undefined) throw new Error(`A page needs ${name}, and nobody knows how to start that.`);
    const server = await open();
    undo.unshift(() => server.stop());
    env[`${name.toUpperCase()}_URL`] = server.url;
  }
  return env;
};

/** Below the package that the page is of, so that others resolve as they do for a user who installed it. */
const folderFor = async (path: string, undo: Undo): Promise<string> => {
  let home = dirname(join(root, path));
  while (!existsSync(join(home, "package.json"))) home = dirname(home);
  const parent = join(home, "node_modules", ".cache", "pages");
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "page-"));
  undo.unshift(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
};

describe.each(paths)("%s", async (path) => {
  const page = await readPage(join(root, path), path);
  const missing = whyNot(page.servers);
  if (missing !== null) console.warn(`\n*** NOT RUN: ${path}, because ${missing}. ***\n`);
  const undo: Undo = [];
  afterEach(async () => {
    for (const step of undo.splice(0)) await step();
  });

  test("has no file that it does not go on to use", () => {
    expect(unused(page)).toEqual([]);
  });

  test.skipIf(missing !== null)("does what it says", async () => {
    const env = await start(page.servers, undo);
    const ran = await runPage(page, { folder: await folderFor(path, undo), env });
    const wrong = ran.find(({ outcome }) => outcome.difference !== null);
    expect(
      wrong && `${path}:${wrong.step.line} ${wrong.outcome.difference}\n\nIt printed:\n${wrong.outcome.output}`,
    ).toBeUndefined();
  });
});
