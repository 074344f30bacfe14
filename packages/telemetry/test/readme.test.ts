/** What the README says of `rheo start`; its other code runs with all pages of the documentation. */
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { writeReadme } from "@rheo/testing/internal";
import { freePort } from "@rheo/testing/servers";
import { afterAll, expect, test } from "vitest";

const { folder } = await writeReadme(fileURLToPath(new URL("..", import.meta.url)));
afterAll(() => rm(folder, { recursive: true, force: true }));

test("under rheo start each process has its metrics, of its consumers too, and lets go of them at the end", async () => {
  const bin = fileURLToPath(new URL("../../rheo/bin/rheo.js", import.meta.url));
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
