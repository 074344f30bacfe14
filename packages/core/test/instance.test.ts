import { execFile } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { FrozenClock, Rheo, RheoError } from "@rheo/core";
import { memory } from "@rheo/memory";
import { expect, test } from "vitest";

test("instances are named and share nothing but a store that both were given", async () => {
  const shared = memory();
  await using a = await Rheo.open({ backend: shared, name: "a" });
  await using b = await Rheo.open({ backend: shared, name: "b" });
  await using other = await Rheo.open("memory:");
  await a.createStream("s");
  expect(await b.streamInfo("s")).toMatchObject({ name: "s" });
  await expect(other.streamInfo("s")).rejects.toMatchObject({ code: "stream_not_found" });
  expect([a.name, b.name, other.name]).toEqual(["a", "b", "main"]);
});

test("a store URL that names no package, or one that is not installed, says what to do", async () => {
  await expect(Rheo.open("mysql://x")).rejects.toMatchObject({ code: "invalid_option" });
  // a core that lies alone, as in a project of a user
  const folder = mkdtempSync(join(tmpdir(), "rheo-alone-"));
  try {
    cpSync(fileURLToPath(new URL("../dist", import.meta.url)), join(folder, "dist"), { recursive: true });
    cpSync(dirname(createRequire(import.meta.url).resolve("eventemitter3")), join(folder, "node_modules/eventemitter3"), {
      recursive: true,
    });
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(
      join(folder, "open.js"),
      'import { Rheo } from "./dist/index.js"; await Rheo.open("mongodb://x").catch((error) => console.log(error.code, error.message));',
    );
    const { stdout } = await promisify(execFile)(process.execPath, ["open.js"], { cwd: folder });
    expect(stdout).toMatch(/^unsupported .*npm install @rheo\/mongo/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each([
  [{}],
  [{ backend: {} }],
  [{ backend: memory(), clok: 1 }],
  [{ backend: memory(), maxEventBytes: 17 * 1024 * 1024 }],
  [{ backend: memory(), clock: {} }],
])("options %# are refused", async (options) => {
  const failure = await Rheo.open(options as never).catch((error: unknown) => error);
  expect(RheoError.is(failure, "invalid_option")).toBe(true);
});

test("events reach listeners and diagnostics channels; a listener that throws harms nobody (B57)", async () => {
  await using rheo = await Rheo.open({ backend: memory(), clock: new FrozenClock() });
  const heard: unknown[] = [];
  const published: unknown[] = [];
  const warned = new Promise((resolve) => process.once("warning", resolve));
  subscribe("rheo:event.appended", (message) => published.push(message));
  rheo.events.on("event.appended", () => {
    throw new Error("mine");
  });
  rheo.events.on("event.appended", (event) => heard.push([event.stream, event.count, event.duplicates]));
  await rheo.createStream("s");
  await rheo.appendMany("s", [
    { id: "x", payload: 1 },
    { id: "x", payload: 1 },
  ]);
  expect(heard).toEqual([["s", 1, 1]]);
  expect(published).toMatchObject([{ type: "event.appended", instance: "main", stream: "s" }]);
  expect(String(await warned)).toContain("mine");
});

test("fetch with waitMs gets what is appended meanwhile; a signal ends the wait", async () => {
  await using rheo = await Rheo.open({ backend: memory() });
  await rheo.createStream("s");
  await rheo.createGroup("s", "g");
  const waiting = rheo.fetch("s", "g", { waitMs: 60_000 });
  await rheo.append("s", { payload: "late" });
  expect((await waiting).map((lease) => lease.event.payload)).toEqual(["late"]);
  const abort = new AbortController();
  const aborted = rheo.fetch("s", "g", { waitMs: 60_000, signal: abort.signal });
  abort.abort();
  await expect(aborted).rejects.toMatchObject({ code: "aborted" });
});

test("whenCaughtUp resolves when the last delivery is settled, and rejects when the instance closes", async () => {
  const rheo = await Rheo.open({ backend: memory() });
  await rheo.createStream("s");
  await rheo.createGroup("s", "g");
  await rheo.append("s", { payload: 1 });
  const caughtUp = rheo.whenCaughtUp("s", "g");
  const [lease] = await rheo.fetch("s", "g");
  if (lease !== undefined) await rheo.ack(lease);
  await caughtUp;
  await rheo.append("s", { payload: 2 });
  const never = rheo.whenCaughtUp("s", "g");
  await rheo.close();
  await expect(never).rejects.toMatchObject({ code: "closed" });
});
