/** The walkthroughs that come with the command line. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { RheoError } from "@rheo/core";
import { type Page, readPage } from "./page.ts";

/** In the order in which to read them. */
const NAMES: readonly string[] = ["quickstart", "concepts", "ops", "pipelines", "backends", "dashboard"];

const FOLDER = new URL("../../walkthroughs/", import.meta.url);

export const allPages = (): Promise<readonly Page[]> => Promise.all(NAMES.map(shipped));

/**
 * One of them by its name, or any page by its path.
 * @throws invalid_option - there is none
 */
export const findPage = async (name: string): Promise<Page> => {
  if (NAMES.includes(name)) return shipped(name);
  if (!name.endsWith(".md"))
    throw new RheoError(
      "invalid_option",
      `There is no walkthrough "${name}". There are: ${NAMES.join(", ")}; or give the path of a page.`,
    );
  try {
    return await readPage(resolve(name));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    throw new RheoError("invalid_option", `There is no page ${name}.`);
  }
};

const shipped = (name: string): Promise<Page> => readPage(fileURLToPath(new URL(`${name}.md`, FOLDER)));

/** What it is called at a shell. */
export const shortName = ({ name }: Page): string => name.replace(/\.md$/, "");
