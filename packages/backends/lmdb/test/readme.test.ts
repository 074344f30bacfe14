/** The README's code does what the README says. */
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { optionsFromUrl } from "@rheo/lmdb/internal";
import { writeReadme } from "@rheo/testing/internal";
import { afterAll, expect, test } from "vitest";

const home = fileURLToPath(new URL("..", import.meta.url));
const { folder, names } = await writeReadme(home);
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = async (file: string): Promise<string> => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: folder, timeout: 60_000 });
  expect(stderr).toBe("");
  return stdout;
};

test("each file runs", async () => {
  expect(names).toEqual(["start.mjs", "shared.mjs"]);
  for (const name of names) expect(await run(name)).toBe(name === "shared.mjs" ? "[ 'orders' ]\n" : "");
});

test("each URL is one that Rheo takes", async () => {
  const readme = await readFile(`${home}/README.md`, "utf8");
  const urls = [...readme.matchAll(/"(lmdb:[^"]+)"/g)].map(([, url = ""]) => optionsFromUrl(url));
  expect(urls).toEqual([{ path: "./events", durability: "relaxed" }]);
});
