/** `find`, `aggregate`, `count` and `distinct`. */
import { CommandError } from "../errors.ts";
import type { StageContext } from "../pipeline/context.ts";
import { runStages } from "../pipeline/run.ts";
import { compileFilter } from "../query/match.ts";
import { endsOf } from "../query/path.ts";
import { compileProjection } from "../query/project.ts";
import { parseSort } from "../query/sort.ts";
import { type Found, search } from "../storage/read.ts";
import type { Transaction } from "../storage/transaction.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { countOf, docOf, docsOf, flagOf, integer, textOf } from "../values/expect.ts";
import { keyOf } from "../values/key.ts";
import { count as counted, integerOf } from "../values/numbers.ts";
import { openChangeStream } from "./change-stream.ts";
import { listCursor, open } from "./cursors.ts";
import type { Command, Request } from "./request.ts";

const NO_LIMIT = Number.POSITIVE_INFINITY;

export const find: Command = (request) => {
  request.allow(
    ..."filter projection sort skip limit batchSize singleBatch hint noCursorTimeout allowDiskUse allowPartialResults".split(" "),
  );
  const { body, scope } = request;
  const filter = docOrEmpty(body.filter, "filter");
  const skip = countOf(body.skip, "skip");
  const limit = Math.abs(body.limit === undefined ? 0 : integer(body.limit, "limit")) || NO_LIMIT;
  const found = read(request, request.view(), request.target, { filter, sort: body.sort, limit: skip + limit });
  const docs = found
    .slice(skip)
    .map(({ doc }) => doc)
    .map(compileProjection(docOrEmpty(body.projection, "projection"), scope));
  return open(
    request,
    listCursor(`${request.database}.${request.target}`, docs, request.repeatable),
    body.batchSize,
    flagOf(body.singleBatch),
  );
};

export const aggregate: Command = (request) => {
  request.allow("pipeline", "cursor", "allowDiskUse", "bypassDocumentValidation", "hint");
  const { body, database } = request;
  const stages = docsOf(body.pipeline, "pipeline");
  const { batchSize } = docOf(body.cursor, "cursor");
  const collection = typeof body.aggregate === "string" ? body.aggregate : null;
  if (stages[0] !== undefined && Object.hasOwn(stages[0], "$changeStream"))
    return openChangeStream(request, collection, stages, batchSize);
  const docs = collection === null ? withoutCollection(request, stages) : overCollection(request, collection, stages);
  return open(request, listCursor(`${database}.${collection ?? "$cmd.aggregate"}`, docs, request.repeatable), batchSize);
};

const contextOf = (request: Request, view: Transaction): Pick<StageContext, "scope" | "read"> => ({
  scope: request.scope,
  read: (name) => read(request, view, name, { filter: {}, sort: undefined, limit: NO_LIMIT }).map(({ doc }) => doc),
});

const withoutCollection = (request: Request, stages: readonly Doc[]): readonly Doc[] => {
  if (stages[0] === undefined || !Object.hasOwn(stages[0], "$documents"))
    throw new CommandError(
      73,
      "{aggregate: 1} is not valid for this pipeline in the double: it must begin with $documents or $changeStream",
    );
  return runStages(stages, [], contextOf(request, request.view()));
};

/** A `$match` at first, a `$sort` and a `$limit` after it are looked up by an index. */
const overCollection = (request: Request, collection: string, stages: readonly Doc[]): readonly Doc[] => {
  const view = request.view();
  const rest = [...stages];
  const first = (name: string): unknown =>
    rest[0] !== undefined && Object.hasOwn(rest[0], name) ? rest.shift()?.[name] : undefined;
  const filter = docOrEmpty(first("$match"), "$match");
  const sort = first("$sort");
  const limit = rest[0] !== undefined && Object.hasOwn(rest[0], "$limit") ? integerOf(rest[0].$limit) : null;
  const docs = read(request, view, collection, { filter, sort, limit: limit ?? NO_LIMIT }).map(({ doc }) => doc);
  return runStages(rest, docs, contextOf(request, view));
};

export const count: Command = (request) => {
  request.allow("query", "limit", "skip", "hint", "fields");
  const { body } = request;
  const skip = countOf(body.skip, "skip");
  const limit = Math.abs(countOf(body.limit, "limit")) || NO_LIMIT;
  const filter = docOrEmpty(body.query, "query");
  const found = read(request, request.view(), request.target, { filter, sort: undefined, limit: skip + limit });
  return { n: counted(Math.max(0, found.length - skip)) };
};

export const distinct: Command = (request) => {
  request.allow("key", "query", "hint");
  const path = textOf(request.body.key, "key").split(".");
  const filter = docOrEmpty(request.body.query, "query");
  const values = new Map<string, unknown>();
  for (const { doc } of read(request, request.view(), request.target, { filter, sort: undefined, limit: NO_LIMIT }))
    for (const value of endsOf(doc, path).flatMap((end) => (Array.isArray(end) ? end : [end])))
      if (value !== undefined) values.set(keyOf(value), value);
  return { values: [...values].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value) };
};

interface Read {
  readonly filter: Doc;
  readonly sort: unknown;
  readonly limit: number;
}

const read = (request: Request, view: Transaction, name: string, { filter, sort, limit }: Read): readonly Found[] => {
  const collection = request.server.store.find(request.database, name);
  const fields = parseSort(isDoc(sort) && Object.keys(sort).length > 0 ? sort : undefined);
  if (collection === null) {
    // refused all the same when it is wrong
    compileFilter(filter, request.scope);
    return [];
  }
  return search(view, collection, { filter, scope: request.scope, sort: fields, limit });
};

const docOrEmpty = (value: unknown, name: string): Doc => (value === undefined || value === null ? {} : docOf(value, name));
