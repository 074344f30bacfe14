import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

test("on LMDB the next owner takes the place of the one that was killed, at every kill point", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rheo-demo-lmdb-"));
  const { stdout } = await promisify(execFile)(process.execPath, [
    MAIN,
    "--store",
    `lmdb:${folder}/events`,
    "--kill-at",
    "all",
    "--json",
  ]);
  const { ok, stories } = JSON.parse(stdout) as {
    readonly ok: boolean;
    readonly stories: readonly { readonly outcome: { readonly ackLanded: boolean } }[];
  };
  expect(ok).toBe(true);
  const landed = stories.slice(0, 5).map(({ outcome }) => outcome.ackLanded);
  expect(landed).toEqual([false, false, false, expect.any(Boolean), true]);
  rmSync(folder, { recursive: true });
});
