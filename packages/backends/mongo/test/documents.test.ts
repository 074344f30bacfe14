/** What stands in the collections: for people who search them, and for those who open the store after a crash. */
import { Rheo } from "@rheo/core";
import { mongo } from "@rheo/mongo";
import { startMongo } from "@rheo/testing/servers";
import { type Document, MongoClient } from "mongodb";
import { afterAll, expect, test } from "vitest";
import { fill, openBackend, request } from "./fixtures/scene.ts";
import { newDatabase } from "./fixtures/store.ts";

const server = await startMongo();
const client = await new MongoClient(server.url, { monitorCommands: true }).connect();
const sent: Document[] = [];
client.on("commandStarted", ({ command }) => void sent.push(command));
afterAll(async () => {
  await client.close();
  await server.stop();
});

test("content can be queried where BSON carries it, and comes back exactly where it does not", async () => {
  const database = newDatabase();
  const rheo = await Rheo.open({ backend: mongo({ client, database, notify: false }) });
  await rheo.createStream("s");
  const deep = JSON.parse(`${"[".repeat(95)}1${"]".repeat(95)}`) as unknown;
  const odd = [{ $gt: 1 }, { "a.b": 1 }, { "": 1 }, { _bsontype: "ObjectId" }, JSON.parse('{"__proto__": 1}'), { deep }];
  const plain = [{ total: 9_007_199_254_740_991, tags: ["a", { b: null }] }, 1e300, "text", null, [], -0.5];
  for (const payload of [...odd, ...plain]) await rheo.append("s", { payload });
  const found = await rheo.query("s");
  expect(found.map(({ payload }) => JSON.stringify(payload))).toEqual(
    [...odd, ...plain].map((payload) => JSON.stringify(payload)),
  );
  const events = client.db(database).collection("rheo_events");
  expect(await events.countDocuments({ payload: { $exists: false } })).toBe(odd.length);
  expect(await events.find({ "payload.total": { $gt: 1e15 } }).toArray()).toMatchObject([{ sequence: odd.length + 1 }]);
  // what has no copy is found all the same
  expect(await rheo.query("s", { where: { "payload.a\\.b": 1 } })).toHaveLength(1);
  expect(await rheo.query("s", { where: { "payload.$gt": { gte: 1 } } })).toHaveLength(1);
  await rheo.close();
});

test("what a crash left of a deleted stream is removed by the next who opens", async () => {
  const database = newDatabase();
  const backend = await openBackend({ client, database, notify: false });
  await fill(backend, 3);
  const db = client.db(database);
  const stream = (await db.collection("rheo_streams").findOne())?.stream;
  const group = (await db.collection("rheo_groups").findOne())?.group;
  const meta = db.collection<Document & { _id: string }>("rheo_meta");
  await meta.insertOne({ _id: "garbage/left", stream, groups: [group] });
  await backend.close();
  await (await openBackend({ client, database, notify: false })).close();
  expect(await db.collection("rheo_events").countDocuments()).toBe(0);
  expect(await db.collection("rheo_progress").countDocuments()).toBe(0);
});

test("a deleted stream leaves nothing behind, and one of the same name begins anew", async () => {
  const database = newDatabase();
  const backend = await openBackend({ client, database, notify: false });
  await fill(backend, 3);
  await backend.deleteStream("s");
  const db = client.db(database);
  for (const name of ["streams", "partitions", "events", "groups", "progress"])
    expect(await db.collection(`rheo_${name}`).countDocuments(), name).toBe(0);
  expect(await db.collection("rheo_meta").countDocuments()).toBe(3);
  await fill(backend, 1);
  expect(await backend.watermarks("s")).toMatchObject([{ firstSequence: 1, highWatermark: 1 }]);
  await backend.close();
});

test("a transaction begins in a snapshot, and is committed to the journals of a majority", async () => {
  const backend = await openBackend({ client, database: newDatabase(), notify: false });
  await fill(backend, 1);
  sent.length = 0;
  await backend.append([request(1)]);
  expect(sent.find(({ startTransaction }) => startTransaction === true)).toMatchObject({
    readConcern: { level: "snapshot" },
    autocommit: false,
  });
  expect(sent.find((command) => "commitTransaction" in command)).toMatchObject({ writeConcern: { w: "majority", j: true } });
  expect(sent.find((command) => "find" in command)).toMatchObject({ readConcern: { level: "majority" } });
  await backend.close();
});
