/** Faults of processes and threads that stand still or end at the wrong moment, with real ones. Named by their ids. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { Rheo } from "@rheo/core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { numbers, until } from "./corpus-stores.ts";

const LEASE_MS = 400;
/** Threads that are ended, one after another. */
const THREADS = 5;
const fixture = (name: string): string => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

let folder = "";
let files = 0;
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-corpus-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

interface Member {
  readonly child: ChildProcess;
  readonly lines: string[];
  readonly gate: string;
}

const startMember = (file: string): Member => {
  const gate = join(folder, `gate-${files}`);
  const child = spawn(process.execPath, [fixture("corpus-member.mjs"), file, gate], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  return { child, lines, gate };
};

const openPlace = async (): Promise<{ readonly rheo: Rheo; readonly file: string } & AsyncDisposable> => {
  const file = join(folder, `${++files}.db`);
  const rheo = await Rheo.open(`sqlite:${file}`);
  await rheo.createStream("s", { partitions: 1 });
  await rheo.createGroup("s", "g", { leaseMs: LEASE_MS, maxAttempts: 3 });
  await rheo.append("s", { payload: "work" });
  return { rheo, file, [Symbol.asyncDispose]: () => rheo.close() };
};

/** Waits until the lease of the only event has run out, by the store. */
const expired = (rheo: Rheo): Promise<void> =>
  until("its lease ran out", async () => (await rheo.groupInfo("s", "g")).inflight === 0);

describe("a member that stood still (SIGSTOP) until its lease had run out", () => {
  test("B31 whose work was taken over: its signal aborts when it wakes, and nothing of it is acked", async () => {
    await using place = await openPlace();
    const { child, lines } = startMember(place.file);
    await until("it works", () => lines.includes("begins 1 attempt 1"));
    child.kill("SIGSTOP");
    await expired(place.rheo);
    const [taken] = await place.rheo.fetch("s", "g", { consumerId: "sibling", leaseMs: 60_000 });
    expect(taken).toMatchObject({ sequence: 1, attempt: 2 });
    child.kill("SIGCONT");
    // the lines come one after the other
    await until("it knows", () => lines.includes("aborted 1") && lines.some((line) => line.startsWith("lost 1")));
    expect(lines).toContain("lost 1 reclaimed");
    expect((await place.rheo.lag("s", "g")).lag).toBe(1);
    if (taken !== undefined) await place.rheo.ack(taken);
    expect((await place.rheo.lag("s", "g")).lag).toBe(0);
    expect(lines.filter((line) => line.startsWith("acked"))).toEqual([]);
  });

  test("B32 alone: it goes on by itself, its ack counts, and nothing is dead", async () => {
    await using place = await openPlace();
    const { child, lines, gate } = startMember(place.file);
    await until("it works", () => lines.includes("begins 1 attempt 1"));
    child.kill("SIGSTOP");
    await expired(place.rheo);
    child.kill("SIGCONT");
    await writeFile(gate, "");
    await until("it is acked", () => lines.includes("acked 1"));
    await place.rheo.append("s", { payload: "more" });
    await until("so is what comes after", async () => (await place.rheo.lag("s", "g")).lag === 0);
    expect((await place.rheo.groupInfo("s", "g")).deadLetters).toBe(0);
  });
});

describe("the end of threads and processes in the middle of writes", () => {
  // one at a time: under contention the default driver may end the process instead, see B122 in docs/bug-corpus.md
  test("B122 a thread that is ended again and again while it writes: nothing crashes, and nothing it was told of is missing", async () => {
    await using place = await openPlace();
    const counts = new SharedArrayBuffer(4 * THREADS);
    const acknowledged = new Int32Array(counts);
    for (const index of acknowledged.keys()) {
      const thread = new Worker(fixture("corpus-thread.mjs"), {
        workerData: { file: place.file, name: `t${index}`, counts, index },
      });
      const failures: unknown[] = [];
      thread.on("error", (error) => failures.push(error));
      await until("it has written", () => Atomics.load(acknowledged, index) >= 3 || failures.length > 0);
      await thread.terminate();
      expect(failures).toEqual([]);
    }
    const again = await Rheo.open(`sqlite:${place.file}`);
    for (const index of acknowledged.keys())
      for (const n of numbers(Atomics.load(acknowledged, index)))
        expect(await again.getEvent("s", `t${index}-${n - 1}`)).not.toBeNull();
    await again.close();
  });

  for (const name of ["sqlite", "lmdb"]) {
    test.each(["exit", "close"])(
      `B122 a process that ends by %s with writes under way on ${name} ends cleanly, and loses nothing it told of`,
      async (how) => {
        const store = `${name}:${join(folder, `${++files}.${name}`)}`;
        let told = 0;
        for (const _ of numbers(3)) {
          const child = spawn(process.execPath, [fixture("corpus-exit.mjs"), store, how], {
            stdio: ["ignore", "pipe", "inherit"],
          });
          children.push(child);
          let text = "";
          child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
          const [code, signal] = await once(child, "close");
          expect([code, signal]).toEqual([0, null]);
          told += Number(text);
        }
        const rheo = await Rheo.open(store);
        expect(told).toBeGreaterThanOrEqual(3);
        expect((await rheo.streamInfo("s")).partitions[0]?.highWatermark ?? 0).toBeGreaterThanOrEqual(told);
        await rheo.close();
      },
    );
  }
});
