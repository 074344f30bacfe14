/** The README's code does what the README says. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { writeFiles } from "./fixtures/readme.ts";

const { folder, names } = await writeFiles();
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs to its end by itself: nothing is left that keeps the process. */
const run = async (file: string): Promise<string> => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: folder, timeout: 30_000 });
  expect(stderr).toBe("");
  return stdout.trim();
};

test("each file is run by a test below", () => {
  expect(names).toEqual(["metrics.mjs", "traced.mjs", "log.mjs"]);
});

test("a scrape tells of the dead letter", async () => {
  expect((await run("metrics.mjs")).split("\n")).toEqual([
    'rheo_dead_letters_created_total{stream="orders",group="billing"} 1',
    'rheo_group_lag{stream="orders",group="billing"} 0',
  ]);
});

test("append, delivery, handler and settlement are one trace", async () => {
  expect(await run("traced.mjs")).toBe("billed 12\n1 deliver orders, process orders, send orders, settle orders");
});

test("pino writes a line", async () => {
  expect(JSON.parse(await run("log.mjs"))).toMatchObject({
    level: 30,
    type: "stream.created",
    stream: "orders",
    msg: "stream.created orders",
  });
});
