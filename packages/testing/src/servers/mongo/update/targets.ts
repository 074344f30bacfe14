/** The paths that a path of an update stands for: `$[]` all elements, `$[name]` those of an array filter, `$` the one that the filter met. */
import { CommandError } from "../errors.ts";
import type { Scope } from "../expressions/scope.ts";
import { compileFilter, type Match } from "../query/match.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { readAt } from "./paths.ts";

export type ArrayFilters = ReadonlyMap<string, Match>;

/** Each filter is about one name, before the first dot of its fields. */
export const parseArrayFilters = (filters: readonly Doc[], scope: Scope): ArrayFilters => {
  const parsed = new Map<string, Match>();
  for (const filter of filters) {
    const name = Object.keys(filter)[0]?.split(".")[0] ?? "";
    const match = compileFilter(filter, scope);
    if (!/^[a-z][A-Za-z0-9]*$/.test(name) || parsed.has(name)) throw new CommandError(9, `a bad array filter for '${name}'`);
    parsed.set(name, (element) => match({ [name]: element }));
  }
  return parsed;
};

export const targetsOf = (doc: Doc, name: string, filters: ArrayFilters, met: number | null): readonly (readonly string[])[] => {
  const parts = name.split(".");
  if (parts.some((part) => part === "")) throw new CommandError(56, `The update path '${name}' contains an empty field name`);
  if (parts[0]?.startsWith("$")) throw new CommandError(52, `The dollar ($) prefixed field '${name}' is not allowed`);
  return parts.some((part) => part.startsWith("$")) ? expand(doc, [], parts, filters, met) : [parts];
};

const expand = (
  doc: Doc,
  done: readonly string[],
  rest: readonly string[],
  filters: ArrayFilters,
  met: number | null,
): readonly (readonly string[])[] => {
  const [part, ...after] = rest;
  if (part === undefined) return [done];
  if (part === "$") {
    if (met === null) throw new CommandError(2, "The positional operator did not find the match needed from the query.");
    return expand(doc, [...done, String(met)], after, filters, met);
  }
  if (!part.startsWith("$[")) return expand(doc, [...done, part], after, filters, met);
  const array = readAt(doc, done);
  if (!Array.isArray(array)) throw new CommandError(2, `Cannot apply array updates to non-array element ${done.join(".")}`);
  return matching(array, part, filters).flatMap((n) => expand(doc, [...done, String(n)], after, filters, met));
};

const matching = (array: readonly unknown[], part: string, filters: ArrayFilters): readonly number[] => {
  if (part === "$[]") return [...array.keys()];
  const match = filters.get(part.slice(2, -1));
  if (match === undefined) throw new CommandError(2, `No array filter found for identifier '${part.slice(2, -1)}'`);
  return [...array.keys()].filter((n) => match(wrap(array[n])));
};

const wrap = (element: unknown): Doc => (isDoc(element) ? element : (element as Doc));
