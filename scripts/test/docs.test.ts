/** Every code block of the docs that names its file is written beside the others of its page and run. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { writeCodeBlocks } from "@rheo/testing/internal";
import { afterAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folders: string[] = [];

/** Below the repository, so that the packages resolve as they do for a user who installed them. */
const folderFor = async (page: string): Promise<string> => {
  const parent = join(root, "node_modules", ".cache", "docs");
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, `${page}-`));
  folders.push(folder);
  return folder;
};

const run = async (folder: string, file: string): Promise<string[]> => {
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder, timeout: 60_000 });
  return stdout.trim().split("\n").sort();
};

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

test("the README's quick start does what the README says", async () => {
  const folder = await folderFor("readme");
  await writeCodeBlocks(join(root, "README.md"), folder);
  await run(folder, "publish.mjs");
  const lines = await run(folder, "consume.mjs");
  expect(lines).toEqual(["EUR-6M 2.913 (attempt 1)", "EUR-6M 2.917 (attempt 1)", "USD-3M 4.402 (attempt 1)", "lag 0"]);
});

test("the README's program without the runtime acks once and is refused the second time", async () => {
  const folder = await folderFor("readme");
  await writeCodeBlocks(join(root, "README.md"), folder);
  expect(await run(folder, "by-hand.mjs")).toEqual(["12 1 1", "settled"]);
});

test("the page on finding events does what it says", async () => {
  const folder = await folderFor("searching");
  await writeCodeBlocks(join(root, "docs/searching.md"), folder);
  expect(await run(folder, "find.mjs")).toEqual(
    ["order-7 120", "{ count: 2, isExact: true }", "placed led to paid", "paid", "placed"].sort(),
  );
  expect(await run(folder, "index.mjs")).toEqual(["1", "[ 'correlationId', 'payload.country' ]"]);
  expect(await run(folder, "replay.mjs")).toEqual(["placed 1,placed 1", "{ reopened: 2 }", "{ reopened: 2 }"].sort());
  expect(await run(folder, "versions.mjs")).toEqual(["5 EUR", "6 USD"]);
  expect(await run(folder, "billing.mjs")).toEqual(["bill 7 EUR", "bill 8 USD"]);
  expect(await run(folder, "trim.mjs")).toEqual(["2", "{ removed: 1, heldBack: 2 }", "{ removed: 3, heldBack: 0 }"]);
  expect(await run(folder, "retention.mjs")).toEqual([
    "partition 0: 1 to 3 3 false 1",
    "{ removed: 3, archived: 3, heldBack: 0 }",
  ]);
});

test("the page on a group that is stuck leads to one that is not", async () => {
  const folder = await folderFor("operating");
  const page = join(root, "docs/operating.md");
  await writeCodeBlocks(page, folder);
  const commands = (await readFile(page, "utf8")).match(/^rheo .*$/gm) ?? [];
  const rheo = async (start: string, isWhole = false): Promise<string> => {
    const command = commands.find((line) => (isWhole ? line === `rheo ${start}` : line.startsWith(`rheo ${start}`))) ?? "";
    expect(command, start).not.toBe("");
    const args = (command.match(/'[^']*'|\S+/g) ?? []).slice(1).map((word) => word.replace(/^'(.*)'$/, "$1"));
    const env = { ...process.env, RHEO_STORE: "sqlite:./stuck.db", NO_COLOR: "1" };
    const bin = join(root, "packages/rheo/dist/main.js");
    const { stdout } = await promisify(execFile)(process.execPath, [bin, ...args], { cwd: folder, env, timeout: 60_000 });
    return stdout;
  };
  await run(folder, "publish.mjs");
  expect(await rheo("info")).toMatch(/lag\s+5/);
  expect(await rheo("explain")).toMatch(/price-1.*pending/);
  await run(folder, "consume.mjs");
  expect(await rheo("dead-letters")).toMatch(/price-3.*Cannot read properties of null/s);
  expect(await rheo("event")).toMatch(/dead/);
  expect(await rheo("query")).toMatch(/price-3/);
  await copyFile(join(folder, "mended.handler.mjs"), join(folder, "risk.handler.mjs"));
  expect(await rheo("redrive market-events risk --all --dry-run")).toMatch(/1/);
  expect(await rheo("redrive market-events risk --all", true)).toMatch(/1/);
  expect(await rheo("info")).toMatch(/lag\s+3/);
  await run(folder, "consume.mjs");
  expect(await rheo("info")).toMatch(/lag\s+0[\s\S]*dead letters\s+0/);
});
