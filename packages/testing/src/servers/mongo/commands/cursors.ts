/** Results that do not fit into one answer. */
import { Long } from "bson";
import { CommandError } from "../errors.ts";
import { type Doc, sizeOf } from "../values/document.ts";
import { arrayOf, countOf, textOf } from "../values/expect.ts";
import type { Command, Request } from "./request.ts";

/** As the server: so many at first when the client names no size, and no answer beyond so many bytes. */
const FIRST_BATCH = 101;
const MAX_BATCH_BYTES = 16 * 1024 * 1024;
/** Cursors that clients forgot go first. */
const MAX_CURSORS = 10_000;

export interface Cursor {
  readonly namespace: string;
  /** The next documents, and whether there will be more. */
  next(size: number, waitMs: number): Promise<{ readonly docs: readonly Doc[]; readonly over: boolean; readonly fields?: Doc }>;
}

export class Cursors {
  readonly #cursors: Map<bigint, Cursor> = new Map();
  #last = 1_000_000_000_000n;

  keep(cursor: Cursor): Long {
    this.#cursors.set(++this.#last, cursor);
    const [oldest] = this.#cursors.keys();
    if (this.#cursors.size > MAX_CURSORS && oldest !== undefined) this.#cursors.delete(oldest);
    return Long.fromBigInt(this.#last);
  }

  get(id: Long): Cursor {
    const cursor = this.#cursors.get(id.toBigInt());
    if (cursor === undefined) throw new CommandError(43, `cursor id ${id.toString()} not found`);
    return cursor;
  }

  remove(id: Long): boolean {
    return this.#cursors.delete(id.toBigInt());
  }
}

/** A cursor over documents that are all known. */
export const listCursor = (namespace: string, docs: readonly Doc[], fields: Doc = {}): Cursor => {
  let at = 0;
  return {
    namespace,
    next: (size) => {
      const from = at;
      for (let bytes = 0; at < docs.length && at - from < size; at++) {
        bytes += sizeOf(docs[at] ?? {});
        if (bytes > MAX_BATCH_BYTES && at > from) break;
      }
      return Promise.resolve({ docs: docs.slice(from, at), over: at >= docs.length, fields });
    },
  };
};

/** The first answer of a cursor. */
export const open = async (request: Request, cursor: Cursor, batchSize: unknown, single = false): Promise<Doc> => {
  const size = batchSize === undefined ? FIRST_BATCH : countOf(batchSize, "batchSize");
  const { docs, over, fields } = await cursor.next(size, 0);
  const id = over || single ? Long.ZERO : request.server.cursors.keep(cursor);
  return { cursor: { firstBatch: docs, id, ns: cursor.namespace, ...fields } };
};

export const getMore: Command = async (request) => {
  request.allow("collection", "batchSize", "term", "lastKnownCommittedOpTime");
  const id = request.body.getMore;
  if (!(id instanceof Long)) throw new CommandError(14, "getMore needs the id of a cursor");
  const cursor = request.server.cursors.get(id);
  if (!cursor.namespace.endsWith(`.${textOf(request.body.collection, "collection")}`))
    throw new CommandError(13, "the cursor is of another namespace");
  const size = countOf(request.body.batchSize, "batchSize") || Number.POSITIVE_INFINITY;
  const { docs, over, fields } = await cursor.next(size, countOf(request.body.maxTimeMS, "maxTimeMS"));
  if (over) request.server.cursors.remove(id);
  return { cursor: { nextBatch: docs, id: over ? Long.ZERO : id, ns: cursor.namespace, ...fields } };
};

export const killCursors: Command = (request) => {
  const ids = arrayOf(request.body.cursors, "cursors").filter((id): id is Long => id instanceof Long);
  const killed = ids.filter((id) => request.server.cursors.remove(id));
  return {
    cursorsKilled: killed,
    cursorsNotFound: ids.filter((id) => !killed.includes(id)),
    cursorsAlive: [],
    cursorsUnknown: [],
  };
};
