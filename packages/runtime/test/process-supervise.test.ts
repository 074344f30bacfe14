import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { superviseProcesses } from "@rheo/runtime";
import { describe, expect, test } from "vitest";
import { appendJobs, configOf, isAlive, openPlace, type Place, Watched } from "./process-apps.ts";
import { fixture, until } from "./store.ts";

const lag = async ({ rheo }: Place): Promise<number> => (await rheo.lag("jobs", "workers")).lag;
const caughtUp = (place: Place): Promise<void> => until("all is settled", async () => (await lag(place)) === 0);
const deadLetters = ({ rheo }: Place): Promise<unknown> => rheo.deadLetters("jobs", "workers");
const attempts = async (file: string): Promise<number[]> =>
  (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => Number(line.split(" ")[1]));
const times = (count: number, payload: object): object[] => Array.from({ length: count }, () => payload);

describe("processes at work", () => {
  test("run the same config, share its work, and show their trees", async () => {
    await using place = await openPlace(times(40, { do: "wait", ms: 5 }));
    await using app = await Watched.start({ config: configOf({ store: place.store }), processes: 2 });
    await caughtUp(place);
    expect(app.parent.state).toBe("running");
    await until("both have told of their tree", () => app.parent.children().every(({ children }) => children.length === 2));
    expect(app.parent.children().map(({ id, kind, state, restarts }) => [id, kind, state, restarts])).toEqual([
      ["process-1", "process", "running", 0],
      ["process-2", "process", "running", 0],
    ]);
    expect(app.parent.children()[1]?.children.map(({ id, state }) => [id, state])).toEqual([
      ["pool", "running"],
      ["jobs/workers", "running"],
    ]);
    expect(app.parent.children().every(({ details }) => (details.rssBytes ?? 0) > 1_000_000)).toBe(true);
  });

  test("know their number", async () => {
    await using place = await openPlace();
    await using _ = await Watched.start({ config: configOf({ store: place.store }), processes: 2 });
    await until("each has had one", async () => {
      await appendJobs(place.rheo, [{ do: "number" }, { do: "number" }]);
      const reasons = (await place.rheo.deadLetters("jobs", "workers")).map(({ reason }) => reason);
      return reasons.includes("process 1 of 2") && reasons.includes("process 2 of 2");
    });
  });

  test("write lines that come out whole, each with the process it is from", async () => {
    await using place = await openPlace(times(20, { do: "print", lines: ["a".repeat(5_000), "b".repeat(5_000)] }));
    await using app = await Watched.start({ config: configOf({ store: place.store, execution: "inline" }), processes: 2 });
    await caughtUp(place);
    const long = (): string[] => app.lines.filter(({ text }) => text.length > 1_000).map(({ text }) => text);
    await until("all lines have come", () => long().length === 40);
    expect(long().every((text) => /^(a{5000}|b{5000})$/.test(text))).toBe(true);
    expect(app.lines.every(({ child, pid, stream }) => /^process-[12]$/.test(child) && pid > 0 && stream === "stdout")).toBe(
      true,
    );
  });

  test("of a store that cannot be reached yet wait for it", async () => {
    await using place = await openPlace([{ do: "ack" }]);
    const config = join(place.folder, "app.config.mjs");
    const flag = join(place.folder, "there");
    await writeFile(
      config,
      `import { existsSync } from "node:fs";
import { Rheo, RheoError } from ${JSON.stringify(import.meta.resolve("@rheo/core"))};
const base = (await import(${JSON.stringify(configOf({}).href)})).default;
const store = () => {
  if (!existsSync(${JSON.stringify(flag)})) throw new RheoError("unavailable", "nobody answers");
  return Rheo.open(${JSON.stringify(place.store)});
};
export default { ...base, store };`,
    );
    await using app = await Watched.start({ config, processes: 1 });
    expect(app.events.find(({ type }) => type === "child.waiting")).toMatchObject({
      reason: expect.stringMatching("nobody answers"),
    });
    await writeFile(flag, "");
    await caughtUp(place);
    expect([app.count("child.failed"), app.count("child.ready")]).toEqual([0, 1]);
  });
});

