import type { OplogEntry } from "../storage/oplog.ts";
import type { Store } from "../storage/store.ts";
import { toTimestamp } from "../storage/time.ts";
import { type Doc, isDoc, sameBytes, setField } from "../values/document.ts";
import { keyOf } from "../values/key.ts";

export interface EventOptions {
  /** Whether updates carry the document as it is now. */
  readonly lookUp: boolean;
  readonly store: Store;
}

export const eventOf = (entry: OplogEntry, token: Doc, options: EventOptions): Doc => {
  const { at, kind, database, collection, id } = entry;
  const common = {
    _id: token,
    operationType: kind,
    clusterTime: toTimestamp(at),
    wallTime: new Date(Math.floor(at / 2 ** 20) * 1_000),
  };
  if (kind === "dropDatabase") return { ...common, ns: { db: database } };
  const ns = { db: database, coll: collection };
  switch (kind) {
    case "drop":
      return { ...common, ns };
    case "insert":
    case "replace":
      return { ...common, fullDocument: entry.doc, ns, documentKey: { _id: id } };
    case "delete":
      return { ...common, ns, documentKey: { _id: id } };
    case "update":
      return { ...common, ns, documentKey: { _id: id }, updateDescription: describe(entry), ...lookedUp(entry, options) };
    default:
      throw new TypeError(kind satisfies never);
  }
};

const lookedUp = ({ database, collection, id }: OplogEntry, { lookUp, store }: EventOptions): Doc => {
  if (!lookUp) return {};
  return { fullDocument: store.find(database, collection)?.rows.get(keyOf(id))?.newest?.doc ?? null };
};

const describe = ({ before, doc }: OplogEntry): Doc => {
  const updatedFields: Doc = {};
  const removedFields: string[] = [];
  differences(before ?? {}, doc ?? {}, "", updatedFields, removedFields);
  return { updatedFields, removedFields, truncatedArrays: [] };
};

/** Arrays that changed are given whole. */
const differences = (before: Doc, doc: Doc, prefix: string, updated: Doc, removed: string[]): void => {
  for (const name of Object.keys(before)) if (!Object.hasOwn(doc, name)) removed.push(prefix + name);
  for (const [name, value] of Object.entries(doc)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (isDoc(old) && isDoc(value)) differences(old, value, `${prefix}${name}.`, updated, removed);
    else if (old === undefined || !sameBytes({ value: old }, { value })) setField(updated, prefix + name, value);
  }
};
