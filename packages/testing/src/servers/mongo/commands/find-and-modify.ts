import { Int32 } from "bson";
import { CommandError } from "../errors.ts";
import { compileProjection } from "../query/project.ts";
import { parseSort } from "../query/sort.ts";
import { search } from "../storage/read.ts";
import type { Transaction } from "../storage/transaction.ts";
import { writeDoc } from "../storage/write.ts";
import { parseUpdate } from "../update/update.ts";
import type { Doc } from "../values/document.ts";
import { docOf, docsOf, flagOf } from "../values/expect.ts";
import type { Command, Request } from "./request.ts";
import { insertFor, rewrite } from "./update-matching.ts";

export const findAndModify: Command = (request) => {
  request.allow(
    "query",
    "sort",
    "remove",
    "update",
    "new",
    "fields",
    "upsert",
    "arrayFilters",
    "bypassDocumentValidation",
    "hint",
  );
  const { body } = request;
  if (flagOf(body.remove) === (body.update !== undefined))
    throw new CommandError(9, "Either an update or remove=true must be specified");
  return request.statement(0, (transaction) => modify(request, transaction));
};

const modify = (request: Request, transaction: Transaction): Doc => {
  const { body, scope, server } = request;
  const collection = server.store.collection(request.database, request.target);
  const filter = body.query === undefined ? {} : docOf(body.query, "query");
  const [found] = search(transaction, collection, { filter, scope, sort: parseSort(body.sort ?? undefined), limit: 1 });
  const project = compileProjection(body.fields === undefined ? {} : docOf(body.fields, "fields"), scope);
  const shown = (doc: Doc | null): Doc | null => doc && project(doc);
  if (flagOf(body.remove)) {
    if (found !== undefined)
      writeDoc(server.store, transaction, {
        kind: "delete",
        collection,
        row: found.row,
        id: found.doc._id,
        before: found.doc,
        doc: null,
      });
    return { lastErrorObject: { n: new Int32(found === undefined ? 0 : 1) }, value: shown(found?.doc ?? null) };
  }
  const update = parseUpdate(
    body.update,
    body.arrayFilters === undefined ? [] : docsOf(body.arrayFilters, "arrayFilters"),
    filter,
    scope,
  );
  if (found !== undefined) {
    const doc = rewrite(request, transaction, found.row, found.doc, update);
    return { lastErrorObject: { n: new Int32(1), updatedExisting: true }, value: shown(flagOf(body.new) ? doc : found.doc) };
  }
  if (!flagOf(body.upsert)) return { lastErrorObject: { n: new Int32(0), updatedExisting: false }, value: null };
  const doc = insertFor(request, transaction, filter, update);
  return {
    lastErrorObject: { n: new Int32(1), updatedExisting: false, upserted: doc._id },
    value: shown(flagOf(body.new) ? doc : null),
  };
};
