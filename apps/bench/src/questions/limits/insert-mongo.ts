import { MongoClient } from "mongodb";

/** Inserts a batch per call, as a majority has it. In ms. */
export const insertIntoCollection = async (
  url: string,
  database: string,
  batches: readonly (readonly string[])[],
): Promise<number> => {
  const client = await new MongoClient(url).connect();
  const log = client.db(database).collection<{ readonly payload: string }>("bare_log");
  const startedMs = performance.now();
  for (const batch of batches) {
    const documents = batch.map((payload) => ({ payload }));
    await log.insertMany(documents, { writeConcern: { w: "majority", journal: true } });
  }
  const tookMs = performance.now() - startedMs;
  await client.close();
  return tookMs;
};
