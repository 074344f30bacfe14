import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Writes each block of a page in Markdown that names its file into a folder; the names, in order. */
export const writeCodeBlocks = async (page: string, folder: string): Promise<string[]> => {
  const text = await readFile(page, "utf8");
  const names: string[] = [];
  for (const [, code = "", name = ""] of text.matchAll(/```js\n(\/\/ file: (\S+)\n[^`]*(?:`(?!``)[^`]*)*)```/g)) {
    await writeFile(join(folder, name), code);
    names.push(name);
  }
  return names;
};

/** The same of a package's README, into a new folder from where packages resolve as they do for a user who installed them. */
export const writeReadme = async (home: string): Promise<{ folder: string; names: string[] }> => {
  const parent = join(home, "node_modules", ".cache");
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "readme-"));
  return { folder, names: await writeCodeBlocks(join(home, "README.md"), folder) };
};
