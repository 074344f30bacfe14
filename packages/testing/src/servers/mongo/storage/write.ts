/**
 * Writes of a transaction. One that meets a row or a unique key of another open transaction, or one committed after its snapshot, is a
 * write conflict; a statement outside of transactions waits instead, as the server retries it.
 */
import { ObjectId } from "bson";
import { CommandError } from "../errors.ts";
import { type Doc, sizeOf } from "../values/document.ts";
import { keyOf } from "../values/key.ts";
import type { Collection } from "./collection.ts";
import type { Index } from "./index.ts";
import { keyValue } from "./index-keys.ts";
import type { Row } from "./row.ts";
import type { Store } from "./store.ts";
import { Blocked, type Change, type Transaction } from "./transaction.ts";

const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** `doc` has an `_id`, and it first. */
export const insertDoc = (store: Store, transaction: Transaction, collection: Collection, doc: Doc): void => {
  const row = collection.rowFor(keyOf(doc._id));
  write(store, transaction, { kind: "insert", collection, row, id: doc._id, before: null, doc });
};

/** Of a row that the transaction sees as `before`. */
export const writeDoc = (store: Store, transaction: Transaction, change: Change): void => write(store, transaction, change);

const conflict = (what: string): CommandError =>
  new CommandError(
    112,
    `WriteConflict error: this operation conflicted with another operation (${what}). Please retry your operation or multi-document transaction.`,
  );

const write = (store: Store, transaction: Transaction, change: Change): void => {
  const { collection, row, doc, before, kind } = change;
  if (doc !== null) checkSize(sizeOf(doc));
  if (!transaction.single && collection.changedAt > transaction.snapshot)
    throw conflict(`the catalog of ${collection.namespace} changed`);
  lockRow(transaction, collection, row);
  const current = transaction.read(collection, row);
  if (kind === "insert" && current !== null) throw duplicate(collection, collection.indexes.get("_id_"), current);
  for (const index of collection.indexes.values())
    if (index.spec.unique && index.spec.name !== "_id_") claimKeys(store, transaction, collection, index, row, before, doc);
  row.holder = transaction;
  pendingOf(transaction, collection).set(row, doc);
  transaction.changes.push(change);
};

const checkSize = (bytes: number): void => {
  if (bytes > MAX_DOCUMENT_BYTES)
    throw new CommandError(10_334, `BSONObj size: ${bytes} is invalid. Size must be between 0 and ${MAX_DOCUMENT_BYTES}(16MB)`);
};

const pendingOf = (transaction: Transaction, collection: Collection): Map<Row, Doc | null> => {
  const found = transaction.pending.get(collection);
  if (found !== undefined) return found;
  const made = new Map<Row, Doc | null>();
  transaction.pending.set(collection, made);
  return made;
};

const lockRow = (transaction: Transaction, collection: Collection, row: Row): void => {
  if (row.holder !== null && row.holder !== transaction) throw blocked(transaction, row.holder, collection.namespace);
  if ((row.newest?.at ?? 0) > transaction.snapshot) throw conflict(`a document of ${collection.namespace} changed since`);
};

const blocked = (transaction: Transaction, holder: Transaction, what: string): Error =>
  transaction.single ? new Blocked(holder) : conflict(`another transaction writes to ${what}`);

const claimKeys = (
  store: Store,
  transaction: Transaction,
  collection: Collection,
  index: Index,
  row: Row,
  before: Doc | null,
  doc: Doc | null,
): void => {
  const old = new Set(before === null ? [] : index.keysOf(before));
  const now = new Set(doc === null ? [] : index.keysOf(doc));
  for (const key of new Set([...old, ...now])) {
    if (old.has(key) && now.has(key)) continue;
    const claim = `${collection.namespace}\0${index.spec.name}\0${key}`;
    const holder = store.claims.get(claim);
    if (holder !== undefined && holder !== transaction)
      throw blocked(transaction, holder, `a unique key of ${collection.namespace}`);
    if (now.has(key) && doc !== null) checkUnique(transaction, collection, index, row, key, doc, transaction.claims.has(claim));
    store.claims.set(claim, transaction);
    transaction.claims.add(claim);
  }
};

/** Versions that ended after the snapshot conflict, too: their key was there when the transaction began. */
const checkUnique = (
  transaction: Transaction,
  collection: Collection,
  index: Index,
  row: Row,
  key: string,
  doc: Doc,
  isOwn: boolean,
): void => {
  // only a key that the transaction has taken before can be in what it wrote
  for (const [other, pending] of isOwn ? transaction.written(collection) : [])
    if (other !== row && pending !== null && index.keysOf(pending).includes(key)) throw duplicate(collection, index, doc);
  for (const [, entry] of index.entries.range(key, `${key}\uffff`)) {
    if (entry.row === row || transaction.written(collection).has(entry.row)) continue;
    if (entry.row.newest === entry.version && entry.version.at <= transaction.snapshot) throw duplicate(collection, index, doc);
    if ((entry.row.newest?.at ?? 0) > transaction.snapshot)
      throw conflict(`a unique key of ${collection.namespace} was written since`);
  }
};

const duplicate = (collection: Collection, index: Index | undefined, doc: Doc): CommandError => {
  if (index === undefined) throw new TypeError("every collection has its index on _id");
  return duplicateKey(collection, index, doc);
};

export const duplicateKey = (collection: Collection, index: Index, doc: Doc): CommandError => {
  const value = keyValue(index.spec, doc);
  const shown = Object.entries(value).map(([name, part]) => `${name}: ${show(part)}`);
  return new CommandError(
    11_000,
    `E11000 duplicate key error collection: ${collection.namespace} index: ${index.spec.name} dup key: { ${shown.join(", ")} }`,
    { keyPattern: index.spec.given.key, keyValue: value },
  );
};

const show = (value: unknown): string =>
  value instanceof ObjectId ? `ObjectId('${value.toHexString()}')` : (JSON.stringify(value) ?? "null");
