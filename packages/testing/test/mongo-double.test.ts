import { Binary, Double, Int32, Long, ObjectId } from "mongodb";
import { describe, expect, it } from "vitest";
import { refusal, useMongo } from "./mongo-double-world.ts";

const world = useMongo();

describe("the double's commands", () => {
  it("inserts, finds, updates, replaces and deletes", async () => {
    const docs = world.collection();
    await docs.insertMany([
      { _id: 1, a: 1 },
      { _id: 2, a: 2 },
      { _id: 3, a: 3 },
    ]);
    expect(await docs.updateMany({ a: { $gte: 2 } }, { $inc: { a: 10 }, $set: { "b.c": "x" } })).toMatchObject({
      matchedCount: 2,
      modifiedCount: 2,
    });
    expect(await docs.replaceOne({ _id: 1 }, { only: true })).toMatchObject({ modifiedCount: 1 });
    expect(await docs.deleteOne({ a: 13 })).toMatchObject({ deletedCount: 1 });
    expect(await docs.find().sort({ _id: 1 }).toArray()).toEqual([
      { _id: 1, only: true },
      { _id: 2, a: 12, b: { c: "x" } },
    ]);
    expect(await docs.countDocuments({})).toBe(2);
    expect(await docs.distinct("a")).toEqual([12]);
  });

  it("gives a large result in several answers", async () => {
    const docs = world.collection();
    await docs.insertMany(Array.from({ length: 1_000 }, (_, n) => ({ _id: n })));
    const found = await docs
      .find({ _id: { $gte: 100 } }, { batchSize: 37 })
      .sort({ _id: -1 })
      .skip(5)
      .limit(700)
      .toArray();
    expect(found.map(({ _id }) => _id)).toEqual(Array.from({ length: 700 }, (_, n) => 994 - n));
  });

  it("keeps the kinds of numbers, and all others, as they were sent", async () => {
    const docs = world.collection();
    const id = new ObjectId();
    const doc = {
      _id: id,
      int: new Int32(1),
      long: Long.fromString("9223372036854775807"),
      double: new Double(1),
      bytes: new Binary(Buffer.from([0, 255])),
      at: new Date(5),
      nothing: null,
      nested: { list: [new Int32(1), "a", { b: [] }] },
    };
    await docs.insertOne(doc);
    expect(await docs.findOne({ _id: id }, { promoteValues: false })).toEqual(doc);
  });

  it("adds numbers as the server does: int until it overflows, then long; a double makes a double", async () => {
    const docs = world.collection();
    await docs.insertOne({ _id: 1, int: new Int32(2_147_483_647), long: Long.fromNumber(1), both: new Int32(1) });
    await docs.updateOne(
      { _id: 1 },
      { $inc: { int: new Int32(1), long: new Int32(1), both: new Double(0.5), fresh: Long.fromNumber(3) } },
    );
    expect(await docs.findOne({ _id: 1 }, { promoteValues: false })).toEqual({
      _id: new Int32(1),
      int: Long.fromNumber(2_147_483_648),
      long: Long.fromNumber(2),
      both: new Double(1.5),
      fresh: Long.fromNumber(3),
    });
    await docs.updateOne({ _id: 1 }, { $set: { most: Long.MAX_VALUE } });
    expect(await refusal(docs.updateOne({ _id: 1 }, { $inc: { most: 1 } }))).toMatchObject({ code: 2 });
  });

  it("says of duplicates which index and which key, and goes on when it is not ordered", async () => {
    const docs = world.collection();
    await docs.createIndex({ s: 1, id: 1 }, { unique: true });
    await docs.insertOne({ _id: 1, s: "a", id: 7 });
    const batch = [
      { _id: 2, s: "a", id: 7 },
      { _id: 3, s: "a", id: 8 },
      { _id: 3, s: "b", id: 8 },
      { _id: 4, s: "c", id: 8 },
    ];
    const { error } = await refusal(docs.insertMany(batch, { ordered: false }));
    expect(error).toMatchObject({ code: 11_000, result: { insertedCount: 2 }, writeErrors: [{ index: 0 }, { index: 2 }] });
    const { error: one } = await refusal(docs.insertOne({ _id: 5, s: "a", id: 7 }));
    expect(one).toMatchObject({ code: 11_000, keyPattern: { s: 1, id: 1 }, keyValue: { s: "a", id: 7 } });
    expect(error.message).toMatch(/^E11000 duplicate key error collection: .+ index: s_1_id_1 dup key: \{ s: "a", id: 7 \}/);
    expect(await refusal(docs.insertMany([{ _id: 1 }, { _id: 9 }]))).toMatchObject({
      code: 11_000,
      error: { result: { insertedCount: 0 } },
    });
    expect(await refusal(docs.updateOne({ _id: 4 }, { $set: { s: "a" } }))).toMatchObject({ code: 11_000 });
  });

  it("has unique indexes that are partial or sparse", async () => {
    const docs = world.collection();
    await docs.createIndex({ key: 1 }, { unique: true, partialFilterExpression: { open: true } });
    await docs.createIndex({ rare: 1 }, { unique: true, sparse: true });
    await docs.insertMany([
      { key: 1, open: false },
      { key: 1, open: false },
      { key: 1, open: true },
    ]);
    expect(await refusal(docs.insertOne({ key: 1, open: true }))).toMatchObject({ code: 11_000 });
    expect(await refusal(docs.updateMany({ open: false }, { $set: { open: true } }))).toMatchObject({ code: 11_000 });
    await docs.insertOne({ rare: null, key: 2 });
    expect(await refusal(docs.insertOne({ rare: null }))).toMatchObject({ code: 11_000 });
    expect(await docs.indexes()).toMatchObject([
      { name: "_id_" },
      { name: "key_1", unique: true },
      { name: "rare_1", sparse: true },
    ]);
  });

  it("upserts what the filter says and the update sets", async () => {
    const docs = world.collection();
    const update = { $setOnInsert: { made: true }, $inc: { n: 1 } };
    expect(await docs.updateOne({ _id: { g: 1, p: 2 }, "a.b": 5 }, update, { upsert: true })).toMatchObject({
      upsertedCount: 1,
      upsertedId: { g: 1, p: 2 },
    });
    await docs.updateOne({ _id: { g: 1, p: 2 } }, update, { upsert: true });
    expect(await docs.find().toArray()).toEqual([{ _id: { g: 1, p: 2 }, a: { b: 5 }, made: true, n: 2 }]);
    expect(await docs.findOneAndUpdate({ _id: 7 }, { $set: { x: 1 } }, { upsert: true, returnDocument: "after" })).toEqual({
      _id: 7,
      x: 1,
    });
  });

  it("takes the order of fields of an embedded _id for part of it", async () => {
    const docs = world.collection();
    await docs.insertMany([{ _id: { a: 1, b: 2 } }, { _id: { b: 2, a: 1 } }]);
    expect(await docs.find({ _id: { b: 2, a: 1 } }).toArray()).toEqual([{ _id: { b: 2, a: 1 } }]);
    expect(await docs.find({ "_id.a": 1 }).toArray()).toHaveLength(2);
    const between = { _id: { $gte: { a: 1 }, $lt: { a: 2 } } };
    expect(await docs.find(between).toArray()).toEqual([{ _id: { a: 1, b: 2 } }]);
    expect(await refusal(docs.updateOne({ _id: { a: 1, b: 2 } }, { $set: { _id: 5 } }))).toMatchObject({ code: 66 });
  });

  it("updates arrays, all elements or those of a filter", async () => {
    const docs = world.collection();
    await docs.insertOne({
      _id: 1,
      list: [3, 1, 2],
      parts: [
        { k: 1, n: 1 },
        { k: 2, n: 1 },
      ],
    });
    await docs.updateOne(
      { _id: 1 },
      { $push: { list: { $each: [9, 0], $sort: 1, $slice: 4 } }, $inc: { "parts.$[one].n": 5 } } as never,
      { arrayFilters: [{ "one.k": 2 }] },
    );
    await docs.updateOne({ _id: 1, "parts.k": 1 }, {
      $set: { "parts.$.met": true },
      $addToSet: { set: { $each: [1, 1.0, "1"] } },
    } as never);
    await docs.updateOne({ _id: 1 }, { $pull: { list: { $gte: 3 } } } as never);
    expect(await docs.findOne({ _id: 1 })).toEqual({
      _id: 1,
      list: [0, 1, 2],
      parts: [
        { k: 1, n: 1, met: true },
        { k: 2, n: 6 },
      ],
      set: [1, "1"],
    });
    expect(await refusal(docs.updateOne({ _id: 1 }, { $set: { a: 1, "a.b": 2 } }))).toMatchObject({ code: 40 });
  });

  it("knows the server's time, in queries, pipelines and updates", async () => {
    const docs = world.collection();
    await docs.insertMany([
      { _id: 1, due: new Date(0) },
      { _id: 2, due: new Date("2999-01-01") },
    ]);
    await docs.updateOne({ _id: 1 }, [
      { $set: { seen: "$$NOW", until: { $add: ["$$NOW", 1_000] }, open: { $lte: ["$due", "$$NOW"] } } },
    ]);
    const [doc] = await docs
      .aggregate([{ $match: { $expr: { $lt: ["$due", "$$NOW"] } } }, { $set: { same: { $subtract: ["$until", "$seen"] } } }])
      .toArray();
    expect(doc).toMatchObject({ _id: 1, open: true, same: 1_000 });
    expect(doc?.seen).toBeInstanceOf(Date);
    expect(await docs.find({ $expr: { $gt: ["$due", "$$NOW"] } }).toArray()).toMatchObject([{ _id: 2 }]);
  });

  it("groups, joins, unwinds and computes", async () => {
    const database = world.database();
    await database.collection<{ _id: number }>("a").insertMany([
      { _id: 1, g: "x", l: [1, 2] },
      { _id: 2, g: "x", l: [3] },
      { _id: 3, g: "y" },
    ] as never);
    await database.collection<{ _id: number }>("b").insertMany([
      { _id: 1, of: 1 },
      { _id: 2, of: 1 },
    ] as never);
    const pipeline = [
      { $unwind: { path: "$l", preserveNullAndEmptyArrays: true } },
      { $group: { _id: "$g", sum: { $sum: "$l" }, many: { $count: {} }, all: { $push: "$l" } } },
      { $sort: { _id: 1 } },
    ];
    expect(await database.collection("a").aggregate(pipeline).toArray()).toEqual([
      { _id: "x", sum: 6, many: 3, all: [1, 2, 3] },
      { _id: "y", sum: 0, many: 1, all: [] },
    ]);
    const join = [
      { $lookup: { from: "b", localField: "_id", foreignField: "of", as: "b" } },
      { $project: { _id: 0, id: "$_id", n: { $size: "$b" } } },
    ];
    expect(await database.collection("a").aggregate(join).toArray()).toEqual([
      { id: 1, n: 2 },
      { id: 2, n: 0 },
      { id: 3, n: 0 },
    ]);
  });

  it("refuses what it does not know", async () => {
    const database = world.database();
    expect(await refusal(database.command({ fly: 1 }))).toMatchObject({ code: 59 });
    expect(await refusal(database.command({ find: "a", wings: 2 }))).toMatchObject({ code: 40_415 });
    expect(
      await refusal(
        database
          .collection("a")
          .find({ a: { $wings: 1 } })
          .toArray(),
      ),
    ).toMatchObject({ code: 2 });
    expect(
      await refusal(
        database
          .collection("a")
          .aggregate([{ $wings: {} }])
          .toArray(),
      ),
    ).toMatchObject({ code: 40_324 });
    expect(await refusal(database.collection("a").updateOne({}, { $wings: { a: 1 } }))).toMatchObject({ code: 9 });
  });

  it("gives one document to one of sixty claims that race for it", async () => {
    const docs = world.collection();
    await docs.insertMany(Array.from({ length: 60 }, (_, n) => ({ _id: n, owner: null })));
    const claims = await Promise.all(
      Array.from({ length: 60 }, (_, owner) => docs.findOneAndUpdate({ owner: null }, { $set: { owner } }, { sort: { _id: 1 } })),
    );
    expect(new Set(claims.map((claim) => claim?._id)).size).toBe(60);
    expect(await docs.findOneAndUpdate({ owner: null }, { $set: { owner: 60 } })).toBeNull();
  });
});
