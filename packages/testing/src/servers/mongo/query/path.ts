/** How a dotted path of a filter finds values in a document: through arrays, and by index into them. */
import { fieldOf, isDoc } from "../values/document.ts";

const INDEX = /^(0|[1-9]\d*)$/;

/** What stands at the end of a path, arrays there not yet opened; `undefined` stands for each document that ends before. */
export const endsOf = (value: unknown, path: readonly string[]): readonly unknown[] => {
  const ends: unknown[] = [];
  follow(value, path, 0, ends);
  return ends;
};

const follow = (value: unknown, path: readonly string[], at: number, ends: unknown[]): void => {
  const name = path[at];
  if (name === undefined) ends.push(value);
  else if (isDoc(value)) follow(fieldOf(value, name), path, at + 1, ends);
  else if (Array.isArray(value)) followArray(value, path, at, ends);
  // a path that ends early, at something else than an array
  else ends.push(undefined);
};

/** Documents in an array are looked into; other things in it are not, and do not count as missing. */
const followArray = (array: readonly unknown[], path: readonly string[], at: number, ends: unknown[]): void => {
  const name = path[at] ?? "";
  if (INDEX.test(name) && Number(name) < array.length) follow(array[Number(name)], path, at + 1, ends);
  for (const part of array) if (isDoc(part)) follow(part, path, at, ends);
};

/** Ends, and the elements of those that are arrays. */
export const leavesOf = (value: unknown, path: readonly string[]): readonly unknown[] => {
  const ends = endsOf(value, path);
  return ends.some(Array.isArray) ? ends.flatMap((end) => (Array.isArray(end) ? [end, ...end] : [end])) : ends;
};

/** The values that an index has, and a sort looks at: elements instead of their array; an empty array counts as less than null. */
export const keysAt = (doc: unknown, path: readonly string[]): readonly unknown[] => {
  const ends = endsOf(doc, path);
  if (ends.length === 0) return [null];
  return ends.flatMap((end) => {
    if (!Array.isArray(end)) return [end ?? null];
    return end.length === 0 ? [undefined] : end;
  });
};
