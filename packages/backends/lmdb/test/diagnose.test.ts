import type { Backend, Diagnosis } from "@rheo/core";
import { fill } from "@rheo/testing/internal";
import { open } from "lmdb";
import { afterEach, expect, test } from "vitest";
import { newDirectory, openBackend } from "./fixtures/store.ts";

const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const start = async (durability: "sync" | "relaxed", path = newDirectory()): Promise<Backend> => {
  const backend = await openBackend({ path, durability });
  opened.push(backend);
  return backend;
};

const found = async (backend: Backend, check: string): Promise<Diagnosis | undefined> =>
  (await backend.diagnose?.())?.find((one) => one.check === check);

test("all is well, and what is kept is said", async () => {
  for (const durability of ["sync", "relaxed"] as const) {
    const backend = await start(durability);
    await fill(backend, 10);
    const all = (await backend.diagnose?.()) ?? [];
    expect(all.map(({ check }) => check)).toEqual(["schema", "durability", "file system", "size", "readers", "disk", "clock"]);
    for (const { status, message } of all) expect(status, message).toBe("ok");
    expect((await found(backend, "durability"))?.message).toContain(durability === "sync" ? "on the disk" : "power cut may take");
  }
});

test("readers that are not its own are a warning", async () => {
  const path = newDirectory();
  const backend = await start("relaxed", path);
  await fill(backend, 10);
  const other = open({ path, noSubdir: false, keyEncoding: "binary", overlappingSync: false, noSync: true });
  const held = [];
  for (let times = 0; times < 4; times++) {
    await fill(backend, 1);
    await backend.append([]);
    other.resetReadTxn();
    held.push(other.useReadTransaction());
    await backend.createStream(`s${times}`, 1);
  }
  expect(await found(backend, "readers")).toMatchObject({ status: "warn", fix: expect.stringContaining("End it") });
  for (const transaction of held) transaction.done();
  await other.close();
});
