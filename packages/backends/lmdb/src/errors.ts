/** What LMDB or the system threw, as the error a caller can act on. */
import { statfsSync } from "node:fs";
import { RheoError } from "@rheo/core";

/** LMDB's return codes that are told apart here: `lmdb.h`. */
const LMDB = {
  pageNotFound: -30_797,
  corrupted: -30_796,
  panic: -30_795,
  versionMismatch: -30_794,
  invalid: -30_793,
  mapFull: -30_792,
  readersFull: -30_790,
  badTransaction: -30_782,
} as const;

/** Errors of the system, by number and by name: LMDB reports the one, Node's file system the other. */
const SYSTEM = {
  EPERM: 1,
  ENOENT: 2,
  EIO: 5,
  ENOMEM: 12,
  EACCES: 13,
  ENOTDIR: 20,
  ENFILE: 23,
  EMFILE: 24,
  ENOSPC: 28,
  EROFS: 30,
  EDQUOT: 122,
} as const;

const SYSTEM_BY_NAME: ReadonlyMap<string, number> = new Map(Object.entries(SYSTEM));

const ROOM = "the disk is full, or a quota is reached; make room, or trim streams, and try again";
const RIGHTS = "access was denied; the directory and the files in it must be readable and writable for this user";
const DAMAGE = "its file is damaged; restore the directory from a backup";

const ADVICE: Readonly<Record<number, string>> = {
  [LMDB.pageNotFound]: DAMAGE,
  [LMDB.corrupted]: DAMAGE,
  [LMDB.panic]:
    "an earlier write failed in a way that LMDB cannot go on from; close it, see what the disk says, and open it again",
  [LMDB.versionMismatch]: "its file is of another version of LMDB, or of another program; give Rheo a directory of its own",
  [LMDB.invalid]:
    "its data.mdb is not an LMDB file, or is cut short; give Rheo a directory of its own, or restore it from a backup",
  [LMDB.mapFull]:
    "the map of the file could not grow; raise the limit on address space (ulimit -v, the memory limit of the container), or trim streams",
  [LMDB.readersFull]: "too many readers have it open; close what else reads it",
  [LMDB.badTransaction]: "a write inside the transaction failed: most likely the disk is full, or the map could not grow",
  [SYSTEM.EPERM]: RIGHTS,
  [SYSTEM.ENOENT]: "a part of its path does not exist",
  [SYSTEM.EIO]: "the operating system reported a read or write error; check the disk",
  [SYSTEM.ENOMEM]:
    "its file could not be mapped; raise the limit on address space (ulimit -v, the memory limit of the container)",
  [SYSTEM.EACCES]: RIGHTS,
  [SYSTEM.ENOTDIR]: "it is not a directory",
  [SYSTEM.ENFILE]: "the system has too many open files",
  [SYSTEM.EMFILE]: "this process has too many open files; raise ulimit -n",
  [SYSTEM.ENOSPC]: ROOM,
  [SYSTEM.EROFS]: "its file system can only be read; mount it for writing, or move the directory",
  [SYSTEM.EDQUOT]: ROOM,
};

/** The number of an exception of LMDB's or of the file system's; null when it is neither. */
const numberOf = (error: unknown): number | null => {
  if (!(error instanceof Error) || !("code" in error)) return null;
  if (typeof error.code === "number") return error.code;
  return typeof error.code === "string" ? (SYSTEM_BY_NAME.get(error.code) ?? null) : null;
};

/** A failure after which nothing was applied. What is no failure of the store passes unchanged. */
export const unavailable = (path: string, error: unknown): unknown => {
  const number = numberOf(error);
  if (number === null || error instanceof RheoError) return error;
  const reason = ADVICE[number] ?? (error instanceof Error ? error.message : "LMDB failed");
  return new RheoError("unavailable", `LMDB store ${path}: ${reason}. Nothing was written.`, {}, { cause: error });
};

/** What a commit failed with. LMDB reports a page that was only half written for want of room as an I/O error. */
export const commitFailure = (path: string, error: unknown): unknown => {
  const number = numberOf(error);
  const isDoubtful = number === LMDB.panic || number === SYSTEM.EIO;
  if (!isDoubtful) return unavailable(path, error);
  if (number !== LMDB.panic && isFull(path))
    return new RheoError("unavailable", `LMDB store ${path}: ${ROOM}. Nothing was written.`, {}, { cause: error });
  return outcomeUnknown(path, error);
};

/** Less room than one large append takes, in bytes. */
const LITTLE_ROOM_BYTES = 67_108_864;

export const isFull = (path: string, bytes: number = LITTLE_ROOM_BYTES): boolean => {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize < bytes;
};

const outcomeUnknown = (path: string, cause: unknown): RheoError =>
  new RheoError(
    "outcome_unknown",
    `LMDB store ${path}: the commit failed, and whether it took effect cannot be known. The same call may be repeated.`,
    {},
    { cause },
  );

/** Something that must be there is not. */
export const lost = (path: string, what: string): RheoError =>
  new RheoError(
    "unavailable",
    `LMDB store ${path}: ${what} cannot be found: the file is damaged. Restore the directory from a backup.`,
  );

/** A value whose checksum does not fit. */
export const damaged = (path: string, key: Buffer): RheoError =>
  new RheoError(
    "unavailable",
    `LMDB store ${path}: the record ${key.toString("hex")} is damaged (its checksum does not fit). Restore the directory from a backup. Nothing was written.`,
  );

export const refused = (path: string, why: string, cause?: unknown): RheoError =>
  new RheoError("unavailable", `LMDB store ${path}: ${why}`, {}, cause === undefined ? {} : { cause });

export const closed = (path: string): RheoError => new RheoError("closed", `LMDB store ${path} has been closed.`);
