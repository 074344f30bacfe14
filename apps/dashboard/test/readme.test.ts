/** The README's code does what the README says. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { writeCodeBlocks } from "@rheo/testing/internal";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPages } from "./fixtures/pages.ts";

const home = fileURLToPath(new URL("..", import.meta.url));
let folder: string;
let names: string[];

beforeAll(async () => {
  await buildPages();
  const cache = join(home, "node_modules", ".cache");
  await mkdir(cache, { recursive: true });
  folder = await mkdtemp(join(cache, "readme-")); // below the package, so that others resolve as for a user
  names = await writeCodeBlocks(join(home, "README.md"), folder);
  const rheo = await Rheo.open(`sqlite:${join(folder, "events.db")}`);
  await rheo.ensureStream("orders", { partitions: 4 });
  await rheo.append("orders", { payload: { total: 12 } });
  await rheo.close();
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

/** The first line that a process says and that has a URL in it. */
const urlOf = async (child: ChildProcess): Promise<string> => {
  if (child.stdout === null) throw new TypeError("Its output is a pipe.");
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith("http")) return line;
  throw new Error("It ended without a word of where it is.");
};

test("every file serves the page, and ends when told to", async () => {
  expect(names).toEqual(["dashboard.mjs", "consume.mjs", "node-http.mjs", "hono.mjs"]);
  for (const name of names) {
    const child = spawn(process.execPath, [name], {
      cwd: folder,
      env: { ...process.env, PORT: "0" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    try {
      const url = await urlOf(child);
      expect(await (await fetch(url)).text(), name).toContain("<title>Rheo</title>");
      const overview = (await (await fetch(`${url}api/overview`)).json()) as { readonly totals: { readonly streams: number } };
      expect(overview.totals.streams, name).toBe(1);
    } finally {
      child.kill("SIGTERM");
    }
    expect(await ended, name).toEqual([0, null]);
  }
});
