/** Projections of `find` and `$project`: fields kept, fields left out, fields computed. */
import { CommandError, refuse } from "../errors.ts";
import { evaluate } from "../expressions/evaluate.ts";
import type { Scope } from "../expressions/scope.ts";
import { copy, type Doc, fieldOf, isDoc, isNumeric, setField, toNumber } from "../values/document.ts";
import { arrayOf, docOf, integer } from "../values/expect.ts";
import { fieldTest } from "./field-test.ts";
import { compileFilter } from "./match.ts";

/** True: keep; false: leave out; else what computes it from the document and the field as it is. */
type Compute = (root: Doc, old: unknown) => unknown;
type Node = { readonly [name: string]: Node | boolean | Compute };

export type Project = (doc: Doc) => Doc;

export const compileProjection = (spec: Doc, scope: Scope): Project => {
  if (Object.keys(spec).length === 0) return (doc) => doc;
  const tree = parse(spec, scope);
  const keeps = isInclusion(spec);
  if (!Object.hasOwn(tree, "_id") && keeps) tree._id = true;
  return (doc) => (keeps ? include(doc, tree, doc) : exclude(doc, tree, doc));
};

type Building = { [name: string]: Building | boolean | Compute };

const parse = (spec: Doc, scope: Scope): Building => {
  const tree: Building = {};
  for (const [name, value] of Object.entries(spec)) {
    let node = tree;
    const path = name.split(".");
    for (const part of path.slice(0, -1)) {
      const next = Object.hasOwn(node, part) ? node[part] : undefined;
      if (next !== undefined && (typeof next !== "object" || next === null))
        throw new CommandError(31_249, `Path collision at ${name}`);
      const made: Building = next ?? {};
      setField(node, part, made);
      node = made;
    }
    setField(node, path.at(-1) ?? "", parseValue(value, scope, path));
  }
  return tree;
};

const parseValue = (value: unknown, scope: Scope, path: readonly string[]): Building | boolean | Compute => {
  if (isFlag(value)) return flag(value);
  if (isDoc(value)) {
    const [first = ""] = Object.keys(value);
    if (first === "$slice" && !namesArray(value.$slice)) return (_, old) => sliceOf(old, value.$slice);
    if (first === "$elemMatch") return elementOf(docOf(value.$elemMatch, first), scope);
    if (first === "$meta") throw refuse("$meta");
    if (!first.startsWith("$")) return parse(value, scope);
  }
  if (path.some((part) => part.startsWith("$"))) throw refuse("positional projections");
  return (root) => evaluate(value, scope.of(root));
};

/** `$slice` of a projection counts; that of an expression begins with an array. */
const namesArray = (operand: unknown): boolean => Array.isArray(operand) && !isNumeric(operand[0]);

const sliceOf = (old: unknown, operand: unknown): unknown => {
  if (!Array.isArray(old)) return old;
  const [a, b] = Array.isArray(operand) ? operand.map((part) => integer(part, "$slice")) : [integer(operand, "$slice")];
  if (a === undefined || b === undefined) return (a ?? 0) >= 0 ? old.slice(0, a) : old.slice(a);
  const start = a >= 0 ? a : Math.max(0, old.length + a);
  return old.slice(start, start + b);
};

const elementOf = (filter: Doc, scope: Scope): Compute => {
  const test = fieldTest([], "$elemMatch", filter, {}, compileFilter, scope);
  return (_, old) => {
    const found = Array.isArray(old) ? arrayOf(old, "").find((element) => test([element])) : undefined;
    return found === undefined ? undefined : [found];
  };
};

const isFlag = (value: unknown): boolean => typeof value === "boolean" || isNumeric(value);
const flag = (value: unknown): boolean => (isNumeric(value) ? toNumber(value) !== 0 : value === true);

