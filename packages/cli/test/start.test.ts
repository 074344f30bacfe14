import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ECHO_MS } from "@rheo/runtime/internal";
import { describe, expect, test } from "vitest";
import { isAlive, type Jobs, openJobs, starts, until } from "./jobs.ts";
import { fixturePath, RheoCommand } from "./rheo-command.ts";

const CONFIG = fixturePath("app.config.mjs");
const times = (count: number, payload: object): object[] => Array.from({ length: count }, () => payload);

const start = (jobs: Jobs, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): RheoCommand =>
  new RheoCommand(["start", CONFIG, "--store", jobs.store, ...args], { env });

describe("rheo start, in one process", () => {
  test("runs the consumers, says when they are ready, and drains on SIGTERM: exit 0", async () => {
    await using jobs = await openJobs(times(10, { do: "ack" }));
    await using rheo = await start(jobs).ready();
    await jobs.caughtUp();
    rheo.signal("SIGTERM");
    expect([await rheo.code, await jobs.leases()], rheo.stderr).toEqual([0, 0]);
    expect(rheo.stdout).toMatch(/^rheo \| ready: 1 process$/m);
  });

  test("a second signal forces: what runs is given back at once, uncharged, and it exits with 3", async () => {
    await using jobs = await openJobs([{ do: "untilAborted" }]);
    await using rheo = await start(jobs, ["--drain-timeout", "10m"]).ready();
    await jobs.begun(1);
    rheo.signal("SIGTERM");
    await until("it drains", () => rheo.stdout.includes("is draining"));
    await until("the second counts", () => {
      rheo.signal("SIGTERM");
      return rheo.stdout.includes("has stopped");
    });
    expect([await rheo.code, await jobs.leases()], rheo.stderr).toEqual([3, 0]);
    expect((await jobs.rheo.explainLag("jobs", "workers"))[0]).toMatchObject({ state: "pending", attempt: 0 });
  });

  test("a drain that runs out of time exits with 3", async () => {
    await using jobs = await openJobs([{ do: "untilAborted" }]);
    await using rheo = await start(jobs, ["--drain-timeout", "100ms"]).ready();
    await jobs.begun(1);
    rheo.signal("SIGINT");
    expect([await rheo.code, await jobs.leases()], rheo.stderr).toEqual([3, 0]);
  });

  test("a consumer that cannot go on ends it with 1, and says why", async () => {
    await using jobs = await openJobs();
    await using rheo = start(jobs, [], { TEST_STREAM: "nowhere" });
    expect(await rheo.code, rheo.stderr).toBe(1);
    expect(rheo.stderr).toMatch(/given up: Stream "nowhere" does not exist/);
  });

  test("SIGHUP says that it takes several processes, and changes nothing", async () => {
    await using jobs = await openJobs();
    await using rheo = await start(jobs).ready();
    rheo.signal("SIGHUP");
    await until("it says so", () => rheo.stderr.includes("--processes 2 or more"));
    await jobs.append({ do: "ack" });
    await jobs.caughtUp();
  });

  test("SIGTERM while the store is waited for ends it: exit 0", async () => {
    await using jobs = await openJobs();
    await using rheo = new RheoCommand(["start", CONFIG, "--store", "postgres://127.0.0.1:1/nobody"]);
    await until("it waits", () => rheo.stderr.includes("waits for the store"));
    rheo.signal("SIGTERM");
    expect([await rheo.code, await jobs.leases()], rheo.stderr).toEqual([0, 0]);
  });

  test("a TypeScript config runs, through Node or the tsx that is installed", async () => {
    await using jobs = await openJobs([{ do: "ack" }]);
    await using rheo = new RheoCommand(["start", fixturePath("typed.config.ts")], { env: { RHEO_STORE: jobs.store } });
    await jobs.caughtUp();
    rheo.signal("SIGTERM");
    expect(await rheo.code, rheo.stderr).toBe(0);
  });
});

