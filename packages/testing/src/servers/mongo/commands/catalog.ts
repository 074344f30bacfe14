/** Databases, collections and their indexes. */
import { Int32 } from "bson";
import { CommandError, refuse } from "../errors.ts";
import { compileFilter } from "../query/match.ts";
import type { Collection } from "../storage/collection.ts";
import { Index } from "../storage/index.ts";
import { parseIndex } from "../storage/index-spec.ts";
import type { Store } from "../storage/store.ts";
import { duplicateKey } from "../storage/write.ts";
import { same } from "../values/compare.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { docOf, docsOf, flagOf } from "../values/expect.ts";
import { count } from "../values/numbers.ts";
import { listCursor, open } from "./cursors.ts";
import type { Command, Request } from "./request.ts";

export const listDatabases: Command = (request) => {
  request.allow("filter", "nameOnly", "authorizedDatabases");
  const names = request.server.store.databases;
  return { databases: names.map((name) => ({ name, sizeOnDisk: count(0), empty: false })), totalSize: count(0) };
};

export const dropDatabase: Command = async (request) => {
  request.allow();
  for (const collection of request.server.store.collectionsOf(request.database)) await removeCollection(request, collection);
  const { store } = request.server;
  store.define({ dropDatabase: true, db: request.database }, null);
  store.oplog.appendDrop(store.now, "dropDatabase", request.database, "");
  return { dropped: request.database };
};

export const listCollections: Command = (request) => {
  request.allow("filter", "nameOnly", "cursor", "authorizedCollections");
  const matches = compileFilter(request.body.filter === undefined ? {} : docOf(request.body.filter, "filter"), request.scope);
  const docs = request.server.store
    .collectionsOf(request.database)
    .map(({ name, uuid }) => ({ name, type: "collection", options: {}, info: { readOnly: false, uuid }, idIndex: {} }))
    .filter(matches);
  return open(request, listCursor(`${request.database}.$cmd.listCollections`, docs), cursorOf(request).batchSize);
};

const cursorOf = (request: Request): Doc => (isDoc(request.body.cursor) ? request.body.cursor : {});

export const create: Command = (request) => {
  request.allow();
  const { store } = request.server;
  const collection = store.collection(request.database, request.target);
  if (collection.exists) throw new CommandError(48, `Collection ${collection.namespace} already exists.`);
  make(store, collection);
  return {};
};

const make = (store: Store, collection: Collection): void => {
  collection.exists = true;
  store.define({ create: collection.name, db: collection.database }, collection);
};

export const drop: Command = async (request) => {
  request.allow();
  const collection = request.server.store.find(request.database, request.target);
  if (collection === null || !collection.exists) return { ns: `${request.database}.${request.target}` };
  await removeCollection(request, collection);
  return { ns: collection.namespace, nIndexesWas: new Int32(collection.indexes.size) };
};

const removeCollection = async (request: Request, collection: Collection): Promise<void> => {
  const { store } = request.server;
  await writersOver(request, collection);
  store.remove(collection);
  store.define({ drop: collection.name, db: collection.database }, collection);
  store.oplog.appendDrop(store.now, "drop", collection.database, collection.name);
};

/** As the server waits for its exclusive lock. */
const writersOver = async (request: Request, collection: Collection): Promise<void> => {
  for (;;) {
    const writer = [...request.server.store.openTransactions].find(({ pending }) => pending.has(collection));
    if (writer === undefined) return;
    await writer.ended;
  }
};

export const createIndexes: Command = async (request) => {
  request.allow("indexes", "commitQuorum");
  const { store } = request.server;
  const collection = store.collection(request.database, request.target);
  const specs = docsOf(request.body.indexes, "indexes");
  const createdCollectionAutomatically = !collection.exists;
  const before = collection.indexes.size;
  await writersOver(request, collection);
  if (!collection.exists) make(store, collection);
  for (const given of specs) {
    const spec = parseIndex({ v: new Int32(2), ...given });
    if (isThere(collection, spec.given)) continue;
    const index = new Index(spec);
    for (const row of collection.rows.values()) {
      const doc = row.newest?.doc;
      for (const key of spec.unique && doc ? index.keysOf(doc) : []) {
        const [taken] = index.entries.range(key, `${key}\uffff`);
        if (taken !== undefined && doc) throw duplicateKey(collection, index, doc);
      }
      if (row.newest) index.add(row, row.newest);
    }
    collection.addIndex(spec);
    store.define({ createIndex: spec.given, db: collection.database, c: collection.name }, collection);
  }
  return {
    createdCollectionAutomatically,
    numIndexesBefore: new Int32(before),
    numIndexesAfter: new Int32(collection.indexes.size),
  };
};

/** The same again is no error; another of its name, or another name for the same, is. */
const isThere = (collection: Collection, given: Doc): boolean => {
  const named = collection.indexes.get(String(given.name));
  if (named !== undefined) {
    const alike =
      same(named.spec.given.key, given.key) &&
      flagOf(given.unique) === named.spec.unique &&
      flagOf(given.sparse) === named.spec.sparse;
    if (alike && same(named.spec.given.partialFilterExpression, given.partialFilterExpression)) return true;
    throw new CommandError(86, `An existing index has the same name as the requested index: ${named.spec.name}`);
  }
  for (const { spec } of collection.indexes.values())
    if (same(spec.given.key, given.key) && same(spec.given.partialFilterExpression, given.partialFilterExpression)) {
      if (spec.name === "_id_") return true;
      throw new CommandError(85, `Index already exists with a different name: ${spec.name}`);
    }
  return false;
};

export const dropIndexes: Command = async (request) => {
  request.allow("index");
  const { store } = request.server;
  const collection = store.find(request.database, request.target);
  if (collection === null || !collection.exists) throw new CommandError(26, `ns not found ${request.database}.${request.target}`);
  await writersOver(request, collection);
  const before = collection.indexes.size;
  for (const name of namesOf(collection, request.body.index)) {
    if (name === "_id_") throw new CommandError(72, "cannot drop _id index");
    if (!collection.indexes.delete(name)) throw new CommandError(27, `index not found with name [${name}]`);
    store.define({ dropIndex: name, db: collection.database, c: collection.name }, collection);
  }
  return { nIndexesWas: new Int32(before) };
};

const namesOf = (collection: Collection, given: unknown): readonly string[] => {
  if (given === "*") return [...collection.indexes.keys()].filter((name) => name !== "_id_");
  if (typeof given === "string") return [given];
  if (Array.isArray(given)) return given.map(String);
  const found = [...collection.indexes.values()].find(({ spec }) => same(spec.given.key, given));
  if (found === undefined) throw refuse("an index of such a key");
  return [found.spec.name];
};

export const listIndexes: Command = (request) => {
  request.allow("cursor");
  const collection = request.server.store.find(request.database, request.target);
  if (collection === null || !collection.exists)
    throw new CommandError(26, `ns does not exist: ${request.database}.${request.target}`);
  const docs = [...collection.indexes.values()].map(({ spec: { given } }) => {
    const { v, key, name, ...rest } = given;
    const shown = name === "_id_" ? {} : rest;
    return { v, key, name, ...shown };
  });
  return open(request, listCursor(`${request.database}.${request.target}`, docs), cursorOf(request).batchSize);
};
