import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { writeCodeBlocks } from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";
import { until } from "./jobs.ts";
import { RheoCommand } from "./rheo-command.ts";
import { Running } from "./run.ts";
import { openScene } from "./scene.ts";

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

/** The lines at a shell of this package's README that begin with `rheo`, the last part of each pipe, as a shell takes them apart. */
const shellLines = async (): Promise<readonly (readonly string[])[]> => {
  const readme = await readFile(join(root, "packages/cli/README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```sh no-run\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  return blocks
    .flatMap((block) => block.split("\n"))
    .filter((line) => /(^|\| )rheo /.test(line))
    .map((line) => {
      const script = `rheo() { printf '%s\\0' "$@"; }; ${line.replace(/^.*\| (?=rheo )/, "")}`;
      return spawnSync("bash", ["-c", script], { encoding: "utf8" }).stdout.split("\0").slice(0, -1);
    });
};

describe("each command line of the README is one", async () => {
  test.for((await shellLines()).filter(([name]) => name !== "start" && name !== "top"))("%s", async (args) => {
    await using scene = await openScene();
    await scene.rheo.createStream("copy");
    const running = new Running(args, { store: scene.store, stdin: [] });
    let code: number | null = null;
    void running.code.then((ended) => (code = ended));
    await until("it has ended", () => {
      running.signal("SIGINT");
      return code !== null;
    });
    expect(code, running.err).not.toBe(2);
  });
});
