import type { ChangeStream } from "mongodb";
import { describe, expect, it } from "vitest";
import { useMongo } from "./mongo-double-world.ts";

const world = useMongo();

/** So that the first look, which finds nothing, is short. */
const SOON = { maxAwaitTimeMS: 5 };

const take = async (stream: ChangeStream, many: number): Promise<unknown[]> => {
  const events: unknown[] = [];
  while (events.length < many) events.push(await stream.next());
  return events;
};

describe("change streams of the double", () => {
  it("tell of inserts, updates, replacements and deletes, in order", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 0 });
    await using stream = docs.watch([], SOON);
    await stream.tryNext();
    await docs.insertOne({ _id: 1, a: { b: 1, c: 2 }, d: 1 });
    await docs.updateOne({ _id: 1 }, { $set: { "a.b": 5 }, $unset: { d: 1 } });
    await docs.replaceOne({ _id: 1 }, { z: 1 });
    await docs.deleteOne({ _id: 1 });
    const ns = { db: docs.dbName, coll: "docs" };
    expect(await take(stream, 4)).toMatchObject([
      { operationType: "insert", ns, documentKey: { _id: 1 }, fullDocument: { _id: 1, a: { b: 1, c: 2 }, d: 1 } },
      {
        operationType: "update",
        documentKey: { _id: 1 },
        updateDescription: { updatedFields: { "a.b": 5 }, removedFields: ["d"] },
      },
      { operationType: "replace", fullDocument: { _id: 1, z: 1 } },
      { operationType: "delete", documentKey: { _id: 1 } },
    ]);
  });

  it("tell of a transaction at its commit, and never of one that was aborted", async () => {
    const database = world.database();
    const [a, b] = [database.collection<{ _id: number }>("a"), database.collection<{ _id: number }>("b")];
    await a.insertOne({ _id: 0 });
    await using stream = database.watch([{ $match: { operationType: "insert" } }, { $project: { documentKey: 1, ns: 1 } }], SOON);
    await stream.tryNext();
    const [first, second] = [world.session(), world.session()];
    first.startTransaction();
    second.startTransaction();
    await a.insertOne({ _id: 1 }, { session: first });
    await b.insertOne({ _id: 2 }, { session: second });
    await b.insertOne({ _id: 3 }, { session: first });
    await second.abortTransaction();
    await a.insertOne({ _id: 4 });
    await first.commitTransaction();
    expect((await take(stream, 3)).map((event) => (event as { documentKey: unknown }).documentKey)).toEqual([
      { _id: 4 },
      { _id: 1 },
      { _id: 3 },
    ]);
  });

  it("resume after an event, across a restart of the server", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 0 });
    const stream = docs.watch([], SOON);
    await stream.tryNext();
    await docs.insertMany([1, 2, 3].map((_id) => ({ _id })));
    const [first] = await take(stream, 1);
    await stream.close();
    if (!world.server.real) {
      await world.server.kill();
      await world.server.restart();
    }
    await docs.insertOne({ _id: 4 });
    await using resumed = docs.watch([], { resumeAfter: (first as { _id: unknown })._id });
    expect(await take(resumed, 3)).toMatchObject([
      { documentKey: { _id: 2 } },
      { documentKey: { _id: 3 } },
      { documentKey: { _id: 4 } },
    ]);
  });

  it("wait for news, and end when their collection is dropped", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 0 });
    // it begins with what was committed at that time, the first document
    const { operationTime } = await world.client.db("admin").command({ ping: 1 });
    await using stream = docs.watch([], { maxAwaitTimeMS: 20_000, startAtOperationTime: operationTime });
    expect(await stream.next()).toMatchObject({ documentKey: { _id: 0 } });
    const next = stream.next();
    await docs.insertOne({ _id: 1 });
    expect(await next).toMatchObject({ documentKey: { _id: 1 } });
    await docs.drop();
    expect(await take(stream, 2)).toMatchObject([{ operationType: "drop" }, { operationType: "invalidate" }]);
  });

  it("look the document up when they are asked to", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1 });
    await using stream = docs.watch([], { ...SOON, fullDocument: "updateLookup" });
    await stream.tryNext();
    await docs.updateOne({ _id: 1 }, { $set: { a: 1 } });
    expect(await take(stream, 1)).toMatchObject([{ operationType: "update", fullDocument: { _id: 1, a: 1 } }]);
  });
});
