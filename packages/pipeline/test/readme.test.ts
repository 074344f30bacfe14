/** The README's code does what the README says. */
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { writeReadme } from "@rheo/testing/internal";
import { afterAll, expect, test } from "vitest";

const { folder, names } = await writeReadme(fileURLToPath(new URL("..", import.meta.url)));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs to its end by itself: nothing is left that keeps the process. */
const run = async (file: string, ...args: string[]): Promise<string> => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file, ...args], { cwd: folder, timeout: 30_000 });
  expect(stderr).toBe("");
  return stdout.trim();
};

test("each file is run by a test below", () => {
  expect(names).toEqual(["store.mjs", "loop.mjs", "transaction.mjs", "stream.mjs", "pipeline.mjs"]);
});

test("a loop acks, rejects, and gives back when it breaks", async () => {
  expect(await run("loop.mjs")).toMatch(/^billed \d+, holds 0$/);
});

test("an ack and an invoice in one transaction", async () => {
  expect(await run("transaction.mjs", join(folder, "app.db"))).toMatch(/count: 1, total: 10/);
});

test("a stream of ten", async () => {
  expect(await run("stream.mjs")).toBe("sent 10");
});

test("a pipeline with processors and batchers", async () => {
  expect(await run("pipeline.mjs")).toBe("wrote 99, acked 99, dead 1, retried 1");
});
