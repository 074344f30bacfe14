/**
 * What was committed, appended to a file before it is answered: a killed process loses nothing of that. Each entry is BSON documents after
 * their length and checksum; what a kill has torn off is cut at the next start. It is never compacted: servers of tests live for minutes.
 */
import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";
import { Double, Long } from "bson";
import { type Doc, decode, encode } from "../values/document.ts";
import type { Change } from "./transaction.ts";

/** What a session must still know after a restart: that a transaction was committed, or what a retryable statement came to. */
export interface SessionNote {
  /** Written even when nothing else was. */
  readonly keep: boolean;
  readonly session: string;
  readonly transactionNumber: bigint;
  /** Null of a transaction. */
  readonly statement: number | null;
  readonly result: Doc;
}

export interface JournalEntry {
  readonly at: number;
  readonly changes: readonly Change[];
  readonly note: SessionNote | null;
  /** A change of collections or indexes. */
  readonly define?: Doc;
}

/** Its length and checksum stand before each. */
const FRAME_BYTES = 8;

export class Journal {
  readonly #file: number;
  readonly #sync: boolean;

  constructor(path: string, sync: boolean) {
    this.#file = openSync(path, "a");
    this.#sync = sync;
  }

  write({ at, changes, note, define }: JournalEntry): void {
    const head = encode({
      at: new Double(at),
      note: note === null ? null : { ...note, transactionNumber: Long.fromBigInt(note.transactionNumber) },
      define: define ?? null,
    });
    // each by itself, as together they may be more than one document can hold
    const docs = changes.map(({ kind, collection, id, doc }) =>
      encode({ kind, db: collection.database, c: collection.name, id, doc }),
    );
    const bytes = Buffer.concat([head, ...docs]);
    const frame = Buffer.alloc(FRAME_BYTES);
    frame.writeUInt32LE(bytes.length);
    frame.writeUInt32LE(crc32(bytes), 4);
    writeAll(this.#file, Buffer.concat([frame, bytes]));
    if (this.#sync) fsyncSync(this.#file);
  }
}

const writeAll = (file: number, bytes: Buffer): void => {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
};

/** What a commit was, as documents: what is common to its changes, and those. */
export interface WrittenEntry {
  readonly head: Doc;
  readonly changes: readonly Doc[];
}

/** The entries of a file, which is cut where they end. */
export const readJournal = (path: string): readonly WrittenEntry[] => {
  const file = openSync(path, "a+");
  try {
    const bytes = readFileSync(path);
    const entries: WrittenEntry[] = [];
    let at = 0;
    for (let end = endAt(bytes, at); end !== null; end = endAt(bytes, at)) {
      const [head = {}, ...changes] = docsIn(bytes.subarray(at + FRAME_BYTES, end));
      entries.push({ head, changes });
      at = end;
    }
    if (at < bytes.length) ftruncateSync(file, at);
    return entries;
  } finally {
    closeSync(file);
  }
};

/** Null when no whole entry is there. */
const endAt = (bytes: Buffer, at: number): number | null => {
  if (at + FRAME_BYTES > bytes.length) return null;
  const end = at + FRAME_BYTES + bytes.readUInt32LE(at);
  if (end > bytes.length) return null;
  return crc32(bytes.subarray(at + FRAME_BYTES, end)) === bytes.readUInt32LE(at + 4) ? end : null;
};

const docsIn = (bytes: Buffer): readonly Doc[] => {
  const docs: Doc[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at))
    docs.push(decode(bytes.subarray(at, at + bytes.readInt32LE(at))));
  return docs;
};
