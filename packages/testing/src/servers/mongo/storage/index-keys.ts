/** The keys that a document has in an index. */
import { CommandError } from "../errors.ts";
import { endsOf, keysAt } from "../query/path.ts";
import type { Doc } from "../values/document.ts";
import { invert, keyOf } from "../values/key.ts";
import type { IndexSpec } from "./index-spec.ts";

export const indexKeys = (spec: IndexSpec, doc: Doc): readonly string[] => {
  if (spec.partial !== null && !spec.partial(doc)) return [];
  if (spec.sparse && !spec.fields.some(({ path }) => endsOf(doc, path).some((end) => end !== undefined))) return [];
  let keys = [""];
  let arrays = 0;
  for (const { path, direction } of spec.fields) {
    const parts = new Set(keysAt(doc, path).map((value) => (direction === 1 ? keyOf(value) : invert(keyOf(value)))));
    if (parts.size > 1 && ++arrays > 1 && !sharesArray(spec))
      throw new CommandError(171, `cannot index parallel arrays (index ${spec.name})`);
    keys = keys.flatMap((key) => [...parts].map((part) => key + part));
  }
  return keys;
};

/** Paths into one array may each have several values. */
const sharesArray = ({ fields }: IndexSpec): boolean => {
  const dotted = fields.filter(({ path }) => path.length > 1).map(({ path }) => path[0]);
  return new Set(dotted).size < dotted.length;
};

/** For the message and `keyValue` of a duplicate. */
export const keyValue = (spec: IndexSpec, doc: Doc): Doc =>
  Object.fromEntries(spec.fields.map(({ name, path }) => [name, keysAt(doc, path)[0] ?? null]));
