/** The pages of the results that are kept, written into the docs. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readFolder } from "../results/file.ts";
import { merged } from "../results/kept.ts";
import { makePages } from "./make.ts";

const HOME = fileURLToPath(new URL("../..", import.meta.url));
const TEMPLATES = join(HOME, "pages");
const RESULTS = join(HOME, "results");
const DOCS = join(HOME, "..", "..", "docs");

/** Contents by path from the docs, as they are to be. */
export const pagesNow = async (): Promise<ReadonlyMap<string, string>> => {
  const names = (await readdir(TEMPLATES)).sort();
  const templates = await Promise.all(names.map(async (name) => [name, await readFile(join(TEMPLATES, name), "utf8")] as const));
  return makePages(merged(await readFolder(RESULTS)), Object.fromEntries(templates));
};

/** Charts that are not made any more are removed. */
export const writePages = async (): Promise<void> => {
  const pages = await pagesNow();
  await rm(join(DOCS, "pictures", "performance"), { recursive: true, force: true });
  for (const [path, content] of pages) {
    await mkdir(dirname(join(DOCS, path)), { recursive: true });
    await writeFile(join(DOCS, path), content);
    console.log(`docs/${path}`);
  }
};
