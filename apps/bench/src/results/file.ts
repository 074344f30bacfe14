/** The files of results: read, and written so that an interrupted run leaves a whole one. */
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EMPTY, type Kept } from "./kept.ts";

/** What was kept there; empty when there is no file yet. @throws when it is not a file of ours */
export const readKept = async (file: string): Promise<Kept> => {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return EMPTY;
  const kept = JSON.parse(text) as Kept; // checked as far as can be told
  if (kept.format !== 1 || !Array.isArray(kept.results)) throw new RangeError(`${file} does not hold results of this bench`);
  return kept;
};

/** Every file of a folder, by name. */
export const readFolder = async (folder: string): Promise<readonly Kept[]> => {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json")).sort();
  return Promise.all(names.map((name) => readKept(join(folder, name))));
};

export const writeKept = async (file: string, kept: Kept): Promise<void> => {
  await writeFile(`${file}.new`, textOf(kept));
  await rename(`${file}.new`, file);
};

/** A line per entry, so that a difference between two runs is read as such. */
const textOf = (kept: Kept): string => {
  const lists = (["sessions", "asked", "results", "remarks"] as const).map((name) => {
    const entries = kept[name].map((entry) => `  ${JSON.stringify(entry)}`);
    return `"${name}": [${entries.length === 0 ? "" : `\n${entries.join(",\n")}\n`}]`;
  });
  return `{\n"format": ${kept.format},\n${lists.join(",\n")}\n}\n`;
};
