import { Int32 } from "bson";
import { CommandError } from "../errors.ts";
import { search } from "../storage/read.ts";
import type { Row } from "../storage/row.ts";
import type { Transaction } from "../storage/transaction.ts";
import { insertDoc, writeDoc } from "../storage/write.ts";
import { parseUpdate, seedOf, type Update, withId } from "../update/update.ts";
import { type Doc, newObjectId, sameBytes } from "../values/document.ts";
import type { Request } from "./request.ts";

export interface UpdateStatement {
  readonly filter: Doc;
  readonly update: unknown;
  readonly arrayFilters: readonly Doc[];
  readonly upsert: boolean;
  readonly multi: boolean;
}

/** `{ n, nModified, upserted? }` */
export const updateMatching = (request: Request, transaction: Transaction, statement: UpdateStatement): Doc => {
  const { filter, upsert, multi } = statement;
  const { scope, server } = request;
  const collection = server.store.collection(request.database, request.target);
  const update = parseUpdate(statement.update, statement.arrayFilters, filter, scope);
  if (multi && update.replaces) throw new CommandError(9, "multi update is not supported for replacement-style update");
  const found = search(transaction, collection, { filter, scope, sort: [], limit: multi ? Number.POSITIVE_INFINITY : 1 });
  if (found.length === 0 && upsert)
    return { n: new Int32(1), nModified: new Int32(0), upserted: { _id: insertFor(request, transaction, filter, update)._id } };
  let modified = 0;
  for (const { row, doc } of found) if (rewrite(request, transaction, row, doc, update) !== doc) modified++;
  return { n: new Int32(found.length), nModified: new Int32(modified) };
};

/** What it is now; the same document when nothing changed, which writes nothing, and so conflicts with nobody. */
export const rewrite = (request: Request, transaction: Transaction, row: Row, before: Doc, update: Update): Doc => {
  const doc = update.apply(before, false);
  if (sameBytes(before, doc)) return before;
  const collection = request.server.store.collection(request.database, request.target);
  writeDoc(request.server.store, transaction, {
    kind: update.replaces ? "replace" : "update",
    collection,
    row,
    id: before._id,
    before,
    doc,
  });
  return doc;
};

/** The document that an upsert made. */
export const insertFor = (request: Request, transaction: Transaction, filter: Doc, update: Update): Doc => {
  const doc = withId(
    newObjectId(),
    update.replaces ? update.apply(idOf(seedOf(filter)), true) : update.apply(seedOf(filter), true),
  );
  insertDoc(request.server.store, transaction, request.server.store.collection(request.database, request.target), doc);
  return doc;
};

const idOf = ({ _id }: Doc): Doc => (_id === undefined ? {} : { _id });
