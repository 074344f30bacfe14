import { MongoClient } from "mongodb";

interface Entry {
  readonly _id: string;
  readonly payloadText: string;
}

/** Reads `limit` payloads at a time as JSON values and moves a cursor for each batch. */
export const readAllOfCollection = async (url: string, database: string, limit: number): Promise<number> => {
  const client = await new MongoClient(url).connect();
  const db = client.db(database);
  const events = db.collection<Entry>("rheo_events");
  const cursors = db.collection<{ _id: string; position: string }>("bare_cursor");
  let position = "";
  let sum = 0;
  for (;;) {
    const page = await events
      .find({ _id: { $gt: position } }, { sort: { _id: 1 }, limit, projection: { payloadText: 1 } })
      .toArray();
    for (const { payloadText } of page) sum += (JSON.parse(payloadText) as { version: number }).version;
    const last = page.at(-1);
    if (last === undefined) break;
    position = last._id;
    await cursors.updateOne(
      { _id: "bare" },
      { $set: { position } },
      { upsert: true, writeConcern: { w: "majority", journal: true } },
    );
  }
  await client.close();
  return sum;
};
