/** Expressions of aggregation. Each family of operators is a table in a file of its own; one that is in none is refused. */
import { CommandError } from "../errors.ts";
import { type Doc, fieldOf, isDoc, setField } from "../values/document.ts";
import { arithmetic } from "./arithmetic.ts";
import { arrays } from "./arrays.ts";
import { borrowed } from "./borrowed.ts";
import { comparisons } from "./comparisons.ts";
import { control } from "./control.ts";
import { conversions } from "./conversions.ts";
import { objects } from "./objects.ts";
import type { Evaluate, Operator, Table } from "./operator.ts";
import type { Scope } from "./scope.ts";
import { strings } from "./strings.ts";

const OPERATORS: Table = {
  ...borrowed,
  ...arithmetic,
  ...arrays,
  ...comparisons,
  ...control,
  ...objects,
  ...strings,
  ...conversions,
};

/** `undefined` when it comes to nothing. */
export const evaluate: Evaluate = (expression, scope) => {
  if (typeof expression === "string") return expression.startsWith("$") ? readPath(expression, scope) : expression;
  if (Array.isArray(expression)) return expression.map((part) => evaluate(part, scope) ?? null);
  if (!isDoc(expression)) return expression;
  const names = Object.keys(expression);
  const [name = ""] = names;
  if (!name.startsWith("$")) return evaluateFields(expression, scope);
  if (names.length > 1)
    throw new CommandError(16_020, "an expression specification must contain exactly one field, the operator");
  return operatorNamed(name)(expression[name], scope, evaluate);
};

const operatorNamed = (name: string): Operator => {
  const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (operator === undefined)
    throw new CommandError(168, `Unrecognized expression '${name}' (or one that the double does not know)`);
  return operator;
};

const evaluateFields = (expression: Doc, scope: Scope): Doc => {
  const made: Doc = {};
  for (const [name, part] of Object.entries(expression)) {
    const value = evaluate(part, scope);
    if (value !== undefined) setField(made, name, value);
  }
  return made;
};

const readPath = (text: string, scope: Scope): unknown => {
  if (!text.startsWith("$$")) return walk(scope.root, text.slice(1).split("."));
  const [name = "", ...path] = text.slice(2).split(".");
  return walk(variable(name, scope), path);
};

const variable = (name: string, scope: Scope): unknown => {
  if (scope.has(name)) return scope.variable(name);
  switch (name) {
    case "ROOT":
    case "CURRENT":
      return scope.root;
    case "NOW":
      return scope.now;
    case "REMOVE":
      return undefined;
    default:
      throw new CommandError(17_276, `Use of undefined variable: ${name}`);
  }
};

/** Of an array, the array of what its documents have there. */
const walk = (value: unknown, path: readonly string[]): unknown => {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (isDoc(value)) return walk(fieldOf(value, name), rest);
  if (!Array.isArray(value)) return undefined;
  return value.map((part) => (isDoc(part) ? walk(part, path) : undefined)).filter((part) => part !== undefined);
};
