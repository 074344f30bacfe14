/** Stages that read another collection. */
import { evaluate } from "../expressions/evaluate.ts";
import { compileFilter } from "../query/match.ts";
import { keysAt } from "../query/path.ts";
import { setAt } from "../update/paths.ts";
import { copy, type Doc, isDoc } from "../values/document.ts";
import { docOf, docsOf, onlyFields, textOf } from "../values/expect.ts";
import type { StageContext } from "./context.ts";

type Docs = readonly Doc[];

export const lookup = (docs: Docs, operand: unknown, context: StageContext): Docs => {
  const spec = docOf(operand, "$lookup");
  onlyFields(spec, "$lookup", ["from", "localField", "foreignField", "let", "pipeline", "as"]);
  const from = context.read(textOf(spec.from, "from"));
  const as = textOf(spec.as, "as").split(".");
  return docs.map((doc) => {
    const made = copy(doc);
    setAt(made, as, [...joined(doc, spec, from, context)]);
    return made;
  });
};

const joined = (doc: Doc, spec: Doc, from: Docs, context: StageContext): Docs => {
  const met =
    typeof spec.localField === "string"
      ? equal(doc, spec.localField, textOf(spec.foreignField, "foreignField"), from, context)
      : from;
  if (spec.pipeline === undefined) return met;
  const variables = isDoc(spec.let) ? Object.entries(spec.let) : [];
  const values = variables.map(([name, part]) => [name, evaluate(part, context.scope.of(doc)) ?? null]);
  return context.run(docsOf(spec.pipeline, "pipeline"), met, {
    ...context,
    scope: context.scope.with(Object.fromEntries(values)),
  });
};

const equal = (doc: Doc, local: string, foreign: string, from: Docs, { scope }: StageContext): Docs => {
  const values = keysAt(doc, local.split("."));
  return from.filter(compileFilter({ [foreign]: { $in: [...values] } }, scope));
};

export const unionWith = (docs: Docs, operand: unknown, context: StageContext): Docs => {
  const spec: Doc = isDoc(operand) ? operand : { coll: operand };
  onlyFields(spec, "$unionWith", ["coll", "pipeline"]);
  const others = context.read(textOf(spec.coll, "coll"));
  return [...docs, ...(spec.pipeline === undefined ? others : context.run(docsOf(spec.pipeline, "pipeline"), others, context))];
};
