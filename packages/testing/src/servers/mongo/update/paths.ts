/** Reading and setting a dotted path in a copy of a document, as updates do: numbers are indexes into arrays. */
import { CommandError } from "../errors.ts";
import { type Doc, fieldOf, isDoc, setField } from "../values/document.ts";
import { typeName } from "../values/type-name.ts";

const INDEX = /^\d+$/;
/** The server's own bound on nulls that fill an array up. */
const MAX_FILL = 1_500_000;

export const readAt = (value: unknown, path: readonly string[]): unknown => {
  let found = value;
  for (const name of path) {
    if (Array.isArray(found)) found = INDEX.test(name) ? found[Number(name)] : undefined;
    else found = isDoc(found) ? fieldOf(found, name) : undefined;
  }
  return found;
};

/** Makes the documents on the way. @throws `PathNotViable` where something else is in it */
export const setAt = (doc: Doc, path: readonly string[], value: unknown): void => {
  const parent = parentOf(doc, path);
  const name = path.at(-1) ?? "";
  if (Array.isArray(parent)) setElement(parent, name, value, path);
  else setField(parent, name, value);
};

/** Of an element of an array null is left. Nothing happens when it is not there. */
export const removeAt = (doc: Doc, path: readonly string[]): void => {
  const parent = readAt(doc, path.slice(0, -1));
  const name = path.at(-1) ?? "";
  if (Array.isArray(parent)) {
    if (INDEX.test(name) && Number(name) < parent.length) parent[Number(name)] = null;
  } else if (isDoc(parent)) delete parent[name];
};

const parentOf = (doc: Doc, path: readonly string[]): Doc | unknown[] => {
  let parent: Doc | unknown[] = doc;
  for (const name of path.slice(0, -1)) {
    let next: unknown = Array.isArray(parent) ? parent[Number(name)] : fieldOf(parent, name);
    if (next === undefined) {
      next = {};
      if (Array.isArray(parent)) setElement(parent, name, next, path);
      else setField(parent, name, next);
    }
    if (!Array.isArray(next) && !isDoc(next)) throw notViable(path, name, next);
    parent = next;
  }
  return parent;
};

const setElement = (array: unknown[], name: string, value: unknown, path: readonly string[]): void => {
  if (!INDEX.test(name)) throw notViable(path, name, array);
  const index = Number(name);
  if (index > array.length + MAX_FILL) throw new CommandError(2, `can't backfill more than ${MAX_FILL} elements`);
  while (array.length < index) array.push(null);
  array[index] = value;
};

const notViable = (path: readonly string[], name: string, value: unknown): CommandError =>
  new CommandError(28, `Cannot create field '${path.at(-1)}' in element {${name}: ${typeName(value)}}`);