describe("a process that dies", () => {
  test("SIGKILL in the middle of its work: what it held is taken over, it is replaced, and nothing is lost", async () => {
    await using place = await openPlace();
    await using app = await Watched.start({ config: configOf({ store: place.store, leaseMs: 500 }), processes: 2 });
    await until("both hold leases", async () => {
      if ((await lag(place)) < 30) await appendJobs(place.rheo, times(30, { do: "wait", ms: 20 }));
      const { members } = await place.rheo.groupInfo("jobs", "workers");
      return members.filter(({ leases }) => leases > 0).length === 2;
    });
    const [victim = 0] = app.pids();
    process.kill(victim, "SIGKILL");
    await caughtUp(place);
    await until("all run again", () => app.allReady());
    const failed = app.events.find(({ type }) => type === "child.failed");
    expect(failed).toMatchObject({ child: "process-1", pid: victim, error: { message: "It was ended by SIGKILL." } });
    expect([app.pids()[0] === victim, app.parent.children()[0]?.restarts, await deadLetters(place)]).toEqual([false, 1, []]);
  });

  test("B50 T5 an event that kills its process ends in one dead letter, and the rest is acked", async () => {
    await using place = await openPlace([...times(30, { do: "ack" }), { do: "killProcess" }, ...times(30, { do: "ack" })]);
    await using app = await Watched.start({
      config: configOf({ store: place.store, execution: "inline", leaseMs: 200 }),
      processes: 2,
      maxRestarts: 50,
    });
    await caughtUp(place);
    const letters = await place.rheo.deadLetters("jobs", "workers");
    expect(letters.map(({ event }) => event?.payload)).toEqual([{ do: "killProcess" }]);
    expect(app.count("child.failed")).toBeGreaterThan(0);
  });

  test("whose event loop is blocked is found, killed and replaced", async () => {
    await using place = await openPlace([{ do: "spinOnce", ms: 600_000 }]);
    await using app = await Watched.start({
      config: configOf({ store: place.store, execution: "inline", leaseMs: 500 }),
      processes: 1,
      hangMs: 500,
    });
    await caughtUp(place);
    expect(app.events.find(({ type }) => type === "child.unresponsive")).toMatchObject({ child: "process-1" });
    expect(await deadLetters(place)).toEqual([]);
  });

  test("SIGSTOP: it is found, killed and replaced", async () => {
    await using place = await openPlace();
    await using app = await Watched.start({ config: configOf({ store: place.store }), processes: 2, hangMs: 500 });
    const [, stopped = 0] = app.pids();
    process.kill(stopped, "SIGSTOP");
    await until("it is replaced", () => app.allReady() && app.pids()[1] !== stopped);
    expect([isAlive(stopped), app.count("child.unresponsive")]).toEqual([false, 1]);
  });

  test("in its start every time is given up after its restarts, and its owner is told why", async () => {
    await using place = await openPlace();
    const config = configOf({ store: place.store, exitAtStart: 1 });
    await using app = await Watched.start({ config, processes: 2, maxRestarts: 2 });
    expect((await app.parent.failure).message).toBe("It exited with code 7.");
    expect([app.parent.state, app.parent.children()[0]?.state, app.count("child.started")]).toEqual(["failed", "failed", 3]);
  });

  test("whose start hangs is killed", async () => {
    await using place = await openPlace();
    const config = configOf({ store: place.store, spinAtStart: 1 });
    await using app = await Watched.start({ config, processes: 1, maxRestarts: 0, startMs: 1_000 });
    expect((await app.parent.failure).message).toBe("It made no progress in its start for 1000 ms.");
  });

  test("B45 whose consumer is given up says which, and is replaced until it is given up itself", async () => {
    await using place = await openPlace();
    const config = configOf({ store: place.store, stream: "nowhere" });
    await using app = await Watched.start({ config, processes: 1, maxRestarts: 0 });
    expect((await app.parent.failure).message).toMatch(/Stream "nowhere" does not exist/);
  });
});

