import { MongoNetworkError } from "mongodb";
import { beforeEach, describe, expect, it } from "vitest";
import { refusal, useMongo } from "./mongo-double-world.ts";

const world = useMongo();

describe.skipIf(process.env.RHEO_TEST_MONGODB_URL)("faults of the double", () => {
  beforeEach(() => world.server.clearFaults());

  it("a commit whose answer was lost is committed once, and asked for again", async () => {
    const docs = world.collection();
    const session = world.session();
    session.startTransaction();
    await docs.insertOne({ _id: 1 }, { session });
    await world.server.addFault({ kind: "dropAnswer", command: "commitTransaction" });
    await session.commitTransaction();
    expect(await docs.countDocuments()).toBe(1);
  });

  it("a commit that never arrived leaves its outcome unknown to the client, and the transaction open", async () => {
    const docs = world.collection();
    const session = world.session();
    session.startTransaction();
    await docs.insertOne({ _id: 1 }, { session });
    await world.server.addFault({ kind: "dropCommand", command: "commitTransaction", times: 2 });
    await expect(session.commitTransaction()).rejects.toSatisfy(
      (error) => error instanceof MongoNetworkError && error.hasErrorLabel("UnknownTransactionCommitResult"),
    );
    expect(await docs.countDocuments()).toBe(0);
    await session.commitTransaction();
    expect(await docs.countDocuments()).toBe(1);
  });

  it("a write whose answer was lost is done once, and remembered statement by statement", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 0, n: 0 });
    await world.server.addFault({ kind: "dropAnswer", command: "update" });
    expect(await docs.updateOne({ _id: 0 }, { $inc: { n: 1 } })).toMatchObject({ modifiedCount: 1 });
    await world.server.addFault({ kind: "dropAnswer", command: "findAndModify" });
    expect(await docs.findOneAndUpdate({ _id: 0 }, { $inc: { n: 1 } }, { returnDocument: "after" })).toEqual({ _id: 0, n: 2 });
    await world.server.addFault({ kind: "dropAnswer", command: "insert" });
    expect(await docs.insertMany([{ _id: 1 }, { _id: 2 }])).toMatchObject({ insertedCount: 2 });
    expect(await docs.findOne({ _id: 0 })).toEqual({ _id: 0, n: 2 });
  });

  it("conflicts come to transactions only, and the same ones from the same seed", async () => {
    const docs = world.collection();
    await world.server.addFault({ kind: "conflict", probability: 0.5, seed: 7 });
    await docs.insertOne({ _id: 0 });
    const run = async (): Promise<boolean[]> => {
      const conflicts: boolean[] = [];
      for (let n = 0; n < 20; n++) {
        const session = world.session();
        session.startTransaction();
        conflicts.push(
          await docs.findOne({ _id: 0 }, { session }).then(
            () => false,
            () => true,
          ),
        );
        await session.abortTransaction().catch(() => undefined);
      }
      return conflicts;
    };
    const first = await run();
    expect(new Set(first).size).toBe(2);
    await world.server.clearFaults();
    await world.server.addFault({ kind: "conflict", probability: 0.5, seed: 7 });
    await docs.insertOne({ _id: 1 });
    expect(await run()).toEqual(first);
  });

  it("errors and delays come as they were asked for", async () => {
    const docs = world.collection();
    await world.server.addFault({ kind: "error", command: "find", code: 50 });
    await world.server.addFault({ kind: "delay", command: "find", delayMs: 30 });
    const began = performance.now();
    expect(await refusal(docs.findOne({}))).toMatchObject({ code: 50 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(29);
    expect(await docs.findOne({})).toBeNull();
  });

  it("a primary that stepped down loses open transactions; drivers wait for the next one and write again", async () => {
    const docs = world.collection();
    const session = world.session();
    session.startTransaction();
    await docs.insertOne({ _id: 1 }, { session });
    await world.server.stepDown(100);
    expect(await docs.insertOne({ _id: 2 })).toMatchObject({ acknowledged: true });
    expect(await refusal(docs.insertOne({ _id: 3 }, { session }))).toMatchObject({ labels: ["TransientTransactionError"] });
    expect(await docs.find().toArray()).toEqual([{ _id: 2 }]);
  });

  it("a transaction that nobody ends is over after its lifetime", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1 });
    await world.server.setLifetime(50);
    const session = world.session();
    session.startTransaction();
    await docs.updateOne({ _id: 1 }, { $set: { by: "dead" } }, { session });
    await docs.updateOne({ _id: 1 }, { $set: { by: "alive" } });
    expect(await refusal(session.commitTransaction())).toMatchObject({ code: 251, labels: ["TransientTransactionError"] });
    expect(await docs.findOne({ _id: 1 })).toEqual({ _id: 1, by: "alive" });
    expect(await world.server.openTransactions()).toBe(0);
    await world.server.setLifetime(60_000);
  });

  it("the clock can be held and shifted", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1 });
    const now = async (): Promise<number> => (await docs.aggregate([{ $project: { now: "$$NOW" } }]).toArray())[0]?.now.getTime();
    await world.server.setTime({ atMs: 1_000_000 });
    expect([await now(), await now()]).toEqual([1_000_000, 1_000_000]);
    await world.server.setTime({ offsetMs: 3_600_000 });
    expect((await now()) - Date.now()).toBeGreaterThan(3_500_000);
    await world.server.setTime({ offsetMs: 0 });
  });

  it("killed and started again it has what it acknowledged, knows what it committed, and nothing else", async () => {
    const docs = world.collection();
    await docs.createIndex({ key: 1 }, { unique: true });
    await docs.insertMany([
      { _id: 1, key: 1 },
      { _id: 2, key: 2 },
      { _id: 3, key: 3 },
    ]);
    await docs.deleteOne({ _id: 3 });
    await docs.updateOne({ _id: 2 }, { $inc: { n: 1 } });
    const [open, done] = [world.session(), world.session()];
    for (const session of [open, done]) session.startTransaction();
    await docs.insertOne({ _id: 5, key: 5 }, { session: open });
    await docs.insertOne({ _id: 6, key: 6 }, { session: done });
    await done.commitTransaction();
    await world.server.kill();
    await world.server.restart();
    expect(await docs.find().sort({ _id: 1 }).toArray()).toEqual([
      { _id: 1, key: 1 },
      { _id: 2, key: 2, n: 1 },
      { _id: 6, key: 6 },
    ]);
    expect(await refusal(docs.insertOne({ _id: 7, key: 1 }))).toMatchObject({ code: 11_000 });
    await docs.insertOne({ _id: 8, key: 3 });
    await done.commitTransaction();
    expect(await refusal(open.commitTransaction())).toMatchObject({ code: 251 });
  });

  it("killed after it wrote and before it answered, it still knows the write when it is tried again", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1, n: 0 });
    await world.server.addFault({ kind: "dropAnswer", command: "update" });
    const write = docs.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    await world.server.kill();
    await world.server.restart();
    expect(await write).toMatchObject({ modifiedCount: 1 });
    expect(await docs.findOne({ _id: 1 })).toEqual({ _id: 1, n: 1 });
  });

  it("paused it answers nothing, and goes on afterwards", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1 });
    world.server.pause();
    let answered = false;
    const found = docs.findOne({ _id: 1 }).finally(() => (answered = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(answered).toBe(false);
    world.server.resume();
    expect(await found).toEqual({ _id: 1 });
  });
});
