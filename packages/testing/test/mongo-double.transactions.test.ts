import type { ClientSession } from "mongodb";
import { describe, expect, it } from "vitest";
import { refusal, useMongo } from "./mongo-double-world.ts";

const world = useMongo();

/** A session with a transaction begun. */
const begin = (): ClientSession => {
  const session = world.session();
  session.startTransaction({ readConcern: { level: "snapshot" }, writeConcern: { w: "majority", j: true } });
  return session;
};

const CONFLICT = { code: 112, labels: ["TransientTransactionError"] };

describe("transactions of the double", () => {
  it("see the snapshot of their first command, and their own writes; others see them at the commit", async () => {
    const docs = world.collection();
    await docs.insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 1 },
    ]);
    const session = begin();
    expect(await docs.findOne({ _id: 1 }, { session })).toEqual({ _id: 1, n: 1 });
    await docs.updateOne({ _id: 1 }, { $set: { n: 2 } });
    await docs.insertOne({ _id: 3, n: 1 });
    await docs.deleteOne({ _id: 2 });
    expect(await docs.find({}, { session }).sort({ _id: 1 }).toArray()).toEqual([
      { _id: 1, n: 1 },
      { _id: 2, n: 1 },
    ]);
    await docs.insertOne({ _id: 4, n: 0 }, { session });
    await docs.updateOne({ _id: 4 }, { $inc: { n: 7 } }, { session });
    expect(
      await docs
        .find({ n: { $gte: 1 } }, { session })
        .sort({ n: -1 })
        .limit(1)
        .toArray(),
    ).toEqual([{ _id: 4, n: 7 }]);
    expect(await docs.findOne({ _id: 4 })).toBeNull();
    await session.commitTransaction();
    expect(await docs.find().sort({ _id: 1 }).toArray()).toEqual([
      { _id: 1, n: 2 },
      { _id: 3, n: 1 },
      { _id: 4, n: 7 },
    ]);
  });

  it("read by an index what the snapshot holds, though its keys changed since", async () => {
    const docs = world.collection();
    await docs.createIndex({ g: 1, n: 1 });
    await docs.insertMany([1, 2, 3, 4].map((n) => ({ _id: n, g: "a", n })));
    const session = begin();
    await docs.findOne({ _id: 1 }, { session });
    await docs.updateMany({}, { $mul: { n: -1 } });
    await docs.updateOne({ _id: 4 }, { $set: { g: "b" } });
    const ids = async (options: { session?: ClientSession }): Promise<unknown[]> =>
      (await docs.find({ g: "a" }, options).sort({ n: 1 }).toArray()).map(({ _id }) => _id);
    expect(await ids({ session })).toEqual([1, 2, 3, 4]);
    expect(await ids({})).toEqual([3, 2, 1]);
    await session.abortTransaction();
  });

  it("conflict with what another has written and not committed: one of two wins", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1, n: 0 });
    const [a, b] = [begin(), begin()];
    await docs.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: a });
    expect(await refusal(docs.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: b }))).toMatchObject(CONFLICT);
    await a.commitTransaction();
    await b.abortTransaction();
    expect(await docs.findOne({ _id: 1 })).toEqual({ _id: 1, n: 1 });
  });

  it("conflict with what was committed after their snapshot, deletes and inserts too", async () => {
    const docs = world.collection();
    await docs.insertMany([{ _id: 1 }, { _id: 2 }]);
    for (const [after, work] of [
      [
        () => docs.updateOne({ _id: 1 }, { $inc: { n: 1 } }),
        (session: ClientSession) => docs.findOneAndUpdate({ _id: 1 }, { $set: { x: 1 } }, { session }),
      ],
      [() => docs.deleteOne({ _id: 2 }), (session: ClientSession) => docs.deleteOne({ _id: 2 }, { session })],
      [() => docs.insertOne({ _id: 3 }), (session: ClientSession) => docs.insertOne({ _id: 3 }, { session })],
    ] as const) {
      const session = begin();
      await docs.findOne({ _id: 9 }, { session });
      await after();
      expect(await refusal(work(session))).toMatchObject(CONFLICT);
      await session.abortTransaction();
    }
  });

  it("conflict over a unique key that another has taken and not committed", async () => {
    const docs = world.collection();
    await docs.createIndex({ key: 1 }, { unique: true });
    const [a, b] = [begin(), begin()];
    await docs.insertOne({ key: 1 }, { session: a });
    expect(await refusal(docs.insertOne({ key: 1 }, { session: b }))).toMatchObject(CONFLICT);
    await a.abortTransaction();
    await docs.insertOne({ key: 1 });
    const c = begin();
    expect(await refusal(docs.insertOne({ key: 1 }, { session: c }))).toMatchObject({ code: 11_000, labels: [] });
    // an error has ended it
    expect(await refusal(c.commitTransaction())).toMatchObject({ code: 251, labels: ["TransientTransactionError"] });
  });

  it("do not conflict over an update that changes nothing, as on the server", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1, n: 0 });
    const [a, b] = [begin(), begin()];
    await docs.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session: a });
    expect(await docs.updateOne({ _id: 1 }, { $set: { n: 0 } }, { session: b })).toMatchObject({
      matchedCount: 1,
      modifiedCount: 0,
    });
    await Promise.all([a.commitTransaction(), b.commitTransaction()]);
    expect(await docs.findOne({ _id: 1 })).toEqual({ _id: 1, n: 1 });
  });

  it("make writes outside of them wait", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1, by: [] });
    const session = begin();
    await docs.updateOne({ _id: 1 }, { $push: { by: "inside" } } as never, { session });
    let over = false;
    const outside = docs.updateOne({ _id: 1 }, { $push: { by: "outside" } } as never).finally(() => (over = true));
    expect(await refusal(docs.updateOne({ _id: 1 }, { $set: { x: 1 } }, { maxTimeMS: 20 }))).toMatchObject({ code: 50 });
    expect(over).toBe(false);
    await session.commitTransaction();
    await outside;
    expect(await docs.findOne({ _id: 1 })).toEqual({ _id: 1, by: ["inside", "outside"] });
  });

  it("leave nothing when they are aborted, and cannot be committed then", async () => {
    const docs = world.collection();
    const session = begin();
    await docs.insertOne({ _id: 1 }, { session });
    await session.abortTransaction();
    expect(await docs.find().toArray()).toEqual([]);
    const [a, b] = [begin(), world.session()];
    await docs.insertOne({ _id: 1 }, { session: a });
    await a.abortTransaction();
    b.startTransaction();
    await docs.insertOne({ _id: 1 }, { session: b });
    await b.commitTransaction();
    await b.commitTransaction();
    expect(await docs.countDocuments()).toBe(1);
  });

  it("are helped by withTransaction: racing counters lose no step", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1, n: 0 });
    const step = async (): Promise<void> => {
      const session = world.session();
      await session.withTransaction(async () => {
        const doc = await docs.findOne({ _id: 1 }, { session });
        await docs.updateOne({ _id: 1 }, { $set: { n: Number(doc?.n) + 1 } }, { session });
      });
    };
    await Promise.all(Array.from({ length: 6 }, step));
    expect(await docs.findOne({ _id: 1 })).toEqual({ _id: 1, n: 6 });
  });

  it("are not needed for reads that are to see one moment", async () => {
    const docs = world.collection();
    await docs.insertMany([{ _id: 1 }, { _id: 2 }]);
    const session = world.client.startSession({ snapshot: true });
    expect(await docs.countDocuments({}, { session })).toBe(2);
    await docs.deleteMany({});
    expect(await docs.find({}, { session }).toArray()).toEqual([{ _id: 1 }, { _id: 2 }]);
    expect(await docs.countDocuments()).toBe(0);
    await session.endSession();
  });

  it("may write more than one document can hold", async () => {
    const docs = world.collection();
    await world.session().withTransaction(async (session) => {
      for (const _id of [1, 2]) await docs.insertOne({ _id, text: "x".repeat(10_000_000) }, { session });
    });
    if (!world.server.real) {
      await world.server.kill();
      await world.server.restart();
    }
    expect(await docs.countDocuments({ text: /^x+$/ })).toBe(2);
    expect(await refusal(docs.insertOne({ text: "x".repeat(16 * 1024 * 1024) }))).toMatchObject({ code: 10_334 });
  });

  it("refuse commands that the server refuses in them", async () => {
    const database = world.database();
    const session = begin();
    expect(await refusal(database.command({ count: "docs" }, { session }))).toMatchObject({ code: 263 });
  });
});
