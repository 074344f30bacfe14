import { openBare } from "./open-sqlite.ts";

/** Inserts a batch per transaction into a table with nothing but a key. In ms. */
export const insertIntoFile = (file: string, synchronous: string, batches: readonly (readonly string[])[]): number => {
  const database = openBare(file, synchronous);
  database.exec("CREATE TABLE bare_log (sequence INTEGER PRIMARY KEY, payload TEXT NOT NULL) STRICT");
  const insert = database.prepare("INSERT INTO bare_log (payload) VALUES (?)");
  const startedMs = performance.now();
  for (const batch of batches) {
    database.exec("BEGIN IMMEDIATE");
    for (const payload of batch) insert.run(payload);
    database.exec("COMMIT");
  }
  const tookMs = performance.now() - startedMs;
  database.close();
  return tookMs;
};
