/** Makes a store of what a journal holds. */
import { Long } from "bson";
import { type Doc, isDoc, isNumeric, toNumber } from "../values/document.ts";
import { docOf, textOf } from "../values/expect.ts";
import { keyOf } from "../values/key.ts";
import { parseIndex } from "./index-spec.ts";
import { readJournal } from "./journal.ts";
import type { Sessions } from "./sessions.ts";
import type { Store } from "./store.ts";
import { type Change, Transaction } from "./transaction.ts";

export const replay = (path: string, store: Store, sessions: Sessions): void => {
  for (const { head, changes } of readJournal(path)) {
    const at = isNumeric(head.at) ? toNumber(head.at) : 0;
    store.setTime(at);
    if (isDoc(head.define)) define(head.define, at, store);
    else replayCommit(changes, at, store);
    if (isDoc(head.note)) recall(head.note, sessions);
  }
};

const replayCommit = (changes: readonly Doc[], at: number, store: Store): void => {
  const transaction = new Transaction(at, true);
  for (const { kind, db, c, id, doc } of changes) {
    const collection = store.collection(textOf(db, "db"), textOf(c, "c"));
    const row = collection.rowFor(keyOf(id));
    const pending = transaction.pending.get(collection) ?? new Map();
    const before = transaction.read(collection, row);
    transaction.pending.set(collection, pending.set(row, isDoc(doc) ? doc : null));
    transaction.changes.push({ kind: kindOf(kind), collection, row, id, before, doc: isDoc(doc) ? doc : null });
  }
  store.apply(transaction, at);
  for (const [collection, rows] of transaction.pending) for (const row of rows.keys()) collection.forget(row, at);
};

const KINDS = ["insert", "update", "replace", "delete"] as const;
const kindOf = (kind: unknown): Change["kind"] => KINDS.find((one) => one === kind) ?? "replace";

const define = (entry: Doc, at: number, store: Store): void => {
  const database = textOf(entry.db, "db");
  if (entry.dropDatabase === true) return store.oplog.appendDrop(at, "dropDatabase", database, "");
  if (typeof entry.drop === "string") {
    const dropped = store.find(database, entry.drop);
    if (dropped !== null) store.remove(dropped);
    store.oplog.appendDrop(at, "drop", database, entry.drop);
    return;
  }
  const collection = store.collection(database, textOf(entry.create ?? entry.c, "c"));
  collection.exists = true;
  collection.changedAt = at;
  if (isDoc(entry.createIndex)) collection.addIndex(parseIndex(entry.createIndex));
  if (typeof entry.dropIndex === "string") collection.indexes.delete(entry.dropIndex);
};

const recall = (note: Doc, sessions: Sessions): void => {
  if (!(note.transactionNumber instanceof Long)) return;
  sessions.recall({
    keep: false,
    session: textOf(note.session, "session"),
    transactionNumber: note.transactionNumber.toBigInt(),
    statement: isNumeric(note.statement) ? toNumber(note.statement) : null,
    result: docOf(note.result, "result"),
  });
};
