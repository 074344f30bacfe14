import { startMongo } from "@rheo/testing/servers";
import { MongoClient } from "mongodb";
import { afterAll, expect, test } from "vitest";
import { openBackend } from "./fixtures/scene.ts";
import { newDatabase } from "./fixtures/store.ts";

const server = await startMongo();
const client = await new MongoClient(server.url).connect();
afterAll(async () => {
  await client.close();
  await server.stop();
});

test("what is well is said to be, and an index that is missing is named with how to make it again", async () => {
  const database = newDatabase();
  const backend = await openBackend({ client, database, notify: false });
  const well = (await backend.diagnose?.()) ?? [];
  expect(well.filter(({ status }) => status === "fail")).toEqual([]);
  expect(well.map(({ check }) => check)).toEqual(
    expect.arrayContaining(["version", "replica set", "clock", "transactions", "oplog", "indexes"]),
  );
  await client.db(database).collection("rheo_progress").dropIndex("due");
  const ill = (await backend.diagnose?.()) ?? [];
  expect(ill.filter(({ status }) => status === "fail")).toMatchObject([
    { check: "indexes", fix: expect.stringContaining("createIndex") },
  ]);
  await backend.close();
});

test.skipIf(server.real)("a clock that is off is told of, and leases go by the server's (F6)", async () => {
  await server.setTime({ offsetMs: 3_600_000 });
  const backend = await openBackend({ client, database: newDatabase(), notify: false });
  const found = (await backend.diagnose?.()) ?? [];
  expect(found.find(({ check }) => check === "clock")).toMatchObject({ status: "warn" });
  const { stream } = await backend.createStream("s", 1);
  expect(stream.createdAtMs - Date.now()).toBeGreaterThan(3_000_000);
  await server.setTime({ offsetMs: 0 });
  await backend.close();
});