describe("a rolling restart", () => {
  test("under load charges no event, loses none, and never has one process less that is ready", async () => {
    await using place = await openPlace();
    const log = join(place.folder, "log");
    await using app = await Watched.start({ config: configOf({ store: place.store }), processes: 3 });
    await until("all run", () => app.allReady());
    const before = app.pids();
    let least = 3;
    const watch = setInterval(() => {
      least = Math.min(least, app.parent.children().filter(({ state }) => state === "running").length);
    }, 1);
    app.parent.restart();
    let appended = 0;
    while (app.count("restart.finished") === 0) {
      await appendJobs(place.rheo, times(10, { do: "wait", ms: 2, log }));
      appended += 10;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    clearInterval(watch);
    await caughtUp(place);
    const started = await attempts(log);
    expect([started.length, started.every((attempt) => attempt === 1)]).toEqual([appended, true]);
    expect(least).toBe(3);
    expect(app.pids().filter((pid) => before.includes(pid))).toEqual([]);
    expect(app.parent.children().map(({ restarts }) => restarts)).toEqual([0, 0, 0]);
  });

  test("reads the config anew; one that is broken is refused, and the old processes stay", async () => {
    await using place = await openPlace();
    const config = join(place.folder, "app.config.mjs");
    await writeFile(config, `export { default } from ${JSON.stringify(configOf({ store: place.store }).href)};`);
    await using app = await Watched.start({ config, processes: 2 });
    await until("all run", () => app.allReady());
    const before = app.pids();
    await writeFile(config, "export default { consumers: [] };");
    app.parent.restart();
    await until("it is abandoned", () => app.count("restart.abandoned") === 1);
    expect(app.events.find(({ type }) => type === "restart.abandoned")).toMatchObject({
      error: { message: expect.stringMatching(/consumers is a list of at least one/) },
    });
    expect(app.pids()).toEqual(before);
    await appendJobs(place.rheo, [{ do: "ack" }]);
    await caughtUp(place);
  });

  test("SIGTERM to one child alone replaces it: the new one first", async () => {
    await using place = await openPlace();
    await using app = await Watched.start({ config: configOf({ store: place.store }), processes: 2 });
    await until("all run", () => app.allReady());
    const [one = 0, other] = app.pids();
    process.kill(one, "SIGTERM");
    await until("it has drained", () => app.count("child.stopped") === 1);
    expect(app.events.find(({ type }) => type === "child.stopped")).toMatchObject({ pid: one, drained: true });
    expect([app.allReady(), app.pids()[0] === one, app.pids()[1]]).toEqual([true, false, other]);
    expect(app.count("child.failed")).toBe(0);
  });
});

describe("the end", () => {
  test("a drain lets handlers finish, settles, and leaves no lease and no process", async () => {
    await using place = await openPlace();
    await using app = await Watched.start({ config: configOf({ store: place.store }), processes: 2 });
    const log = join(place.folder, "log");
    await appendJobs(place.rheo, times(8, { do: "wait", ms: 300, log }));
    await until("a handler has begun", () => existsSync(log));
    const pids = app.pids();
    const drained = app.parent.drain();
    expect(app.parent.state).toBe("draining");
    expect(await drained).toBe(true);
    expect([app.parent.state, await place.rheo.leases("jobs", "workers"), pids.filter(isAlive)]).toEqual(["drained", [], []]);
    const begun = new Set((await readFile(log, "utf8")).split("\n").map((line) => line.split(" ")[0]));
    for (const { id, sequence } of await place.rheo.query("jobs")) {
      const history = await place.rheo.eventHistory("jobs", id);
      expect([sequence, history?.groups[0]?.state]).toEqual([sequence, begun.has(String(sequence)) ? "acked" : "pending"]);
    }
    expect(app.parent.children().map(({ state }) => state)).toEqual(["stopped", "stopped"]);
  });

  test("what outlives the drain is aborted and given back uncharged, and the drain says so", async () => {
    await using place = await openPlace();
    const log = join(place.folder, "log");
    await appendJobs(place.rheo, [{ do: "untilAborted", log }]);
    await using app = await Watched.start({ config: configOf({ store: place.store, execution: "inline" }), processes: 1 });
    await until("it has begun", () => existsSync(log));
    expect(await app.parent.drain({ timeoutMs: 100 })).toBe(false);
    expect(await place.rheo.leases("jobs", "workers")).toEqual([]);
    const [holder] = await place.rheo.explainLag("jobs", "workers");
    expect(holder).toMatchObject({ state: "pending", attempt: 0 });
  });

  test("a process that does not heed its drain is killed", async () => {
    await using place = await openPlace();
    const log = join(place.folder, "log");
    await appendJobs(place.rheo, [{ do: "spinOnce", ms: 600_000, log }]);
    await using app = await Watched.start({
      config: configOf({ store: place.store, execution: "inline" }),
      processes: 1,
      hangMs: 60_000,
    });
    await until("it is blocked", () => existsSync(log));
    const [pid = 0] = app.pids();
    expect([await app.parent.drain({ timeoutMs: 0 }), isAlive(pid)]).toEqual([false, false]);
  });

  test("a stop during the start leaves nothing running", async () => {
    await using place = await openPlace();
    const app = new Watched({ config: configOf({ store: place.store }), processes: 3 });
    const started = app.parent.start();
    await app.parent.stop();
    await started;
    const pids = app.events.flatMap((event) => ("pid" in event ? [event.pid] : []));
    expect([app.parent.state, pids.filter(isAlive)]).toEqual(["stopped", []]);
  });

  test("stop twice, and stop after drain, are one", async () => {
    await using place = await openPlace();
    const app = await Watched.start({ config: configOf({ store: place.store }), processes: 1 });
    await Promise.all([app.parent.stop(), app.parent.drain(), app.parent.stop()]);
    expect([app.parent.state, app.count("child.stopped")]).toEqual(["stopped", 1]);
  });

  test("B77 afterwards nothing keeps a program alive", async () => {
    await using place = await openPlace();
    const program = join(place.folder, "program.mjs");
    await writeFile(
      program,
      `import { superviseProcesses } from ${JSON.stringify(import.meta.resolve("@rheo/runtime"))};
const app = await superviseProcesses({ config: new URL(${JSON.stringify(configOf({ store: place.store }).href)}), processes: 2 });
await app.stop();
console.log("stopped");`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 30_000 });
    expect(stdout.trim().split("\n").at(-1)).toBe("stopped"); // and it ended by itself, or the time limit had made this throw
  });
});

