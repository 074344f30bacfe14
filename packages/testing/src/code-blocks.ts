import { readFile, writeFile } from "node:fs/promises";
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
