/** The folder that a walkthrough plays in, from where packages resolve whatever package manager put them where. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { RheoError } from "@rheo/core";
import { shortName } from "./catalog.ts";
import type { Page } from "./page.ts";

/** What every page may import. */
const ALWAYS: readonly string[] = ["@rheo/core", "@rheo/memory", "@rheo/runtime"];

export interface Folder extends AsyncDisposable {
  readonly path: string;
}

/**
 * @param kept - a new or empty one, which stays; null: a temporary one
 * @throws invalid_option - there is something in it
 * @throws unsupported - a package that the page needs is not installed
 */
export const openFolder = async (page: Page, kept: string | null): Promise<Folder> => {
  const homes = [...ALWAYS, ...page.packages].map((name) => [name, homeOf(name, page)] as const);
  const path = kept === null ? await mkdtemp(join(tmpdir(), "rheo-walkthrough-")) : await emptyFolder(resolve(kept));
  for (const [name, home] of homes) await link(home, join(path, "node_modules", name));
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      if (kept === null) await rm(path, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

const emptyFolder = async (path: string): Promise<string> => {
  await mkdir(path, { recursive: true });
  if ((await readdir(path)).length > 0) throw new RheoError("invalid_option", `${path} is not empty. Give a new folder.`);
  return path;
};

/** Beside this package, else from the working directory. */
const homeOf = (name: string, page: Page): string => {
  for (const from of [import.meta.url, `${process.cwd()}/`]) {
    for (const folder of createRequire(from).resolve.paths(name) ?? []) {
      const home = join(folder, name);
      if (existsSync(join(home, "package.json"))) return home;
    }
  }
  const others = page.packages.map((other) => `-p ${other}`).join(" ");
  throw new RheoError(
    "unsupported",
    `This walkthrough needs ${name}. Run: npm install ${page.packages.join(" ")}\nor without installing: npx -p rheo ${others} rheo walkthrough ${shortName(page)}`,
  );
};

const link = async (home: string, path: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await symlink(home, path, "junction");
};
