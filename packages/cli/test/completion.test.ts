import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run } from "./run.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-completion-"));
  for (const shell of ["bash", "zsh", "fish"]) await writeFile(join(folder, shell), (await run(`completion ${shell}`)).out);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const has = (shell: string): boolean => spawnSync(shell, ["-c", "true"]).status === 0;
const SHELLS = ["bash", "zsh", "fish"] as const;

/** What bash offers for the last of these words. */
const offered = (...words: readonly string[]): readonly string[] => {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rheo; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return spawnSync("bash", ["-c", script, "bash", join(folder, "bash"), ...words], { encoding: "utf8" })
    .stdout.trim()
    .split("\n");
};

describe("in bash", () => {
  test("commands are offered", () => {
    expect(offered("rheo", "create-")).toEqual(["create-stream", "create-group", "create-index"]);
    expect(offered("rheo", "")).toEqual(expect.arrayContaining(["streams", "start", "doctor"]));
  });
  test("options of the command are offered", () => {
    expect(offered("rheo", "trim", "orders", "--k")).toEqual(["--keep-last"]);
    expect(offered("rheo", "lag", "--w")).toEqual(["--watch"]);
  });
});

describe("the scripts", () => {
  for (const shell of SHELLS) {
    test.skipIf(!has(shell))(`parse in ${shell}${has(shell) ? "" : ", which is NOT INSTALLED: not tried"}`, () => {
      const { status, stderr } = spawnSync(shell, ["-n", join(folder, shell)], { encoding: "utf8" });
      expect([status, stderr]).toEqual([0, ""]);
    });
  }

  test("name every command in every shell", async () => {
    const names = [...(await run("--help")).out.matchAll(/^ {2}([a-z-]+) .*/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "help");
    for (const shell of SHELLS) {
      const { out } = await run(`completion ${shell}`);
      expect(names.filter((name) => !out.includes(name))).toEqual([]);
    }
  });

  test("of a shell that nobody knows is refused", async () => {
    const { code, err } = await run("completion csh");
    expect([code, err]).toEqual([2, expect.stringMatching(/Allowed choices are bash, zsh, fish/)]);
  });
});
