import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Backend } from "@rheo/core";
import { type BetterSqlite3Constructor, type BetterSqlite3Handle, sqlite } from "@rheo/sqlite";
import { type CallerTransaction, OtherProcess, type StoreUnderTest, type TransactionFixture } from "@rheo/testing";

const require = createRequire(import.meta.url);

/** Memory where the system has a file system in it, so that closing thousands of stores waits for no disk. */
const TEMPORARY = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

const Libsql = require("libsql") as BetterSqlite3Constructor; // it has no types of its own; the same calls as better-sqlite3

/** A fresh file for each store, and further handles on it: here, or in another process. */
export const sqliteStore = (other?: OtherProcess): StoreUnderTest => {
  const directory = mkdtempSync(join(TEMPORARY, "rheo-contract-"));
  const options = { file: join(directory, "store.db"), synchronous: "normal" } as const;
  // handed in as the caller's own library, it is closed without the garbage collection that would be most of a case's time
  const open = (): Backend => sqlite({ ...options, driver: Libsql });
  const transactions = callersTransactions(options.file);
  return {
    backend: open(),
    again: () => (other === undefined ? open() : other.backend({ ...options, driver: "libsql" }, open())),
    transactions,
    dispose: () => {
      transactions.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

export const sqliteProcess = (): Promise<OtherProcess> =>
  OtherProcess.start({ module: pathToFileURL(require.resolve("@rheo/sqlite")).href, name: "sqlite" });

const callersTransactions = (file: string): TransactionFixture & { close(): void } => {
  let opened: BetterSqlite3Handle | null = null;
  const database = (): BetterSqlite3Handle => {
    if (opened !== null) return opened;
    opened = new Libsql(file);
    opened.exec("PRAGMA busy_timeout = 2000; CREATE TABLE IF NOT EXISTS note (text TEXT NOT NULL)");
    return opened;
  };
  const begin = async (): Promise<CallerTransaction> => {
    const handle = database();
    handle.exec("BEGIN IMMEDIATE");
    return {
      transaction: handle,
      note: async (text) => void handle.prepare("INSERT INTO note (text) VALUES (?)").run(text),
      commit: async () => void handle.exec("COMMIT"),
      rollback: async () => void handle.exec("ROLLBACK"),
    };
  };
  const notes = async (): Promise<string[]> =>
    database()
      .prepare("SELECT text FROM note")
      .all()
      .map((row) => String(Reflect.get(Object(row), "text")));
  return { begin, notes, close: () => opened?.close() };
};
