/** Which element of an array the filter met, for the positional `$`. */
import type { Scope } from "../expressions/scope.ts";
import { compileFilter } from "../query/match.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { readAt } from "./paths.ts";

/** The first element with which alone the document still matches what the filter says of that array. */
export const metIndex = (doc: Doc, name: string, filter: Doc, scope: Scope): number | null => {
  const at = name.indexOf(".$");
  if (at < 0 || !/\.\$(\.|$)/.test(name)) return null;
  const path = name.slice(0, at);
  const array = readAt(doc, path.split("."));
  const about = Object.entries(filter).filter(([field]) => field === path || field.startsWith(`${path}.`));
  if (!Array.isArray(array) || about.length === 0) return null;
  const match = compileFilter(Object.fromEntries(about), scope);
  const found = array.findIndex((element) => match(nest(path.split("."), [element])));
  return found < 0 ? null : found;
};

const nest = (path: readonly string[], value: unknown): Doc => {
  const made = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return isDoc(made) ? made : {};
};
