import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KILL_POINTS, KILLS } from "../src/points.ts";
import type { DemoReport, StoryReport } from "../src/report.ts";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

let scratch = "";

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "rheo-demo-test-"));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The demo as a user starts it, with its temporary files in `scratch`. */
const demo = async (
  args: readonly string[],
  onOutput: (child: ChildProcess, stdout: string) => void = () => {},
): Promise<Ended> => {
  const env = { ...process.env, TMPDIR: scratch, TEMP: scratch, CI: "true" };
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    onOutput(child, stdout);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, stdout, stderr };
};

const reportOf = ({ stdout, stderr, code }: Ended): DemoReport => {
  const report = JSON.parse(stdout) as DemoReport; // checked field by field by the tests
  expect({ code, stderr, failed: failedSteps(report) }).toEqual({ code: 0, stderr: "", failed: [] });
  expect(report.ok).toBe(true);
  return report;
};

const failedSteps = ({ stories }: DemoReport): unknown[] => stories.flatMap(({ steps }) => steps.filter(({ ok }) => !ok));

/** What follows from whether the ack was in the store when its process was dead. */
const expectConsistent = ({ killAt, outcome, steps }: StoryReport): void => {
  const leaves = killAt === null ? "unsettled" : KILLS[killAt].leaves;
  if (leaves !== "either") expect(outcome.ackLanded).toBe(leaves === "settled");
  expect(outcome.redelivery?.attempt ?? null).toBe(outcome.ackLanded ? null : 2);
  if (outcome.redelivery !== null) expect(outcome.redelivery.token).toBeGreaterThan(outcome.redelivery.victimToken);
  expect(outcome.lateAck?.code ?? null).toBe(killAt === null ? null : "stale_lease");
  expect(outcome.lag).toBe(0);
  expect(steps.every((step) => step.ok && step.detail !== "" && step.ms >= 0 && step.expected.length > 0)).toBe(true);
};

describe("the demo", () => {
  it("by default kills a process right before its ack, and a thread, and leaves nothing behind", async () => {
    const { code, stdout, stderr } = await demo([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("SIGKILL with the work done, right before the ack");
    expect(stdout).toMatch(/the same event .*: attempt 2/);
    expect(stdout).toContain("refused, stale_lease (reclaimed); lag still 3");
    expect(stdout).toContain("A worker thread dies inside its handler");
    expect(stdout).not.toContain("✘");
    expect(stdout, "is plain when piped, also under CI").not.toContain("\u001b");
    expect(readdirSync(scratch)).toEqual([]);
  });

  it.each(KILL_POINTS)("killed %s, is consistent", async (point) => {
    const report = reportOf(await demo(["--kill-at", point, "--json"]));
    expect(report.stories.map(({ killed, killAt }) => ({ killed, killAt }))).toEqual([
      { killed: "process", killAt: point },
      { killed: "thread", killAt: null },
    ]);
    for (const story of report.stories) expectConsistent(story);
  });

  it("kills at every point with --kill-at all", async () => {
    const report = reportOf(await demo(["--kill-at", "all", "--json"]));
    expect(report.stories.map(({ killAt }) => killAt)).toEqual([...KILL_POINTS, null]);
    for (const story of report.stories) expectConsistent(story);
    expect(readdirSync(scratch)).toEqual([]);
  });

  it("prints a table with one row for each point", async () => {
    const { code, stdout } = await demo(["--kill-at", "all"]);
    expect(code).toBe(0);
    const rows = stdout.split("\n").filter((line) => line.startsWith("│") && line.includes("✔"));
    expect(rows).toHaveLength(KILL_POINTS.length + 1);
    expect(stdout).not.toContain("\u001b");
  });

  it("waits for a real lease to end with --clock real", async () => {
    const report = reportOf(await demo(["--clock", "real", "--json"]));
    const [story] = report.stories;
    expect(report.clock).toBe("real");
    expect(story?.steps.find(({ name }) => name === "expire")?.ms).toBeGreaterThanOrEqual(1_500);
  });

  // a measured time, so a busy machine gets another try
  it("sees a dead thread's event again within 100 ms", { retry: 4 }, async () => {
    const thread = reportOf(await demo(["--json"])).stories.at(-1);
    expect(thread?.outcome.redelivery?.afterMs).toBeLessThanOrEqual(100);
  });

  it("keeps its file with --keep, and says where it is", async () => {
    const { code, stdout } = await demo(["--keep"]);
    const [directory] = readdirSync(scratch);
    expect(code).toBe(0);
    expect(stdout).toContain(join(scratch, directory ?? "?", "events.db"));
  });

  it("clears its streams from a store that it is given", async () => {
    const store = `sqlite:${join(scratch, "mine.db")}`;
    reportOf(await demo(["--store", store, "--json"]));
    const { Rheo } = await import("@rheo/core");
    const rheo = await Rheo.open(store);
    expect(await rheo.listStreams()).toEqual([]);
    await rheo.close();
  });

  it("kills its children and removes its files on Ctrl-C", async () => {
    const { code, stdout } = await demo(
      ["--clock", "real"],
      (child, output) => output.includes("✔ neighbours") && child.kill("SIGINT"),
    );
    const pids = [...stdout.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
    expect(code).toBe(130);
    expect(stdout).not.toContain("✘");
    expect(pids).toHaveLength(2);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(readdirSync(scratch)).toEqual([]);
  });
});

describe("usage", () => {
  it("explains why a store in memory will not do", async () => {
    const { code, stdout, stderr } = await demo(["--store", "memory:"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("lives in the memory of one process");
  });

  it.each([[["--kill-at", "nowhere"]], [["--clock", "sundial"]], [["--store", "nothing:"]], [["--unknown"]], [["excess"]]])(
    "refuses %j with exit code 2",
    async (args) => {
      const { code, stdout, stderr } = await demo(args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).not.toBe("");
    },
  );

  it("documents every kill point, the JSON document and the exit codes in --help", async () => {
    const { code, stdout } = await demo(["--help"]);
    expect(code).toBe(0);
    for (const word of [...KILL_POINTS, "stories", "redelivery", "Exit codes"]) expect(stdout).toContain(word);
  });
});
