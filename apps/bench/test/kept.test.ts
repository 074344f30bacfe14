import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sample } from "../src/question.ts";
import { readFolder, readKept, writeKept } from "../src/results/file.ts";
import { EMPTY, merged, runsOf, type Session, withAnswer, withRemark, withSession } from "../src/results/kept.ts";
import { Ledger } from "../src/results/ledger.ts";

const ASKED = { question: "drain", system: "sqlite synchronous=full" };
const sample = (value: number, partitions = 1): Sample => ({
  question: "drain inline",
  system: "sqlite",
  settings: "synchronous=full",
  parameters: { partitions },
  unit: "events/s",
  value,
});

const SESSION: Session = {
  startedAt: "2026-01-01T00:00:00.000Z",
  endedAt: "2026-01-01T00:01:00.000Z",
  commit: "abc",
  command: "npm run bench --",
  machine: { platform: "linux", cpu: "a processor", cores: 2, memoryGiB: 8 },
  versions: { node: "v20" },
  noise: { loadBefore: 0, loadAfter: 1, stolen: null, calibrations: [100, 101] },
};

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rheo-bench-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("runs of the same question stand in one result, a value for each", () => {
  const once = withAnswer(EMPTY, "drain-inline", ASKED, [sample(10)]);
  const twice = withAnswer(once, "drain-inline", ASKED, [sample(12)]);
  expect(twice.results.map(({ values }) => values)).toEqual([[10, 12]]);
});

test("other parameters are another result", () => {
  const kept = withAnswer(EMPTY, "drain-inline", ASKED, [sample(10), sample(20, 4)]);
  expect(kept.results.map(({ parameters }) => parameters)).toEqual([{ partitions: 1 }, { partitions: 4 }]);
});

test("a question counts as asked even when it gave no numbers", () => {
  expect(runsOf(withAnswer(EMPTY, "drain-inline", ASKED, []), ASKED)).toBe(1);
});

test("a remark takes the place of what was said of the same before", () => {
  const remark = { ...ASKED, text: "failed: once" };
  const kept = withRemark(withRemark(EMPTY, remark), { ...remark, text: "failed: twice" });
  expect(kept.remarks.map(({ text }) => text)).toEqual(["failed: twice"]);
});

test("a session that goes on is one session", () => {
  const later = { ...SESSION, endedAt: "2026-01-01T00:02:00.000Z" };
  expect(withSession(withSession(EMPTY, SESSION), later).sessions).toEqual([later]);
});

test("what is written is read again as it was", async () => {
  const file = join(folder, "results.json");
  const kept = withSession(withAnswer(EMPTY, "drain-inline", ASKED, [sample(10)]), SESSION);
  await writeKept(file, kept);
  expect(await readKept(file)).toEqual(kept);
});

test("a file that is not there is empty", async () => {
  expect(await readKept(join(folder, "none.json"))).toEqual(EMPTY);
});

test("a file of something else is refused", async () => {
  const file = join(folder, "other.json");
  await writeFile(file, '{"name":"other"}');
  await expect(readKept(file)).rejects.toThrow("does not hold results of this bench");
});

test("a ledger leaves its answers in the file as they come, and the next one goes on from there", async () => {
  const file = join(folder, "results.json");
  const ledger = new Ledger(EMPTY, file, () => SESSION);
  ledger.answer("drain-inline", ASKED, [sample(10)]);
  await ledger.save();
  const next = new Ledger(await readKept(file), file, () => ({ ...SESSION, startedAt: "2026-01-02T00:00:00.000Z" }));
  expect(next.runs(ASKED)).toBe(1);
  expect(next.read().sessions).toHaveLength(2);
});

test("an answer takes the place of what was said of its absence", () => {
  const failed = withRemark(EMPTY, { ...ASKED, text: "failed: once" });
  expect(withAnswer(failed, "drain-inline", ASKED, [sample(10)]).remarks).toEqual([]);
});

test("a ledger that is sealed takes down nothing of what fails while the run is ended", async () => {
  const file = join(folder, "results.json");
  const ledger = new Ledger(EMPTY, file, () => SESSION);
  ledger.seal();
  ledger.remark({ ...ASKED, text: "failed: the server is gone" });
  await ledger.save();
  expect(ledger.read().remarks).toEqual([]);
  expect(await readdir(folder)).toEqual([]);
});

test("a save leaves no other file behind", async () => {
  await new Ledger(EMPTY, join(folder, "results.json"), () => SESSION).save();
  expect(await readdir(folder)).toEqual(["results.json"]);
});

test("the files of a folder are one, by name, and the same result of two is one", async () => {
  await writeKept(join(folder, "b.json"), withAnswer(EMPTY, "drain-inline", ASKED, [sample(2), sample(3, 4)]));
  await writeKept(join(folder, "a.json"), withAnswer(EMPTY, "drain-inline", ASKED, [sample(1)]));
  const all = merged(await readFolder(folder));
  expect(all.results.map(({ values }) => values)).toEqual([[1, 2], [3]]);
});
