/**
 * Filters as scripts take them: nested arrays with paths already taken apart. A filter was checked by core before it came here. No text
 * that is stored has U+0000, so a test against text with one is turned into what it means for text without.
 */
import type { Condition, Filter } from "@rheo/core";
import { splitPath } from "@rheo/core/internal";

type Scalar = null | boolean | number | string;
type JsonValue = Scalar | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/** See `lua/filter.lua.ts`. */
export type Program =
  | readonly ["all" | "any", ...Program[]]
  | readonly ["not", Program]
  | readonly ["value", boolean]
  | readonly [string, string, readonly string[], JsonValue?];

const NOTHING: Program = ["value", false];

/** Empty: everything passes. */
export const programOf = (filter: Filter | null): string => (filter === null ? "" : JSON.stringify(all(filter)));

const all = (filter: object): Program => {
  const parts: Program[] = [];
  for (const [name, part] of Object.entries(filter)) if (part !== undefined) parts.push(entry(name, part));
  return ["all", ...parts];
};

const entry = (name: string, part: object | Scalar): Program => {
  if (name === "where") return all(part as object); // as core checked, here and below
  if (name === "not") return ["not", all(part as object)];
  if (name === "and") return ["all", ...(part as readonly object[]).map(all)];
  if (name === "or") return ["any", ...(part as readonly object[]).map(all)];
  if (typeof part !== "object" || part === null || Array.isArray(part)) return test(name, "eq", part as JsonValue);
  const tests = Object.entries(part as Condition).filter(([, operand]) => operand !== undefined);
  return ["all", ...tests.map(([operator, operand]) => test(name, operator, operand as JsonValue))];
};

const test = (path: string, operator: string, operand: JsonValue): Program => {
  const [root = "", ...segments] = splitPath(path);
  const isMissing = segments.some(hasNul); // no stored name has one
  switch (operator) {
    case "ne":
      return ["not", test(path, "eq", operand)];
    case "nin":
      return ["not", test(path, "in", operand)];
    case "exists":
      return exists(root, segments, isMissing, operand === true);
    case "in":
      return isMissing ? NOTHING : ["in", root, segments, (operand as readonly JsonValue[]).filter((item) => !hasNulIn(item))];
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return isMissing ? NOTHING : comparison(operator, root, segments, operand);
    default:
      return isMissing || hasNulIn(operand) ? NOTHING : [operator, root, segments, operand];
  }
};

const exists = (root: string, segments: readonly string[], isMissing: boolean, wanted: boolean): Program => {
  const found: Program = isMissing ? NOTHING : ["exists", root, segments];
  return wanted ? found : ["not", found];
};

/** What is not above `a` is below `a` + U+0000, and nothing stored is between. */
const comparison = (
  operator: "gt" | "gte" | "lt" | "lte",
  root: string,
  segments: readonly string[],
  operand: JsonValue,
): Program => {
  const at = typeof operand === "string" ? operand.indexOf("\u0000") : -1;
  if (typeof operand !== "string" || at === -1) return [operator, root, segments, operand];
  return [operator.startsWith("g") ? "gt" : "lte", root, segments, operand.slice(0, at)];
};

const hasNul = (text: string): boolean => text.includes("\u0000");

const hasNulIn = (value: JsonValue): boolean => {
  if (typeof value === "string") return hasNul(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, item]) => hasNul(name) || hasNulIn(item));
};
