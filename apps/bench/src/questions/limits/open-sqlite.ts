import { createRequire } from "node:module";

interface BareDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { raw(): { all(...values: unknown[]): unknown[][] }; run(...values: unknown[]): unknown };
  close(): void;
}

/** A file that a store made, without the store. */
export const openBare = (file: string, synchronous: string): BareDatabase => {
  const Database = createRequire(import.meta.url)("libsql") as new (file: string) => BareDatabase; // its documented shape
  const database = new Database(file);
  database.exec(`PRAGMA synchronous = ${synchronous}`);
  return database;
};