describe("a config that cannot be run", () => {
  const refused = async (options: Parameters<typeof superviseProcesses>[0]): Promise<string> => {
    const error: unknown = await superviseProcesses(options).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ name: "RheoError", code: "invalid_option" });
    return error instanceof Error ? error.message : "";
  };

  test("is told at once, with its fault, and nothing is left running", async () => {
    await using place = await openPlace();
    const { store } = place;
    expect(await refused({ config: configOf({ store, unknown: 1 }), processes: 2 })).toMatch(/unknown option "treads"/);
    expect(await refused({ config: configOf({ store, throwAtStart: 1 }), processes: 2 })).toMatch(/thrown while loading/);
    expect(await refused({ config: configOf({}), processes: 2 })).toMatch(/There is no store/);
    expect(await refused({ config: configOf({ store: "memory:" }), processes: 2 })).toMatch(/belongs to one process/);
    expect(await refused({ config: configOf({ store: "sqlight:x" }), processes: 2 })).toMatch(/A store URL starts with one of/);
    expect(await refused({ config: join(place.folder, "nothing.mjs") })).toMatch(/There is no .*nothing\.mjs/);
    await copyFile(fixture("empty.mjs"), join(place.folder, "empty.mjs"));
    expect(await refused({ config: join(place.folder, "empty.mjs") })).toMatch(/no default export/);
  });

  test("options of its own are checked before anything is started", async () => {
    const config = configOf({});
    expect(await refused({ config, processes: 0 })).toMatch(/processes is a whole number from 1 to 256/);
    expect(await refused({ config, hangMs: 100 })).toMatch(/hangMs is a whole number from 2000/);
    expect(await refused({ config, ...{ procceses: 2 } })).toMatch(/unknown option "procceses"/);
    expect(await refused({ config: "" })).toMatch(/config is the path or file URL/);
  });
});
