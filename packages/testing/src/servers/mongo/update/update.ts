/** What an update makes of a document: by operators, by another document in its place, or by a pipeline. */
import { CommandError } from "../errors.ts";
import type { Scope } from "../expressions/scope.ts";
import { runStages } from "../pipeline/run.ts";
import { same } from "../values/compare.ts";
import { copy, type Doc, isDoc } from "../values/document.ts";
import { docOf, docsOf } from "../values/expect.ts";
import { metIndex } from "./met.ts";
import { OPERATORS } from "./operators.ts";
import { setAt } from "./paths.ts";
import { type ArrayFilters, parseArrayFilters, targetsOf } from "./targets.ts";

export interface Update {
  readonly replaces: boolean;
  /** A new document; `inserting` when an upsert makes it of what its filter says. */
  apply(doc: Doc, inserting: boolean): Doc;
}

export const parseUpdate = (given: unknown, arrayFilters: readonly Doc[], filter: Doc, scope: Scope): Update => {
  if (Array.isArray(given)) return byPipeline(docsOf(given, "u"), scope);
  const update = docOf(given, "u");
  const [first] = Object.keys(update);
  if (first?.startsWith("$")) return byOperators(update, parseArrayFilters(arrayFilters, scope), filter, scope);
  const stray = Object.keys(update).find((name) => name.startsWith("$"));
  if (stray !== undefined) throw new CommandError(52, `The dollar ($) prefixed field '${stray}' is not allowed in a replacement`);
  return { replaces: true, apply: (doc) => replaced(doc, update) };
};

const replaced = (doc: Doc, update: Doc): Doc => checkId(doc, withId(doc._id ?? update._id, copy(update)));

/** `_id` comes first. */
export const withId = (id: unknown, doc: Doc): Doc => {
  const { _id, ...rest } = doc;
  const first = _id ?? id;
  return first === undefined ? rest : { _id: first, ...rest };
};

const checkId = (before: Doc, doc: Doc): Doc => {
  if (before._id !== undefined && (doc._id === undefined || !same(before._id, doc._id)))
    throw new CommandError(66, "Performing an update on the path '_id' would modify the immutable field '_id'");
  return doc;
};

const byOperators = (update: Doc, arrayFilters: ArrayFilters, filter: Doc, scope: Scope): Update => {
  const steps = Object.entries(update).flatMap(([operator, fields]) => {
    const apply = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
    if (apply === undefined) throw new CommandError(9, `Unknown modifier: ${operator}`);
    return Object.entries(docOf(fields, operator)).map(([name, operand]) => ({ operator, name, operand, apply }));
  });
  checkConflicts(steps.flatMap(({ operator, name, operand }) => (operator === "$rename" ? [name, String(operand)] : [name])));
  // as the server: by name, so that new fields come in the order of their names
  steps.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return {
    replaces: false,
    apply: (doc, inserting) => {
      const made = copy(doc);
      for (const { name, operand, apply } of steps)
        for (const path of targetsOf(made, name, arrayFilters, metIndex(doc, name, filter, scope)))
          apply(made, path, operand, { scope, inserting });
      return checkId(doc, made);
    },
  };
};

const checkConflicts = (names: readonly string[]): void => {
  const sorted = names.toSorted();
  for (const name of sorted)
    if (sorted.filter((other) => other === name || other.startsWith(`${name}.`)).length > 1)
      throw new CommandError(40, `Updating the path '${name}' would create a conflict at '${name}'`);
};

const PIPELINE = ["$set", "$addFields", "$unset", "$project", "$replaceRoot", "$replaceWith"];

const byPipeline = (stages: readonly Doc[], scope: Scope): Update => {
  const stray = stages.map((stage) => Object.keys(stage)[0] ?? "").find((name) => !PIPELINE.includes(name));
  if (stray !== undefined) throw new CommandError(72, `${stray} is not allowed to be used within an update`);
  return {
    replaces: false,
    apply: (doc) => {
      const [made] = runStages(stages, [doc], { scope });
      if (!isDoc(made)) throw new CommandError(2, "an update came to no document");
      return checkId(doc, withId(doc._id, made));
    },
  };
};

/** The document that an upsert begins with: what its filter says by equality. */
export const seedOf = (filter: Doc): Doc => {
  const seed: Doc = {};
  for (const [name, operand] of Object.entries(filter)) {
    if (name === "$and" && Array.isArray(operand)) for (const part of operand.filter(isDoc)) Object.assign(seed, seedOf(part));
    if (name.startsWith("$")) continue;
    const value = isDoc(operand) && Object.keys(operand)[0]?.startsWith("$") ? equality(operand) : operand;
    if (value !== undefined) setAt(seed, name.split("."), copy(value));
  }
  return seed;
};

const equality = (operators: Doc): unknown => {
  if (Object.hasOwn(operators, "$eq")) return operators.$eq;
  const only = Array.isArray(operators.$in) ? operators.$in : Array.isArray(operators.$all) ? operators.$all : [];
  return only.length === 1 ? only[0] : undefined;
};
