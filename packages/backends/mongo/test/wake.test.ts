import type { Backend } from "@rheo/core";
import { startMongo } from "@rheo/testing/servers";
import { afterAll, afterEach, expect, test } from "vitest";
import { fill, GROUP, insist, openBackend, request, STREAM, watch } from "./fixtures/scene.ts";
import { newDatabase } from "./fixtures/store.ts";

const server = await startMongo();
afterAll(() => server.stop());

const opened: Backend[] = [];
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});

const open = async (database: string, notify = true): Promise<Backend> => {
  const backend = await openBackend({ url: server.url, database, notify, connectTimeoutMs: 2_000 });
  opened.push(backend);
  return backend;
};

/** Calls until somebody was told of the stream by a change: when a listener is ready only it knows. */
const until = async (told: () => boolean, call: () => Promise<unknown>): Promise<void> => {
  for (let left = 60; !told(); left--) {
    if (left === 0) throw new Error("nobody was woken");
    await call();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

test("an append wakes listeners of its own process at once, and of others by the change stream, with the stream", async () => {
  const database = newDatabase();
  const backend = await open(database);
  await fill(backend, 0);
  const own = watch(backend);
  const woken = own.next();
  await backend.append([request(1)]);
  expect(await woken).toBe(STREAM);
  const other = await open(database);
  await other.getStream(STREAM);
  const { streams } = watch(other);
  await until(
    () => streams.includes(STREAM),
    () => backend.append([request(1)]),
  );
  expect(other.hearsAll?.()).toBe(true);
});

test("a replay and a resumed group wake the members of other processes", async () => {
  const database = newDatabase();
  const backend = await open(database);
  await fill(backend, 3);
  const other = await open(database);
  await other.getStream(STREAM);
  const { streams } = watch(other);
  await until(
    () => streams.length > 0,
    () => backend.updateGroup(STREAM, GROUP, { paused: true }),
  );
  streams.length = 0;
  await until(
    () => streams.includes(STREAM),
    () => backend.reset(STREAM, GROUP, { kind: "earliest" }),
  );
});

test.skipIf(server.real)("a change stream that was cut is made again", async () => {
  const database = newDatabase();
  const backend = await open(database);
  await fill(backend, 0);
  const other = await open(database);
  await other.getStream(STREAM);
  const { streams } = watch(other);
  await until(
    () => streams.includes(STREAM),
    () => backend.append([request(1)]),
  );
  await server.kill();
  await server.restart();
  streams.length = 0;
  await until(
    () => streams.includes(STREAM),
    () => insist(() => backend.append([request(1)])),
  );
});

test("without notify only the own process is heard", async () => {
  const database = newDatabase();
  const backend = await open(database, false);
  await fill(backend, 0);
  const other = await open(database, false);
  const heard = watch(other).streams;
  const own = watch(backend);
  const woken = own.next();
  await backend.append([request(1)]);
  expect(await woken).toBe(STREAM);
  expect(heard).toEqual([]);
  expect(backend.capabilities.wakeups).toBe("process");
  expect(backend.hearsAll?.()).toBe(false);
});
