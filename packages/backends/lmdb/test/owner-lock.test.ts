/** One owner at a time, and none for longer than it lives. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { lmdb } from "@rheo/lmdb";
import { fill, REAL_TIME, STREAM } from "@rheo/testing/internal";
import { expect, test } from "vitest";
import { ask, kill, startOwner } from "./fixtures/children.ts";
import { newDirectory, refusal } from "./fixtures/store.ts";

const ownerFiles = (directory: string): string[] => readdirSync(directory).filter((name) => name.startsWith("owner."));

test("another process is refused, and told which one has it and what to do", async () => {
  const directory = newDirectory();
  const owner = await startOwner(directory);
  expect(await ask(owner, "open")).toEqual({ opened: true });
  const error = await refusal(directory);
  expect(error.code).toBe("unavailable");
  expect(error.message).toMatch(new RegExp(`process ${owner.pid} has it open.*Stop that process`));
});

test("another handle in the same process is refused, and told to share the one", async () => {
  const directory = newDirectory();
  const backend = lmdb({ path: directory });
  await backend.open(REAL_TIME);
  expect((await refusal(directory)).message).toMatch(new RegExp(`this process \\(${process.pid}\\) has it open already`));
  await backend.close();
});

test("by another path it is the same store", async () => {
  const directory = newDirectory();
  const backend = lmdb({ path: directory });
  await backend.open(REAL_TIME);
  expect((await refusal(join(directory, "..", directory.split("/").at(-1) ?? ""))).code).toBe("unavailable");
  await backend.close();
});

test("the same object may be opened several times, and is closed with the last", async () => {
  const directory = newDirectory();
  const backend = lmdb({ path: directory });
  await backend.open(REAL_TIME);
  await backend.open(REAL_TIME);
  await backend.close();
  await backend.ping();
  expect((await refusal(directory)).code).toBe("unavailable");
  await backend.close();
  await expect(backend.ping()).rejects.toMatchObject({ code: "closed" });
  await backend.open(REAL_TIME);
  await backend.close();
});

test("a worker thread is refused, and makes nothing", async () => {
  const directory = newDirectory();
  const worker = new Worker(new URL("./fixtures/worker.mjs", import.meta.url), { workerData: directory });
  const answer = await new Promise((resolve) => worker.once("message", resolve));
  await worker.terminate();
  expect(answer).toMatchObject({ code: "unavailable", message: expect.stringContaining("main thread only") });
  expect(readdirSync(directory)).toEqual([]);
});

test("when its owner has closed it, the next one opens it", async () => {
  const directory = newDirectory();
  const owner = await startOwner(directory);
  await ask(owner, "open");
  await ask(owner, "close");
  const backend = lmdb({ path: directory });
  await backend.open(REAL_TIME);
  expect((await ask(owner, "open")).code).toBe("unavailable");
  await backend.close();
  expect(await ask(owner, "open")).toEqual({ opened: true });
});

test("a dead owner's lock is taken over, again and again, and nothing piles up", async () => {
  const directory = newDirectory();
  for (let round = 0; round < 3; round++) {
    const owner = await startOwner(directory);
    expect(await ask(owner, "open")).toEqual({ opened: true });
    await kill(owner);
  }
  const backend = lmdb({ path: directory });
  await backend.open(REAL_TIME);
  expect(ownerFiles(directory)).toHaveLength(2); // the lock, and the socket beside it
  await backend.close();
  expect(ownerFiles(directory)).toHaveLength(1);
});

test("a stopped owner still is the owner", async () => {
  const directory = newDirectory();
  const owner = await startOwner(directory);
  await ask(owner, "open");
  owner.kill("SIGSTOP");
  expect((await refusal(directory)).message).toContain(`process ${owner.pid} has it open`);
  owner.kill("SIGCONT");
});

/** Rewrites the lock of a dead owner. */
const forge = async (change: object): Promise<string> => {
  const directory = newDirectory();
  const owner = await startOwner(directory);
  await ask(owner, "open");
  await kill(owner);
  const file = join(directory, "owner.1");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...change }));
  return directory;
};

const opens = async (directory: string): Promise<void> => {
  const backend = lmdb({ path: directory });
  await backend.open(REAL_TIME);
  await backend.close();
};

test("a process that has a dead owner's id is not taken for it", async () => {
  await opens(await forge({ pid: process.ppid }));
  // where there are no sockets, by the time it started
  await opens(await forge({ pid: process.ppid, socket: null }));
  await opens(await forge({ pid: 2 ** 22 + 1, socket: null }));
});

test("without sockets a living process is told by its id and start", async () => {
  const directory = newDirectory();
  const owner = await startOwner(directory);
  await ask(owner, "open");
  const file = join(directory, "owner.1");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), socket: null }));
  expect((await refusal(directory)).message).toContain(`process ${owner.pid} has it open`);
});

test("a lock of an earlier boot is no lock", async () => {
  await opens(await forge({ pid: process.ppid, start: null, boot: "another", socket: null }));
});

test("in another container without sockets nobody can tell, so a person is asked", async () => {
  const error = await refusal(await forge({ space: "pid:[1]", socket: null }));
  expect(error.message).toMatch(/another container.*remove .*owner\.1/);
});

test("of several who take over at the same moment one wins, and keeps it", async () => {
  for (let round = 0; round < 2; round++) {
    const directory = newDirectory();
    const first = await startOwner(directory);
    await ask(first, "open");
    const takers = await Promise.all(Array.from({ length: 4 }, () => startOwner(directory)));
    await kill(first);
    const answers = await Promise.all(takers.map((taker) => ask(taker, "open")));
    expect(answers.filter(({ opened }) => opened)).toHaveLength(1);
    for (const { opened, code } of answers) if (!opened) expect(code).toBe("unavailable");
    expect((await refusal(directory)).code).toBe("unavailable");
    for (const taker of takers) await kill(taker);
  }
});

test("what a killed owner had acknowledged is there for the next one", async () => {
  const directory = newDirectory();
  const backend = lmdb({ path: directory });
  await backend.open(REAL_TIME);
  await fill(backend, 3);
  await backend.close();
  const owner = await startOwner(directory);
  await ask(owner, "open");
  await kill(owner);
  await backend.open(REAL_TIME);
  expect(await backend.watermarks(STREAM)).toEqual([{ partition: 0, firstSequence: 1, highWatermark: 3 }]);
  await backend.close();
});
