/** Every link of the documentation leads to a file that is there, and to a heading that it has. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const below = async (folder: string): Promise<string[]> =>
  (await readdir(join(root, folder), { recursive: true }))
    .filter((name) => name.endsWith(".md") && !name.includes("node_modules"))
    .map((name) => join(root, folder, name));

const readmesIn = async (folder: string): Promise<string[]> =>
  (await readdir(join(root, folder))).map((name) => join(root, folder, name, "README.md")).filter(existsSync);

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[`*]|\[|\]\([^)]*\)/g, "")
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");

const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```/gms, "").replaceAll(/`[^`\n]*`/g, "");

const anchorsOf = async (file: string): Promise<string[]> =>
  file.endsWith(".md")
    ? [...(await readFile(file, "utf8")).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading))
    : [];

const leadsSomewhere = async (page: string, target: string): Promise<boolean> => {
  const [path = "", anchor = ""] = target.split("#");
  const file = path === "" ? page : resolve(dirname(page), path);
  return existsSync(file) && (anchor === "" || (await anchorsOf(file)).includes(anchor));
};

const brokenLinks = async (page: string): Promise<string[]> => {
  const broken: string[] = [];
  for (const [, target = ""] of withoutCode(await readFile(page, "utf8")).matchAll(/\]\(([^)\s]+)\)/g))
    if (!/^[a-z]+:/.test(target) && !(await leadsSomewhere(page, target))) broken.push(target);
  return broken;
};

const pages = [
  join(root, "README.md"),
  join(root, "CONTRIBUTING.md"),
  ...(await below("docs")),
  ...(await Promise.all(["packages", "packages/backends", "apps"].map(readmesIn))).flat(),
].map((page) => page.slice(root.length));

test.for(pages)("%s has links that lead somewhere", async (page) => {
  expect(await brokenLinks(join(root, page))).toEqual([]);
});
