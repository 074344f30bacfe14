import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Rheo } from "@rheo/core";
import { memory } from "@rheo/memory";
import { afterEach, beforeEach, expect, test } from "vitest";
import { measure, type Plan } from "../src/measure.ts";
import { NoiseWatch } from "../src/noise.ts";
import { type Question, rate } from "../src/question.ts";
import { readKept } from "../src/results/file.ts";
import { EMPTY, type Kept } from "../src/results/kept.ts";
import { Ledger } from "../src/results/ledger.ts";
import type { System } from "../src/systems.ts";

const SCALE = { events: 1, pings: 1, deep: 1, nodes: [] };
const system = (name: string): System => ({
  name,
  settings: "",
  kind: "memory",
  open: () => Promise.reject(new Error("nothing is opened here")),
});

/** Writes down who is asked what, in order. */
const noting = (asked: string[], name: string, more: Partial<Question> = {}): Question => ({
  name,
  title: name,
  ask: async (who) => {
    asked.push(`${name} ${who.name}`);
    return [rate(name, who, 1, 1)];
  },
  ...more,
});

const plan = (questions: readonly Question[], runs = 1): Plan => ({
  questions,
  systems: [system("one"), system("two")],
  comparison: null,
  runs,
  scale: SCALE,
});

const NOBODY = { startedAt: "then", endedAt: "now", commit: "", command: "", versions: {} };
const ledgerOf = (kept: Kept = EMPTY): Ledger => {
  const machine = { platform: "", cpu: "", cores: 1, memoryGiB: 1 };
  const noise = new NoiseWatch();
  return new Ledger(kept, null, () => ({ ...NOBODY, machine, noise: noise.read() }));
};

test("every system is asked a question before the next one is, and all of it again", async () => {
  const asked: string[] = [];
  await measure(plan([noting(asked, "a"), noting(asked, "b")], 2), ledgerOf(), new NoiseWatch());
  const once = ["a one", "a two", "b one", "b two"];
  expect(asked).toEqual([...once, ...once]);
});

test("what was answered so often already is not asked again", async () => {
  const asked: string[] = [];
  const first = ledgerOf();
  await measure(plan([noting(asked, "a")]), first, new NoiseWatch());
  asked.length = 0;
  await measure(plan([noting(asked, "a"), noting(asked, "b")]), ledgerOf(first.read()), new NoiseWatch());
  expect(asked).toEqual(["b one", "b two"]);
});

test("a question that takes long is asked as often as it says", async () => {
  const asked: string[] = [];
  await measure(plan([noting(asked, "a", { mostRuns: 1 })], 3), ledgerOf(), new NoiseWatch());
  expect(asked).toEqual(["a one", "a two"]);
});

test("a question that does not fit a system is not asked of it", async () => {
  const asked: string[] = [];
  await measure(plan([noting(asked, "a", { fits: ({ name }) => name === "two" })]), ledgerOf(), new NoiseWatch());
  expect(asked).toEqual(["a two"]);
});

test("who fails is remarked on and not asked the same again, and the run goes on", async () => {
  const asked: string[] = [];
  const failing = noting(asked, "a", {
    ask: async ({ name }) => {
      asked.push(`a ${name}`);
      throw new Error("broken");
    },
  });
  const ledger = ledgerOf();
  await measure(plan([failing, noting(asked, "b")], 2), ledger, new NoiseWatch());
  expect(asked).toEqual(["a one", "a two", "b one", "b two", "b one", "b two"]);
  expect(ledger.read().remarks).toEqual([
    { question: "a", system: "one", text: "failed: Error: broken" },
    { question: "a", system: "two", text: "failed: Error: broken" },
  ]);
});

test("what a question that fails left open is closed", async () => {
  let closed = 0;
  const rheo = await Rheo.open({ backend: memory() });
  const close = async (): Promise<void> => {
    closed += 1;
    await rheo.close();
  };
  const one = { ...system("one"), open: async () => ({ rheo, place: { kind: "memory" as const }, close }) };
  const failing = noting([], "a", {
    ask: async (who) => {
      await who.open();
      throw new Error("broken");
    },
  });
  await measure({ ...plan([failing]), systems: [one] }, ledgerOf(), new NoiseWatch());
  expect(closed).toBe(1);
});

test("the machine is calibrated before each measurement", async () => {
  const noise = new NoiseWatch();
  await measure(plan([noting([], "a")]), ledgerOf(), noise);
  expect(noise.read().calibrations).toHaveLength(2);
});

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-bench-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

test("the command measures, keeps what it was told, and goes on from there", async () => {
  const file = join(folder, "results.json");
  const run = (runs: string) =>
    promisify(execFile)(process.execPath, [MAIN, "memory", "-q", "latency", "--pings", "2", "--runs", runs, "--json", file]);
  const { stdout, stderr } = await run("1");
  expect(stdout).toContain("append → handler idle, p50");
  expect(stderr).toMatch(/^\d\d:\d\d:\d\d run 1 of 1: append → handler when idle, memory$/m);
  expect((await run("2")).stderr).not.toContain("run 1 of 2");
  const kept = await readKept(file);
  expect(kept.results.map(({ values }) => values.length)).toEqual([2, 2]);
  expect(kept.sessions).toHaveLength(2);
});
