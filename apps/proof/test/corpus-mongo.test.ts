/** Faults that come with MongoDB, against its double or the server that is named. Named by their ids. */
import { Rheo } from "@rheo/core";
import { mongo } from "@rheo/mongo";
import { type MongoServer, startMongo } from "@rheo/testing/servers";
import { MongoClient } from "mongodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { numbers } from "./corpus-stores.ts";

let server: MongoServer;
let client: MongoClient;
let databases = 0;
beforeAll(async () => {
  server = await startMongo();
  client = await MongoClient.connect(server.url);
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

const open = async (): Promise<{ readonly rheo: Rheo; readonly seed: (at: number) => Promise<void> } & AsyncDisposable> => {
  const database = `corpus_numbers_${process.pid}_${++databases}`;
  const rheo = await Rheo.open({ backend: mongo({ url: server.url, database }) });
  await rheo.createStream("s", { partitions: 1 });
  return {
    rheo,
    seed: async (at) => {
      const found = await client.db(database).listCollections({}, { nameOnly: true }).toArray();
      const named = (what: string): string => found.find(({ name }) => name.endsWith(what))?.name ?? what;
      await client
        .db(database)
        .collection(named("partitions"))
        .updateOne({}, { $set: { firstSequence: at + 1, highWatermark: at } });
    },
    [Symbol.asyncDispose]: async () => {
      await rheo.close();
      await client.db(database).dropDatabase();
    },
  };
};

describe("numbers beyond what 32 bits or a text in order would hold", () => {
  test.each([9, 99, 2 ** 31 - 1, 2 ** 51, Number.MAX_SAFE_INTEGER - 5])("B87 sequences go on after %i, in order", async (at) => {
    await using place = await open();
    const { rheo } = place;
    await place.seed(at);
    await rheo.createGroup("s", "g", {});
    await rheo.appendMany(
      "s",
      numbers(5).map((payload) => ({ payload })),
    );
    const leases = await rheo.fetch("s", "g");
    expect(leases.map(({ sequence, event }) => [sequence, event.payload])).toEqual(numbers(5).map((n) => [at + n, n]));
    for (const lease of leases.slice(0, 4)) await rheo.ack(lease);
    expect(await rheo.lag("s", "g")).toMatchObject({ lag: 1, partitions: [{ frontier: at + 4, highWatermark: at + 5 }] });
    expect(await rheo.query("s", { afterSequence: at + 3 })).toHaveLength(2);
  });

  test("B87 beyond the last exact number an append is refused, and none is given twice", async () => {
    await using place = await open();
    await place.seed(Number.MAX_SAFE_INTEGER - 1);
    expect((await place.rheo.append("s", { payload: "last" })).sequence).toBe(Number.MAX_SAFE_INTEGER);
    await expect(place.rheo.append("s", { payload: "one more" })).rejects.toMatchObject({ code: "unavailable" });
    expect((await place.rheo.streamInfo("s")).partitions).toMatchObject([{ highWatermark: Number.MAX_SAFE_INTEGER }]);
  });
});
