/** Where look-alikes of MongoDB differ from it: comparisons across types, missing fields, arrays, order. */
import { Binary, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from "mongodb";
import { describe, expect, it } from "vitest";
import { type Any, useMongo } from "./mongo-double-world.ts";

const world = useMongo();

const id = new ObjectId("650000000000000000000000");
const DOCS: readonly Any[] = [
  { _id: "missing" },
  { _id: "null", a: null },
  { _id: "3", a: 3 },
  { _id: "5.0", a: new Double(5) },
  { _id: "5L", a: Long.fromNumber(5) },
  { _id: "text", a: "5" },
  { _id: "object", a: { b: 5 } },
  { _id: "list", a: [1, 9] },
  { _id: "empty", a: [] },
  { _id: "bytes", a: new Binary(Buffer.from("x")) },
  { _id: "id", a: id },
  { _id: "true", a: true },
  { _id: "date", a: new Date(5) },
  { _id: "time", a: new Timestamp({ t: 5, i: 1 }) },
  { _id: "docs", a: [{ b: 5 }, { c: 1 }] },
];

const NAMES = "missing null 3 5.0 5L text object list empty bytes id true date time docs".split(" ");

/** Each with an index on the field and without: what is found must not depend on it. */
const CASES: readonly (readonly [object, readonly string[]])[] = [
  [{ a: { $lte: 5 } }, ["3", "5.0", "5L", "list"]],
  [{ a: { $gt: 5 } }, ["list"]],
  [{ a: { $gt: 2, $lt: 8 } }, ["3", "5.0", "5L", "list"]],
  [{ a: { $elemMatch: { $gt: 2, $lt: 8 } } }, []],
  [{ a: 5 }, ["5.0", "5L"]],
  [{ a: new Int32(5) }, ["5.0", "5L"]],
  [{ a: { $in: [Long.fromNumber(5), "5"] } }, ["5.0", "5L", "text"]],
  [{ a: null }, ["missing", "null"]],
  [{ a: { $in: [null, 3] } }, ["missing", "null", "3"]],
  [{ a: { $gte: null } }, ["missing", "null"]],
  [{ a: { $gt: null } }, []],
  [{ a: { $ne: null } }, ["3", "5.0", "5L", "text", "object", "list", "empty", "bytes", "id", "true", "date", "time", "docs"]],
  [{ a: { $exists: false } }, ["missing"]],
  [{ a: { $exists: true, $type: "null" } }, ["null"]],
  [{ a: { $type: "number" } }, ["3", "5.0", "5L", "list"]],
  [{ a: { $type: "array" } }, ["list", "empty", "docs"]],
  [{ a: { $lt: "6" } }, ["text"]],
  [{ a: { $lte: new Date(5) } }, ["date"]],
  [{ a: { $gte: id } }, ["id"]],
  [{ a: new Binary(Buffer.from("x")) }, ["bytes"]],
  [{ a: true }, ["true"]],
  [{ a: { $gte: new MinKey(), $lte: new MaxKey() } }, NAMES.filter((name) => name !== "missing")],
  [{ a: { b: 5 } }, ["object", "docs"]],
  [{ a: { $lt: { b: 6 } } }, ["object", "docs"]],
  [{ "a.b": 5 }, ["object", "docs"]],
  [{ "a.b": null }, ["missing", "null", "3", "5.0", "5L", "text", "bytes", "id", "true", "date", "time", "docs"]],
  [{ "a.b": { $exists: false } }, NAMES.filter((name) => name !== "object" && name !== "docs")],
  [{ "a.0": 1 }, ["list"]],
  [{ "a.0.b": 5 }, ["docs"]],
  [{ "a.1.b": 5 }, []],
  [{ a: [1, 9] }, ["list"]],
  [{ a: [9, 1] }, []],
  [{ a: { $size: 0 } }, ["empty"]],
  [{ a: { $all: [1, 9] } }, ["list"]],
  [{ a: { $elemMatch: { b: 5 } } }, ["docs"]],
  [{ a: { $elemMatch: { b: 5, c: 1 } } }, []],
  [{ a: { $not: { $gt: 3 } } }, NAMES.filter((name) => !["5.0", "5L", "list"].includes(name))],
  [{ $nor: [{ a: { $exists: true } }, { _id: "x" }] }, ["missing"]],
  [{ $or: [{ a: 3 }, { a: "5" }] }, ["3", "text"]],
  [{ $expr: { $eq: ["$a", 5] } }, ["5.0", "5L"]],
  [{ $expr: { $lt: ["$a", null] } }, ["missing"]],
  [{ $expr: { $gt: ["$a", 5] } }, ["text", "object", "list", "empty", "bytes", "id", "true", "date", "time", "docs"]],
  [{ a: { $mod: [2, 1] } }, ["3", "5.0", "5L", "list"]],
  [{ a: /5/ }, ["text"]],
];

describe("filters of the double", () => {
  it.each([
    ["without an index", null],
    ["with an index", { a: 1 } as const],
    ["with an index that descends", { a: -1 } as const],
  ])("match as documented, %s", async (_, index) => {
    const docs = world.collection();
    await docs.insertMany([...DOCS]);
    if (index !== null) await docs.createIndex(index);
    for (const [filter, wanted] of CASES) {
      const found = await docs.find(filter).toArray();
      expect(new Set(found.map(({ _id }) => _id)), JSON.stringify(filter)).toEqual(new Set(wanted));
    }
  });

  it.each([
    ["without an index", null],
    ["with an index", { a: 1 } as const],
  ])("sort across types, %s", async (_, index) => {
    const docs = world.collection();
    await docs.insertMany([...DOCS]);
    if (index !== null) await docs.createIndex(index);
    const names = async (direction: 1 | -1): Promise<unknown[]> =>
      (await docs.find().sort({ a: direction, _id: 1 }).toArray()).map(({ _id }) => _id);
    expect(await names(1)).toEqual([
      "empty",
      "missing",
      "null",
      "list",
      "3",
      "5.0",
      "5L",
      "text",
      "docs",
      "object",
      "bytes",
      "id",
      "true",
      "date",
      "time",
    ]);
    expect(await names(-1)).toEqual([
      "time",
      "date",
      "true",
      "id",
      "bytes",
      "docs",
      "object",
      "text",
      "list",
      "5.0",
      "5L",
      "3",
      "missing",
      "null",
      "empty",
    ]);
  });

  it("tell 2^53 from its neighbours", async () => {
    const docs = world.collection();
    const big = [9007199254740992n, 9007199254740993n, 9007199254740994n].map((n) => Long.fromBigInt(n));
    await docs.insertMany(big.map((n) => ({ n })));
    await docs.createIndex({ n: 1 }, { unique: true });
    for (const n of big) expect(await docs.countDocuments({ n })).toBe(1);
    expect(await docs.countDocuments({ n: { $gt: big[0], $lt: big[2] } })).toBe(1);
  });

  it("find the same by any index as by none", async () => {
    const docs = world.collection();
    const rows = Array.from({ length: 300 }, (_, n) => ({
      _id: n,
      g: n % 7,
      k: n % 3 === 0 ? null : n % 11,
      v: (n * 7919) % 300,
      t: `t${n % 5}`,
    }));
    await docs.insertMany(rows);
    const filters = [
      { g: 3, v: { $gte: 50, $lt: 200 } },
      { g: { $in: [1, 4] }, k: null },
      { g: 2, k: { $gt: 4 }, t: "t1" },
      { $and: [{ g: 5 }, { v: { $lte: 120 } }], t: { $gte: "t2" } },
      { g: 6 },
    ];
    const sorts = [{ v: 1 }, { v: -1 }, { g: -1, v: 1 }, { g: 1, v: -1 }] as const;
    const ask = async (): Promise<unknown[]> => {
      const all: unknown[] = [];
      for (const filter of filters)
        for (const sort of sorts) all.push((await docs.find(filter).sort(sort).limit(9).skip(1).toArray()).map(({ _id }) => _id));
      return all;
    };
    const plain = await ask();
    for (const index of [{ g: 1, v: 1 }, { g: -1, v: 1 }, { g: 1, v: -1, t: 1 }, { g: 1, k: 1 }, { v: -1 }] as const) {
      await docs.createIndex(index);
      expect(await ask(), JSON.stringify(index)).toEqual(plain);
    }
  });
});
