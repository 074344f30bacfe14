/** Filters at a shell: JSON as the library takes it, or a comparison such as `payload.price>2`. */
import type { Condition, Filter, Json } from "@rheo/core";
import { InvalidArgumentError } from "commander";

/** The longer signs first, so that `>=` is not taken for `>`. */
const COMPARISON = /^((?:\\.|[^\\=!<>^\s])+)\s*(>=|<=|!=|\^=|=|>|<)\s*(.*)$/s;
const OPERATORS: Readonly<Record<string, keyof Condition>> = {
  "=": "eq",
  "!=": "ne",
  ">": "gt",
  ">=": "gte",
  "<": "lt",
  "<=": "lte",
  "^=": "startsWith",
};
/** Always text, so that key=42 means the key "42". */
const TEXTS: ReadonlySet<string> = new Set(["id", "type", "key", "correlationId", "causationId"]);

/** An option that may be given several times: all must hold. */
export const where = (text: string, before: unknown): Filter => {
  const filter = text.trimStart().startsWith("{") ? fromJson(text) : fromComparison(text);
  return isFilter(before) ? { and: [before, filter] } : filter;
};

/** What it means is checked by the library. */
const fromJson = (text: string): Filter => {
  try {
    return JSON.parse(text) as Filter; // whatever it is, the library looks at every part of it
  } catch {
    throw new InvalidArgumentError(`This is not JSON; quote it for the shell, as in --where '{"payload.price":{"gt":2}}'.`);
  }
};

const fromComparison = (text: string): Filter => {
  const [, path = "", sign = "", value = ""] = COMPARISON.exec(text) ?? [];
  const operator = OPERATORS[sign];
  if (operator === undefined)
    throw new InvalidArgumentError("Give JSON, or a path, one of = != > >= < <= ^= and a value, as in 'payload.price>2'.");
  return { [path]: { [operator]: operator === "startsWith" || TEXTS.has(path) ? unquoted(value) : parsed(value) } };
};

/** Numbers, true, false, null and what stands in quotes as JSON means them; all else is text as it stands. */
const parsed = (value: string): Json => {
  try {
    const json = JSON.parse(value) as Json; // JSON.parse gives JSON
    return typeof json === "object" && json !== null ? value : json;
  } catch {
    return value;
  }
};

const unquoted = (value: string): string => {
  const json = value.startsWith('"') ? parsed(value) : value;
  return typeof json === "string" ? json : value;
};

/** What was given before is nothing, or, after --no-filter, false. */
const isFilter = (before: unknown): before is Filter => typeof before === "object" && before !== null;
