/** `insert`, `update` and `delete`: statements one by one, each with its own error or none. */
import { Int32 } from "bson";
import { CommandError } from "../errors.ts";
import { insertDoc } from "../storage/write.ts";
import { withId } from "../update/update.ts";
import { type Doc, newObjectId } from "../values/document.ts";
import { countOf, docOf, docsOf, flagOf, integer, onlyFields } from "../values/expect.ts";
import { removeMatching } from "./remove.ts";
import type { Command, Request } from "./request.ts";
import { updateMatching } from "./update-matching.ts";

const MAX_STATEMENTS = 100_000;

type Run = (statement: Doc, number: number) => Promise<Doc>;

export const insert: Command = async (request) => {
  request.allow("documents", "ordered", "bypassDocumentValidation");
  const docs = docsOf(request.body.documents, "documents").map((doc) => withId(newObjectId(), doc));
  for (const { _id } of docs) if (Array.isArray(_id)) throw new CommandError(53, "The '_id' value cannot be of type array");
  const { results, errors } = await runAll(request, docs, (doc, number) =>
    request.statement(number, (transaction) => {
      // found anew after a wait: it may have been dropped
      insertDoc(request.server.store, transaction, request.server.store.collection(request.database, request.target), doc);
      return { n: new Int32(1) };
    }),
  );
  return { n: total(results, "n"), ...errors };
};

export const update: Command = async (request) => {
  request.allow("updates", "ordered", "bypassDocumentValidation");
  const { results, errors } = await runAll(request, docsOf(request.body.updates, "updates"), (statement, number) => {
    onlyFields(statement, "update.updates", ["q", "u", "upsert", "multi", "arrayFilters", "hint"]);
    return request.statement(number, (transaction) =>
      updateMatching(request, transaction, {
        filter: docOf(statement.q, "q"),
        update: statement.u,
        arrayFilters: statement.arrayFilters === undefined ? [] : docsOf(statement.arrayFilters, "arrayFilters"),
        upsert: flagOf(statement.upsert),
        multi: flagOf(statement.multi),
      }),
    );
  });
  const upserted = results.flatMap(({ number, result }) =>
    result.upserted === undefined ? [] : [{ index: new Int32(number), _id: docOf(result.upserted, "upserted")._id }],
  );
  return {
    n: total(results, "n"),
    nModified: total(results, "nModified"),
    ...(upserted.length > 0 ? { upserted } : {}),
    ...errors,
  };
};

export const remove: Command = async (request) => {
  request.allow("deletes", "ordered");
  const { results, errors } = await runAll(request, docsOf(request.body.deletes, "deletes"), (statement, number) => {
    onlyFields(statement, "delete.deletes", ["q", "limit", "hint"]);
    const limit = integer(statement.limit, "limit");
    if (limit !== 0 && limit !== 1) throw new CommandError(9, "The limit field in delete objects must be 0 or 1.");
    return request.statement(number, (transaction) => removeMatching(request, transaction, docOf(statement.q, "q"), limit === 1));
  });
  return { n: total(results, "n"), ...errors };
};

interface Results {
  readonly results: readonly { readonly number: number; readonly result: Doc }[];
  readonly errors: Doc;
}

/** In order, up to the first error; or all of them. In a transaction an error ends it; one that is transient is the command's. */
const runAll = async (request: Request, statements: readonly Doc[], run: Run): Promise<Results> => {
  if (statements.length === 0 || statements.length > MAX_STATEMENTS)
    throw new CommandError(16, `Write batch sizes must be between 1 and ${MAX_STATEMENTS}. Got ${statements.length} operations.`);
  const ordered = request.body.ordered !== false;
  const results: { number: number; result: Doc }[] = [];
  const writeErrors: Doc[] = [];
  for (const [number, statement] of statements.entries()) {
    try {
      results.push({ number, result: await run(statement, number + countOf(request.body.stmtId, "stmtId")) });
    } catch (error) {
      if (!(error instanceof CommandError) || error.code === 112 || error.code === 50) throw error;
      writeErrors.push({ index: new Int32(number), code: new Int32(error.code), errmsg: error.message, ...error.fields });
      if (request.transaction !== null) request.server.store.abort(request.transaction);
      if (ordered || request.transaction !== null) break;
    }
  }
  return { results, errors: writeErrors.length > 0 ? { writeErrors } : {} };
};

const total = (results: Results["results"], name: "n" | "nModified"): Int32 =>
  new Int32(results.reduce((sum, { result }) => sum + countOf(result[name], name), 0));
