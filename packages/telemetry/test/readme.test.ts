/** The README's code does what the README says. */
import { execFile, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { writeReadme } from "@rheo/testing/internal";
import { freePort } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";

const { folder, names } = await writeReadme(fileURLToPath(new URL("..", import.meta.url)));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs to its end by itself: nothing is left that keeps the process. */
const run = async (file: string): Promise<string> => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { cwd: folder, timeout: 30_000 });
  expect(stderr).toBe("");
  return stdout.trim();
};

test("each file is run by a test below", () => {
  expect(names).toEqual(["metrics.mjs", "app.config.mjs", "traced.mjs", "log.mjs"]);
});

test("a scrape tells of the dead letter", async () => {
  expect((await run("metrics.mjs")).split("\n")).toEqual([
    'rheo_dead_letters_created_total{stream="orders",group="billing"} 1',
    'rheo_group_lag{stream="orders",group="billing"} 0',
  ]);
});

test("under rheo start each process has its metrics, of its consumers too, and lets go of them at the end", async () => {
  const bin = fileURLToPath(new URL("../../rheo/dist/main.js", import.meta.url));
  const port = await freePort();
  const env = { ...process.env, METRICS_PORT: String(port) };
  const started = spawn(process.execPath, [bin, "start", "app.config.mjs"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const code = new Promise((resolve) => started.once("exit", resolve));
  const scrape = (): Promise<string> =>
    fetch(`http://127.0.0.1:${port}/metrics`).then(
      (response) => response.text(),
      () => "",
    );
  while (started.exitCode === null && !/rheo_consumer_\w+\{/.test(await scrape()))
    await new Promise((resolve) => setTimeout(resolve, 20));
  started.kill("SIGTERM");
  expect(await code).toBe(0);
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
