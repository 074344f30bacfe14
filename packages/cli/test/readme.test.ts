import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { writeCodeBlocks } from "@rheo/testing/internal";
import { expect, test } from "vitest";
import { until } from "./jobs.ts";
import { RheoCommand } from "./rheo-command.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

test("the files of the README of the package rheo run with its command", async () => {
  const parent = join(root, "node_modules", ".cache", "docs");
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "rheo-")); // below the repository, so that the packages resolve as for a user
  try {
    await writeCodeBlocks(join(root, "packages/rheo/README.md"), folder);
    await using rheo = await new RheoCommand(["start", "app.config.mjs", "--processes", "2"], { cwd: folder }).ready();
    const store = await Rheo.open(`sqlite:${join(folder, "events.db")}`);
    await store.append("market-events", { key: "EUR-6M", payload: { price: 2.913 } });
    await store.close();
    await until("it is handled", () => / \| EUR-6M 2\.913$/m.test(rheo.stdout));
    rheo.signal("SIGTERM");
    expect(await rheo.code, rheo.stderr).toBe(0);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