/** One kept or computed field makes it an inclusion; `_id` and `$slice` alone say nothing. @throws when it is both */
const isInclusion = (spec: Doc): boolean => {
  const kinds = Object.entries(spec).flatMap(([name, value]) =>
    name === "_id" && Object.keys(spec).length > 1 && isFlag(value) ? [] : kindsOf(value),
  );
  const includes = kinds.includes("include");
  if (includes && kinds.includes("exclude"))
    throw new CommandError(31_249, "Cannot do exclusion on a field in inclusion projection, or the other way round");
  return includes;
};

const kindsOf = (value: unknown): readonly ("include" | "exclude")[] => {
  if (isFlag(value)) return [flag(value) ? "include" : "exclude"];
  if (!isDoc(value)) return ["include"];
  const [first = ""] = Object.keys(value);
  if (first === "$slice" && !namesArray(value.$slice)) return [];
  return first.startsWith("$") ? ["include"] : Object.values(value).flatMap(kindsOf);
};

const include = (value: Doc, tree: Node, root: Doc): Doc => {
  const made: Doc = {};
  for (const [name, old] of Object.entries(value)) {
    const node = Object.hasOwn(tree, name) ? tree[name] : undefined;
    if (node === true) setField(made, name, old);
    else if (typeof node === "object") {
      const kept = into(old, (part) => include(part, node, root), hasComputed(node) ? root : null);
      if (kept !== undefined) setField(made, name, kept);
    } else if (typeof node === "function" && node.length === 2) setDefined(made, name, node(root, old));
  }
  for (const [name, node] of Object.entries(tree)) {
    if (typeof node === "function" && node.length !== 2) setDefined(made, name, node(root, undefined));
    if (typeof node === "object" && !Object.hasOwn(value, name) && hasComputed(node))
      setField(made, name, include({}, node, root));
  }
  return made;
};

const setDefined = (doc: Doc, name: string, value: unknown): void => {
  if (value === undefined) delete doc[name];
  else setField(doc, name, value);
};

const hasComputed = (node: Node): boolean =>
  Object.values(node).some((part) => typeof part === "function" || (typeof part === "object" && hasComputed(part)));

/** In arrays, each document of them; other values are left away. */
const into = (value: unknown, apply: (doc: Doc) => Doc, computed: Doc | null): unknown => {
  if (isDoc(value)) return apply(value);
  if (!Array.isArray(value)) return computed === null ? undefined : apply({});
  return value.map((part) => into(part, apply, null)).filter((part) => part !== undefined);
};

const exclude = (value: Doc, tree: Node, root: Doc): Doc => {
  const made: Doc = {};
  for (const [name, old] of Object.entries(value)) {
    const node = Object.hasOwn(tree, name) ? tree[name] : undefined;
    if (node === undefined || node === true) setField(made, name, old);
    else if (typeof node === "function") setDefined(made, name, node(root, old));
    else if (node !== false) setField(made, name, excludeIn(old, node, root));
  }
  return made;
};

const excludeIn = (value: unknown, node: Node, root: Doc): unknown => {
  if (isDoc(value)) return exclude(value, node, root);
  return Array.isArray(value) ? value.map((part) => excludeIn(part, node, root)) : value;
};

/** `$addFields`: fields set in a copy, in the places where they were. */
export const addFields = (spec: Doc, doc: Doc, scope: Scope): Doc => {
  const made = copy(doc);
  for (const [name, value] of Object.entries(spec)) put(made, name.split("."), value, scope);
  return made;
};

const put = (target: Doc, path: readonly string[], value: unknown, scope: Scope): void => {
  const [name = "", ...rest] = path;
  const old = fieldOf(target, name);
  const nested = isDoc(value) && !(Object.keys(value)[0] ?? "$").startsWith("$");
  if (rest.length === 0 && !nested) return setDefined(target, name, copy(evaluate(value, scope)));
  const inner: readonly (readonly [readonly string[], unknown])[] =
    rest.length > 0 ? [[rest, value]] : Object.entries(value as Doc).map(([key, part]) => [key.split("."), part]);
  const fill = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(fill);
    const made = isDoc(part) ? part : {};
    for (const [at, one] of inner) put(made, at, one, scope);
    return made;
  };
  setField(target, name, fill(old));
};
