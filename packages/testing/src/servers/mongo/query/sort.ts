import { CommandError } from "../errors.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { invert, keyOf } from "../values/key.ts";
import { integerOf } from "../values/numbers.ts";
import { keysAt } from "./path.ts";

export interface SortField {
  readonly name: string;
  readonly path: readonly string[];
  readonly direction: 1 | -1;
}

export const parseSort = (spec: unknown): readonly SortField[] => {
  if (spec === undefined) return [];
  if (!isDoc(spec)) throw new CommandError(14, "a sort must be an object");
  return Object.entries(spec).map(([name, given]) => {
    const direction = integerOf(given);
    if (direction !== 1 && direction !== -1) throw new CommandError(2, `a sort order of ${name} must be 1 or -1`);
    return { name, path: name.split("."), direction };
  });
};

/** Of an array the least element counts, or the greatest where the order descends. */
export const sortKey = (doc: Doc, fields: readonly SortField[]): string => {
  let key = "";
  for (const { path, direction } of fields) {
    let chosen: string | null = null;
    for (const value of keysAt(doc, path)) {
      const part = direction === 1 ? keyOf(value) : invert(keyOf(value));
      if (chosen === null || part < chosen) chosen = part;
    }
    key += chosen;
  }
  return key;
};

/** Documents of equal keys stay in their order. */
export const sortDocs = (docs: readonly Doc[], fields: readonly SortField[]): readonly Doc[] => {
  if (fields.length === 0 || docs.length < 2) return docs;
  const keyed = docs.map((doc) => ({ doc, key: sortKey(doc, fields) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return keyed.map(({ doc }) => doc);
};
