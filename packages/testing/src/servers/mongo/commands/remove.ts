import { Int32 } from "bson";
import { search } from "../storage/read.ts";
import type { Transaction } from "../storage/transaction.ts";
import { writeDoc } from "../storage/write.ts";
import type { Doc } from "../values/document.ts";
import type { Request } from "./request.ts";

/** `{ n }` */
export const removeMatching = (request: Request, transaction: Transaction, filter: Doc, one: boolean): Doc => {
  const { server, scope } = request;
  const collection = server.store.collection(request.database, request.target);
  const found = search(transaction, collection, { filter, scope, sort: [], limit: one ? 1 : Number.POSITIVE_INFINITY });
  for (const { row, doc } of found)
    writeDoc(server.store, transaction, { kind: "delete", collection, row, id: doc._id, before: doc, doc: null });
  return { n: new Int32(found.length) };
};
