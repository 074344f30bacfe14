/**
 * Filters as stores with a language of their own take them: nested arrays with paths already taken apart. A filter was checked before it came
 * here. No text that is stored has U+0000, so a test against text with one is turned into what it means for text without.
 */
import { type Condition, type Filter, splitPath } from "./filter.ts";

type Scalar = null | boolean | number | string;
type JsonValue = Scalar | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/**
 * `["all" | "any", …programs]`, `["not", program]`, `["value", boolean]`, or a test `[operator, root, path, operand]` with the operators of
 * {@link Condition} but `ne` and `nin`; `exists` has no operand.
 */
export type FilterProgram =
  | readonly ["all" | "any", ...FilterProgram[]]
  | readonly ["not", FilterProgram]
  | readonly ["value", boolean]
  | readonly [string, string, readonly string[], JsonValue?];

const NOTHING: FilterProgram = ["value", false];

/** As text; null: everything passes. */
export const programText = (filter: Filter | null): string | null => (filter === null ? null : JSON.stringify(programOf(filter)));

export const programOf = (filter: Filter): FilterProgram => {
  const parts: FilterProgram[] = [];
  for (const [name, part] of Object.entries(filter)) if (part !== undefined) parts.push(entry(name, part));
  return ["all", ...parts];
};

const entry = (name: string, part: object | Scalar): FilterProgram => {
  if (name === "where") return programOf(part as Filter); // as was checked, here and below
  if (name === "not") return ["not", programOf(part as Filter)];
  if (name === "and") return ["all", ...(part as readonly Filter[]).map(programOf)];
  if (name === "or") return ["any", ...(part as readonly Filter[]).map(programOf)];
  if (typeof part !== "object" || part === null || Array.isArray(part)) return test(name, "eq", part as JsonValue);
  const tests = Object.entries(part as Condition).filter(([, operand]) => operand !== undefined);
  return ["all", ...tests.map(([operator, operand]) => test(name, operator, operand as JsonValue))];
};

/** A path, taken apart. */
export const pathOf = (path: string): { readonly root: string; readonly segments: readonly string[] } => {
  const [root = "", ...segments] = splitPath(path);
  return { root, segments };
};

const test = (path: string, operator: string, operand: JsonValue): FilterProgram => {
  const { root, segments } = pathOf(path);
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

const exists = (root: string, segments: readonly string[], isMissing: boolean, wanted: boolean): FilterProgram => {
  const found: FilterProgram = isMissing ? NOTHING : ["exists", root, segments];
  return wanted ? found : ["not", found];
};

/** What is not above `a` is below `a` + U+0000, and nothing stored is between. */
const comparison = (
  operator: "gt" | "gte" | "lt" | "lte",
  root: string,
  segments: readonly string[],
  operand: JsonValue,
): FilterProgram => {
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
