import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/fuzz/main.js", import.meta.url));

test("threads: a handler that posts junk to the main side and to its own channel harms nobody", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "--minutes", "0", "--door", "threads", "--seed", "1"]);
  expect(stdout).toContain("No fault.");
});

test("the command refuses what it does not know", async () => {
  const ran = promisify(execFile)(process.execPath, [MAIN, "--door", "cellar"]);
  await expect(ran).rejects.toMatchObject({ code: 2 });
});
