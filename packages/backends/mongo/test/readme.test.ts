/** The README's code does what the README says. */
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { INDEXES, optionsFromUrl, resolveOptions } from "@rheo/mongo/internal";
import { writeReadme } from "@rheo/testing/internal";
import { startMongo } from "@rheo/testing/servers";
import { MongoClient } from "mongodb";
import { afterAll, expect, test } from "vitest";

const home = fileURLToPath(new URL("..", import.meta.url));
const server = await startMongo();
const { folder, names } = await writeReadme(home);
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await server.stop();
});

const readme = (): Promise<string> => readFile(`${home}/README.md`, "utf8");

test("each file runs, and the ack and the invoice are both there", async () => {
  expect(names).toEqual(expect.arrayContaining(["start.mjs", "transaction.mjs"]));
  const env = { ...process.env, RHEO_MONGODB_URL: server.url };
  for (const name of names) {
    const { stderr } = await promisify(execFile)(process.execPath, [name], { cwd: folder, env, timeout: 60_000 });
    expect(stderr).toBe("");
  }
  const client = await new MongoClient(server.url).connect();
  const shop = client.db("shop");
  expect(await shop.collection("invoices").countDocuments()).toBe(1);
  expect(await shop.collection("rheo_progress").countDocuments({ first: { $exists: true } })).toBe(0);
  await shop.dropDatabase();
  await client.close();
});

test("each URL is one that Rheo takes", async () => {
  const urls = [...(await readme()).matchAll(/mongodb(?:\+srv)?:\/\/[^\s`"…]+/g)].map(([url]) => url);
  expect(urls.length).toBeGreaterThan(1);
  for (const url of urls) resolveOptions(optionsFromUrl(url));
});

test("each index that it names is there, and no other", async () => {
  const rows = [...(await readme()).matchAll(/^\| `rheo_(events|progress)` `([^`]+)`/gm)].map(([, of, keys]) => `${of} ${keys}`);
  expect(rows.sort()).toEqual(INDEXES.map(({ collection, key }) => `${collection} ${Object.keys(key).join(", ")}`).sort());
});
