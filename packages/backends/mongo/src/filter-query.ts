/**
 * Filters as queries of MongoDB over the copies of events. A path of MongoDB goes through arrays by itself, an equal document has its fields in
 * the same order, and an event may have no copy: so a query lets through all that the filter does and sometimes more, and core looks again.
 */
import type { Filter as EventFilter, Json } from "@rheo/core";
import { type FilterProgram, programOf } from "@rheo/core/internal";
import type { Document } from "mongodb";

/** What a translation may do where it cannot be exact: let through more than the filter does, or less. `not` turns one into the other. */
type Side = "more" | "less";

const EVERYTHING: Document = {};
const NOTHING: Document = { _id: { $exists: false } };
/** PCRE takes patterns of up to 32 KiB. */
const MAX_PATTERN = 4_096;

/** Null: everything passes. */
export const filterQuery = (filter: EventFilter | null): Document | null =>
  filter === null ? null : { $or: [{ payload: { $exists: false } }, translate(programOf(filter), "more")] };

const translate = (program: FilterProgram, side: Side): Document => {
  const [operator] = program;
  switch (operator) {
    case "all":
      return join("$and", program.slice(1) as FilterProgram[], side) ?? EVERYTHING; // by the shape of programs, here and below
    case "any":
      return join("$or", program.slice(1) as FilterProgram[], side) ?? NOTHING;
    case "not":
      return { $nor: [translate(program[1] as FilterProgram, side === "more" ? "less" : "more")] };
    case "value":
      return program[1] === true ? EVERYTHING : NOTHING;
    default: {
      const [, root, segments, operand] = program as readonly [string, string, readonly string[], Json?];
      return testOf(operator, root, segments, operand, side);
    }
  }
};

const join = (operator: "$and" | "$or", parts: readonly FilterProgram[], side: Side): Document | null =>
  parts.length === 0 ? null : { [operator]: parts.map((part) => translate(part, side)) };

const testOf = (operator: string, root: string, segments: readonly string[], operand: Json | undefined, side: Side): Document => {
  if (root === "type" || root === "key" || root === "id") return plainTest(operator, root, operand);
  // an event with such a name has no copy
  if (segments.some((name) => name === "" || name.startsWith("$") || name.includes("."))) return NOTHING;
  const path = [root, ...segments].join(".");
  const condition = conditionOf(operator, path, operand, side);
  if (side === "more") return condition;
  const prefixes = [root, ...segments].map((_, index, names) => names.slice(0, index + 1).join("."));
  return { $and: [condition, ...prefixes.map((prefix) => ({ [prefix]: { $not: { $type: "array" } } }))] };
};

/** A type or key that is null is missing. */
const plainTest = (operator: string, name: string, operand: Json | undefined): Document => {
  if (operator === "exists") return { [name]: { $ne: null } };
  const operands = operator === "in" && Array.isArray(operand) ? (operand as readonly Json[]) : [operand];
  const texts = operands.filter((item) => typeof item === "string");
  if (operator === "eq" || operator === "in") return { [name]: { $in: texts } };
  const [text] = texts;
  return text === undefined ? NOTHING : comparisonOf(operator, name, text, "more");
};

const conditionOf = (operator: string, path: string, operand: Json | undefined, side: Side): Document => {
  switch (operator) {
    case "exists":
      return { [path]: { $exists: true } };
    case "eq":
      return equalTo(path, operand ?? null, side);
    case "in": {
      const items = (operand as readonly Json[]).map((item) => equalTo(path, item, side));
      return items.length === 0 ? NOTHING : { $or: items };
    }
    default:
      return typeof operand === "number" || typeof operand === "string" ? comparisonOf(operator, path, operand, side) : NOTHING;
  }
};

/** `null` alone would match what is missing; documents and arrays are compared by core. */
const equalTo = (path: string, value: Json, side: Side): Document => {
  if (value === null) return { [path]: { $type: "null" } };
  if (typeof value !== "object") return { [path]: { $eq: value } };
  return side === "more" ? { [path]: { $exists: true } } : NOTHING;
};

/** Comparisons are within a type, and texts go by their bytes, which is code point order. */
const comparisonOf = (operator: string, path: string, operand: string | number, side: Side): Document => {
  if (operator !== "startsWith") return { [path]: { [`$${operator}`]: operand } };
  const start = String(operand);
  if (start.length <= MAX_PATTERN) return { [path]: { $regex: `^${start.replace(/[\\^$.*+?()[\]{}|#\s-]/g, "\\$&")}` } };
  return side === "more" ? { [path]: { $type: "string" } } : NOTHING;
};
