/** Runs one killer in a process of its own, with a mutant planted or without, within a time limit. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { environmentOf } from "./environment.ts";
import type { Order } from "./kill.ts";
import type { Killer } from "./mutant.ts";
import { pathOf, ROOT_PATH } from "./root.ts";

/** Of servers that were started; null: there is none to be had. */
export interface ServerUrls {
  readonly postgres: string | null;
  readonly redis: string | null;
}

export type Heard =
  /** What it noticed; nothing when the list is empty. */
  | { readonly kind: "noticed"; readonly what: readonly string[] }
  /** It did not come to an end in its time. */
  | { readonly kind: "hung" }
  /** It could not do its work. */
  | { readonly kind: "broken"; readonly why: string }
  /** Its server is not to be had. */
  | { readonly kind: "not_run"; readonly why: string };

/** Several times what any killer takes on a busy machine. */
const LIMIT_MS = 60_000;
const ALL_LIMIT_MS = 300_000;
/** Of what a process says, kept for messages. */
const SAID = 2_000;
const REGISTER = new URL("./register.js", import.meta.url).href;
const CHILD = fileURLToPath(new URL("./kill-child.js", import.meta.url));

/** @param mutant - its name, or null for the code as it is; then everything that is noticed is listed */
export const runKiller = async (killer: Killer, mutant: string | null, urls: ServerUrls): Promise<Heard> => {
  if (killer.by === "test") return await runTests([killer], mutant);
  const url = "on" in killer && (killer.on === "postgres" || killer.on === "redis") ? urls[killer.on] : "";
  if (url === null) return { kind: "not_run", why: "there is no server" };
  const order: Order = { killer, url, all: mutant === null };
  const ended = await run(["--import", REGISTER, CHILD, JSON.stringify(order)], environmentOf(mutant), limitFor(mutant));
  if (ended === null) return { kind: "hung" };
  const line = /^\{"noticed":.*\}$/m.exec(ended.said)?.[0];
  if (line === undefined) return { kind: "broken", why: ended.said };
  return { kind: "noticed", what: (JSON.parse(line) as { noticed: string[] }).noticed }; // kill-child.ts wrote it
};

const limitFor = (mutant: string | null): number => (mutant === null ? ALL_LIMIT_MS : LIMIT_MS);

interface TestFile {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

let reports = 0;

/** Tests that fail, of those named. A test that is there no more is broken, not silent. */
export const runTests = async (
  tests: readonly Extract<Killer, { readonly by: "test" }>[],
  mutant: string | null,
): Promise<Heard> => {
  const report = join(tmpdir(), `rheo-mutant-${process.pid}-${++reports}.json`);
  const files = [...new Set(tests.map(({ file }) => file))];
  const pattern = tests.map(({ test }) => test.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const args = [
    "run",
    "--config",
    pathOf("apps/proof/src/mutants/vitest.config.ts"),
    "--reporter=json",
    `--outputFile=${report}`,
    "-t",
    pattern,
  ];
  const environment = environmentOf(mutant, { NODE_OPTIONS: `--import=${REGISTER}` });
  const ended = await run([pathOf("node_modules/vitest/vitest.mjs"), ...args, ...files], environment, limitFor(mutant));
  if (ended === null) return { kind: "hung" };
  try {
    const { testResults } = JSON.parse(await readFile(report, "utf8")) as TestFile; // vitest wrote it
    return verdictOf(tests, testResults);
  } catch {
    return { kind: "broken", why: ended.said };
  } finally {
    await rm(report, { force: true });
  }
};

const verdictOf = (tests: readonly { readonly test: string }[], results: TestFile["testResults"]): Heard => {
  const ran = results
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "passed" || status === "failed");
  const missing = tests.find(({ test }) => !ran.some(({ fullName }) => fullName.includes(test)));
  if (missing !== undefined)
    return {
      kind: "broken",
      why: `no test "${missing.test}" ran. ${results.map(({ message }) => message).join(" ")}`.slice(0, SAID),
    };
  return { kind: "noticed", what: ran.filter(({ status }) => status === "failed").map(({ fullName }) => fullName) };
};

/** What a process said, the last of it; null when its time was up. */
const run = async (
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<{ readonly said: string } | null> => {
  const child = spawn(process.execPath, args, { cwd: ROOT_PATH, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-SAID)));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child);
  }, limitMs);
  await new Promise<void>((resolve) => child.once("close", () => resolve()));
  clearTimeout(timer);
  return isLate ? null : { said };
};

/** It leads a group of its own, so that what it started ends with it. */
const endGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // it has just ended by itself
  }
};