describe("rheo start, in several processes", () => {
  test("SIGTERM drains all: exit 0, nothing is leased, no process is left", async () => {
    await using jobs = await openJobs(times(12, { do: "wait", ms: 200 }));
    await using rheo = await start(jobs, ["--processes", "3"]).ready();
    expect(rheo.stdout).toMatch(/^rheo \| ready: 3 processes$/m);
    const pids = rheo.readyPids;
    await jobs.begun(2);
    rheo.signal("SIGTERM");
    expect([await rheo.code, await jobs.leases(), pids.length, pids.filter(isAlive)], rheo.stderr).toEqual([0, 0, 3, []]);
  });

  test("B78 a signal to the whole group, as from Ctrl-C, is handled once", async () => {
    await using jobs = await openJobs(times(8, { do: "wait", ms: 300 }));
    await using rheo = await start(jobs, ["--processes", "2"]).ready();
    await jobs.begun(2);
    rheo.signalGroup("SIGINT");
    expect([await rheo.code, await jobs.leases()], rheo.stderr).toEqual([0, 0]);
    expect(rheo.stdout.match(/is draining/g)?.length).toBe(2);
    expect(rheo.stdout.match(/rheo \| draining/g)?.length).toBe(1);
  });

  test("SIGTERM to the whole group drains too, and starts nothing in the place of what ends", async () => {
    await using jobs = await openJobs(times(8, { do: "wait", ms: 300 }));
    await using rheo = await start(jobs, ["--processes", "2"]).ready();
    await jobs.begun(2);
    rheo.signalGroup("SIGTERM");
    expect([await rheo.code, await jobs.leases()], rheo.stderr).toEqual([0, 0]);
    expect(rheo.stdout.match(/ started, pid/g)?.length).toBe(2);
  });

  test("a signal that comes twice at once, as through npm, is one", async () => {
    await using jobs = await openJobs([{ do: "wait", ms: 1_500 }]);
    await using rheo = await start(jobs, ["--processes", "2"]).ready();
    await jobs.begun(1);
    rheo.signal("SIGINT");
    rheo.signal("SIGTERM");
    expect([await rheo.code, await jobs.lag()], rheo.stderr).toEqual([0, 0]);
  });

  test("a second signal forces: exit 3, what ran is given back uncharged", async () => {
    await using jobs = await openJobs(times(4, { do: "untilAborted" }));
    await using rheo = await start(jobs, ["--processes", "2", "--drain-timeout", "10m"], { TEST_EXECUTION: "inline" }).ready();
    await jobs.begun(2);
    rheo.signal("SIGTERM");
    await until("they drain", () => rheo.stdout.match(/is draining/g)?.length === 2);
    await until("the second counts", async () => {
      rheo.signal("SIGTERM");
      return (await jobs.leases()) === 0;
    });
    expect(await rheo.code, rheo.stderr).toBe(3);
    expect((await jobs.rheo.explainLag("jobs", "workers")).every(({ attempt }) => attempt === 0)).toBe(true);
  });

  test("a second signal also ends what heeds nothing", async () => {
    await using jobs = await openJobs(times(2, { do: "spin", ms: 600_000 }));
    await using rheo = await start(jobs, ["--processes", "2", "--drain-timeout", "10m", "--hang-timeout", "10m"], {
      TEST_EXECUTION: "inline",
    }).ready();
    await jobs.begun(1);
    const pids = rheo.readyPids;
    rheo.signal("SIGTERM");
    await until("it drains", () => rheo.stdout.includes("rheo | draining"));
    // one only: a signal that comes while Node is being taken down ends the process as if nobody listened
    await sleep(ECHO_MS + 100);
    rheo.signal("SIGTERM");
    expect(await rheo.code, rheo.stderr).toBe(3);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  });

  test("SIGHUP under load replaces all: no event is charged, none is lost", async () => {
    await using jobs = await openJobs();
    await using rheo = await start(jobs, ["--processes", "2"]).ready();
    const before = rheo.readyPids;
    let appended = 0;
    rheo.signal("SIGHUP");
    while (!rheo.stdout.includes("all processes are replaced")) {
      await jobs.append(...times(10, { do: "wait", ms: 2 }));
      appended += 10;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await jobs.caughtUp();
    const started = starts(jobs.log);
    expect([started.length, started.every((attempt) => attempt === 1)]).toEqual([appended, true]);
    expect([before.filter(isAlive), rheo.readyPids.filter((pid) => before.includes(pid))]).toEqual([[], []]);
  });

  test("a process that crashes in its start is tried again, then given up: exit 1", async () => {
    await using jobs = await openJobs();
    await using rheo = start(jobs, ["--processes", "2", "--max-restarts", "2"], { TEST_EXIT: "9" });
    expect(await rheo.code, rheo.stderr).toBe(1);
    expect(rheo.stderr.match(/started again in/g)?.length).toBe(2);
    expect(rheo.stderr).toMatch(/process-1 failed 3 times and is given up: It exited with code 9\./);
  });

  test("SIGKILL of the parent: its children drain and end by themselves", async () => {
    await using jobs = await openJobs(times(6, { do: "wait", ms: 200 }));
    await using rheo = await start(jobs, ["--processes", "2", "--drain-timeout", "5s"]).ready();
    const pids = rheo.readyPids;
    await jobs.begun(2);
    rheo.signal("SIGKILL");
    await until("they have ended", () => pids.every((pid) => !isAlive(pid)));
    expect([pids.length, await jobs.leases()]).toEqual([2, 0]);
  });

  test("SIGKILL of the parent: also a child whose event loop is blocked ends", async () => {
    await using jobs = await openJobs([{ do: "spin", ms: 600_000 }]);
    await using rheo = await start(jobs, ["--processes", "2", "--drain-timeout", "100ms"], { TEST_EXECUTION: "inline" }).ready();
    await jobs.begun(1);
    const pids = rheo.readyPids;
    rheo.signal("SIGKILL");
    await until("both have ended", () => pids.every((pid) => !isAlive(pid)));
  });
});

describe("what it prints", () => {
  test("lines of children have their process before them, and no colours in a pipe", async () => {
    await using jobs = await openJobs(times(20, { do: "print", line: "x".repeat(3_000) }));
    await using rheo = await start(jobs, ["--processes", "2"]).ready();
    await jobs.caughtUp();
    rheo.signal("SIGTERM");
    await rheo.code;
    const lines = rheo.stdout.trim().split("\n");
    expect(lines.filter((line) => /^process-[12]\/\d+ \| x{3000}$/.test(line)).length).toBe(20);
    expect(lines.every((line) => /^(rheo|process-[12]\/\d+) \| /.test(line))).toBe(true);
    expect(rheo.stdout.includes("\u001b")).toBe(false);
  });

  test("with --json a JSON object on each line", async () => {
    await using jobs = await openJobs([{ do: "print", line: "hello" }]);
    await using rheo = start(jobs, ["--processes", "2", "--json"]);
    await jobs.caughtUp();
    await until("it is ready", () => rheo.stdout.includes('"type":"ready"'));
    rheo.signal("SIGTERM");
    expect(await rheo.code, rheo.stderr).toBe(0);
    const printed = rheo.stdout
      .trim()
      .split("\n")
      .map((line): { type: string; text?: string } => JSON.parse(line));
    expect(printed.find(({ type, text }) => type === "line" && text === "hello")).toMatchObject({ stream: "stdout" });
    expect(printed.at(-1)).toMatchObject({ type: "supervisor.drained", drained: true });
  });

  test("the ready file is there as long as all consumers run", async () => {
    await using jobs = await openJobs([{ do: "wait", ms: 500 }]);
    const file = join(jobs.folder, "ready");
    await writeFile(file, "left by an earlier run\n");
    await using rheo = start(jobs, ["--processes", "2", "--ready-file", file]);
    await until("it is ready", () => rheo.stdout.includes("ready: 2"));
    expect(await readFile(file, "utf8")).toBe(`${rheo.pid}\n`);
    rheo.signal("SIGTERM");
    await rheo.code;
    await expect(readFile(file)).rejects.toThrow(/ENOENT/);
  });

  test("that nobody reads any more does not end it", async () => {
    await using jobs = await openJobs();
    await using rheo = await start(jobs, ["--processes", "2"]).ready();
    rheo.closeOutput();
    await jobs.append(...times(20, { do: "print", line: "into the void" }));
    await jobs.caughtUp();
    rheo.signal("SIGTERM");
    expect(await rheo.code, rheo.stderr).toBe(0);
  });
});
