/** What the README says of URLs; its code runs with all pages of the documentation. */
import { readFile } from "node:fs/promises";
import { optionsFromUrl } from "@rheo/lmdb/internal";
import { expect, test } from "vitest";

test("each URL is one that Rheo takes", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const urls = [...readme.matchAll(/"(lmdb:[^"]+)"/g)].map(([, url = ""]) => optionsFromUrl(url));
  expect(urls).toEqual([{ path: "./events", durability: "relaxed" }]);
});
