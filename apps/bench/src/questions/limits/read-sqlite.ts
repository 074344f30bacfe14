import { openBare } from "./open-sqlite.ts";

/** By the primary key, as the store itself reads. */
const READ =
  "SELECT sequence, payload FROM rheo_events WHERE stream_id = 1 AND partition = 0 AND sequence > ? ORDER BY sequence LIMIT ?";

/** Reads `limit` payloads at a time as JSON values and commits a cursor for each batch. */
export const readAllOfFile = (file: string, synchronous: string, limit: number): number => {
  const database = openBare(file, synchronous);
  database.exec("CREATE TABLE bare_cursor (position INTEGER NOT NULL) STRICT; INSERT INTO bare_cursor VALUES (0)");
  const read = database.prepare(READ).raw();
  const move = database.prepare("UPDATE bare_cursor SET position = ?");
  let position = 0;
  let sum = 0;
  for (;;) {
    database.exec("BEGIN IMMEDIATE");
    const rows = read.all(position, limit);
    position = Number(rows.at(-1)?.[0] ?? position);
    if (rows.length > 0) move.run(position);
    database.exec("COMMIT");
    if (rows.length === 0) break;
    for (const [, payload] of rows) sum += (JSON.parse(String(payload)) as { version: number }).version;
  }
  database.close();
  return sum;
};
