/** What a driver threw, as the error a caller can act on. */
import { RheoError } from "@rheo/core";

/** SQLite's primary result codes that are told apart here: https://www.sqlite.org/rescode.html */
const CODE = {
  perm: 3,
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  constraint: 19,
  notadb: 26,
} as const;

const CODE_OF_NAME: Readonly<Record<string, number>> = {
  SQLITE_PERM: CODE.perm,
  SQLITE_BUSY: CODE.busy,
  SQLITE_LOCKED: CODE.locked,
  SQLITE_READONLY: CODE.readonly,
  SQLITE_IOERR: CODE.ioerr,
  SQLITE_CORRUPT: CODE.corrupt,
  SQLITE_FULL: CODE.full,
  SQLITE_CANTOPEN: CODE.cantopen,
  SQLITE_CONSTRAINT: CODE.constraint,
  SQLITE_NOTADB: CODE.notadb,
};

/** Any other code: it came from SQLite all the same. */
const OTHER = 1;
const BUSY_SNAPSHOT = 517;

/** The primary result code of an exception of any driver; null when it did not come from SQLite. */
const sqliteCode = (error: unknown): number | null => {
  if (!(error instanceof Error)) return null;
  if ("errcode" in error && typeof error.errcode === "number") return error.errcode & 0xff;
  if ("code" in error && typeof error.code === "string" && error.code.startsWith("SQLITE_")) {
    const [name] = /^SQLITE_[A-Z]+/.exec(error.code) ?? [];
    return CODE_OF_NAME[name ?? ""] ?? OTHER;
  }
  // libsql reports a failure to open as text that ends in the code
  const opening = /Unable to open connection .*: (\d+)"?\)?$/s.exec(error.message);
  return opening === null ? null : Number(opening[1]) & 0xff;
};

/** Somebody else holds the lock: trying again may help. */
export const isBusy = (error: unknown): boolean => {
  const code = sqliteCode(error);
  return code === CODE.busy || code === CODE.locked;
};

/** A reader's transaction that began before somebody else's commit cannot become a writer's, however long it waits. */
export const isBusySnapshot = (error: unknown): boolean =>
  error instanceof Error &&
  (("errcode" in error && error.errcode === BUSY_SNAPSHOT) ||
    ("code" in error && error.code === "SQLITE_BUSY_SNAPSHOT") ||
    ("rawCode" in error && error.rawCode === BUSY_SNAPSHOT));

/** A unique index refused a row. */
export const isConstraint = (error: unknown): boolean => sqliteCode(error) === CODE.constraint;

/** A commit that failed with an I/O error may have reached the log, and then a recovery would find it there. */
export const isCommitDoubtful = (error: unknown): boolean => {
  const code = sqliteCode(error);
  return code !== CODE.busy && code !== CODE.locked && code !== CODE.full && code !== CODE.constraint && code !== CODE.readonly;
};

const ADVICE: Readonly<Record<number, string>> = {
  [CODE.perm]: "access was denied; check the permissions of the file and its directory",
  [CODE.busy]: "another process or connection holds its lock",
  [CODE.locked]: "another connection holds its lock",
  [CODE.readonly]: "it can only be read; the file, its directory and the -wal and -shm beside it must be writable",
  [CODE.ioerr]: "the operating system reported a read or write error",
  [CODE.corrupt]: "it is damaged; restore it from a backup or rescue what can be with sqlite3's .recover",
  [CODE.full]: "the disk is full, or the limit on the size of the database is reached; make room and try again",
  [CODE.cantopen]: "it cannot be opened or created; check that the directory exists and may be written to",
  [CODE.notadb]: "it is not a SQLite database (or is encrypted)",
};

/** A failure after which nothing was applied. What is no failure of the store passes unchanged. */
export const unavailable = (store: string, error: unknown): unknown => {
  const reason = reasonOf(error);
  return reason === null
    ? error
    : new RheoError("unavailable", `${store}: ${reason}. Nothing was written.`, {}, { cause: error });
};

const reasonOf = (error: unknown): string | null => {
  if (isBusySnapshot(error))
    return "the transaction has read what somebody else changed since, so it can no longer write; begin it with BEGIN IMMEDIATE";
  if (isClosedHandle(error)) return "the handle has been closed";
  const code = sqliteCode(error);
  if (code === null) return null;
  return ADVICE[code] ?? (error instanceof Error ? error.message : "SQLite failed");
};

/** better-sqlite3 and libsql throw a TypeError, node:sqlite an error of Node's. */
const isClosedHandle = (error: unknown): boolean =>
  error instanceof Error && /database (connection )?is not open/.test(error.message);

export const outcomeUnknown = (store: string, cause: unknown): RheoError =>
  new RheoError(
    "outcome_unknown",
    `${store}: the commit failed, and whether it took effect cannot be known. The same call may be repeated.`,
    {},
    { cause },
  );

export const closed = (store: string): RheoError => new RheoError("closed", `${store} has been closed.`);
