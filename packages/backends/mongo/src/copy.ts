/** The copy of an event's content that MongoDB can query. The text is the truth; where BSON cannot carry the same, there is no copy. */
import type { EventRecord, Json } from "@rheo/core";

/** Longer texts are not copied: BSON of many small values has several times their length. In characters. */
const COPIED_LENGTH = 1_048_576;
/** BSON nests at most 100 deep, the document around it included. */
const COPIED_DEPTH = 90;

export interface Copy {
  readonly payload?: Json;
  readonly metadata?: Json;
}

/** Both or none, so that a query knows by one field whether it may trust what it does not find. */
export const copyOf = ({ payload, metadata }: Pick<EventRecord, "payload" | "metadata">): Copy => {
  if (payload.length > COPIED_LENGTH) return {};
  const copy = { payload: JSON.parse(payload) as Json, metadata: JSON.parse(metadata) as Json }; // written by append only
  return isCopied(copy.payload, 0) && isCopied(copy.metadata, 0) ? copy : {};
};

const isCopied = (value: Json, depth: number): boolean => {
  if (typeof value !== "object" || value === null) return true;
  if (depth > COPIED_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item: Json) => isCopied(item, depth + 1));
  return Object.entries(value).every(([name, item]: [string, Json]) => isPlain(name) && isCopied(item, depth + 1));
};

/** A name that means itself in a document and in a path: `$` begins operators, dots part paths, and drivers give `_bsontype` a meaning. */
const isPlain = (name: string): boolean =>
  name !== "" && name !== "_bsontype" && name !== "__proto__" && !name.startsWith("$") && !name.includes(".");
