/** Filters, compiled to a question that a document answers. What is not known is refused. */
import { CommandError, refuse } from "../errors.ts";
import { evaluate } from "../expressions/evaluate.ts";
import { type Scope, toTruth } from "../expressions/scope.ts";
import type { Doc } from "../values/document.ts";
import { arrayOf, docOf } from "../values/expect.ts";
import { fieldTest, isOperators } from "./field-test.ts";

export type Match = (doc: Doc) => boolean;

export const compileFilter = (filter: Doc, scope: Scope): Match => {
  const tests = Object.entries(filter).map(([name, operand]) => compileField(name, operand, scope));
  const [only, second] = tests;
  if (only !== undefined && second === undefined) return only;
  return (doc) => tests.every((test) => test(doc));
};

const compileField = (name: string, operand: unknown, scope: Scope): Match => {
  if (name.startsWith("$")) return compileLogical(name, operand, scope);
  const path = name.split(".");
  if (!isOperators(operand)) return fieldTest(path, "$eq", operand, {}, compileFilter, scope);
  const tests = Object.entries(operand).map(([operator, value]) =>
    fieldTest(path, operator, value, operand, compileFilter, scope),
  );
  return (doc) => tests.every((test) => test(doc));
};

const compileLogical = (name: string, operand: unknown, scope: Scope): Match => {
  switch (name) {
    case "$and": {
      const all = branches(name, operand, scope);
      return (doc) => all.every((match) => match(doc));
    }
    case "$or": {
      const any = branches(name, operand, scope);
      return (doc) => any.some((match) => match(doc));
    }
    case "$nor": {
      const none = branches(name, operand, scope);
      return (doc) => !none.some((match) => match(doc));
    }
    case "$expr":
      return (doc) => toTruth(evaluate(operand, scope.of(doc)));
    case "$comment":
      return () => true;
    case "$alwaysTrue":
      return () => true;
    case "$alwaysFalse":
      return () => false;
    case "$where":
    case "$text":
    case "$jsonSchema":
      throw refuse(`${name} in a filter`);
    default:
      throw new CommandError(2, `unknown top level operator: ${name}`);
  }
};

const branches = (name: string, operand: unknown, scope: Scope): readonly Match[] => {
  const filters = arrayOf(operand, name);
  if (filters.length === 0) throw new CommandError(2, `${name} must be a nonempty array`);
  return filters.map((filter) => compileFilter(docOf(filter, name), scope));
};
