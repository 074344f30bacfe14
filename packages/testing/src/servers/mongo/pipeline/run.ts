/** Stages of an aggregation, each of which makes documents of documents. */
import { CommandError, refuse } from "../errors.ts";
import { evaluate } from "../expressions/evaluate.ts";
import { compileFilter } from "../query/match.ts";
import { addFields, compileProjection } from "../query/project.ts";
import { parseSort, sortDocs } from "../query/sort.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { docOf, docsOf, integer, textOf } from "../values/expect.ts";
import { count } from "../values/numbers.ts";
import type { StageContext } from "./context.ts";
import { group } from "./group.ts";
import { lookup, unionWith } from "./join.ts";
import { unwind } from "./unwind.ts";

type Docs = readonly Doc[];
type Stage = (docs: Docs, operand: unknown, context: StageContext) => Docs;

export const runStages = (
  stages: readonly Doc[],
  docs: Docs,
  { scope, read = () => [] }: Partial<StageContext> & Pick<StageContext, "scope">,
): Docs => stages.reduce((current, stage) => runStage(stage, current, { scope, read, run: runStages }), docs);

const runStage = (stage: Doc, docs: Docs, context: StageContext): Docs => {
  const names = Object.keys(stage);
  const [name = ""] = names;
  if (names.length !== 1) throw new CommandError(40_324, "A pipeline stage specification object must contain exactly one field.");
  const run = Object.hasOwn(STAGES, name) ? STAGES[name] : undefined;
  if (run === undefined)
    throw new CommandError(40_324, `Unrecognized pipeline stage name: '${name}' (or one that the double does not know)`);
  if (docs.length === 0) rehearse(run, stage[name], context);
  return run(docs, stage[name], context);
};

/** What the server refuses when it reads a pipeline is refused where there are no documents, too. */
const rehearse = (run: Stage, operand: unknown, context: StageContext): void => {
  try {
    run([{}], operand, { ...context, read: () => [] });
  } catch (error) {
    if (error instanceof CommandError && ALWAYS.includes(error.code)) throw error;
  }
};

const ALWAYS: readonly number[] = [9, 168, 16_020, 17_276, 31_249, 40_324, 40_415];

const set: Stage = (docs, operand, { scope }) => docs.map((doc) => addFields(docOf(operand, "$set"), doc, scope.of(doc)));

const unset: Stage = (docs, operand, { scope }) => {
  const names = (Array.isArray(operand) ? operand : [operand]).map((name) => textOf(name, "$unset"));
  return docs.map(compileProjection(Object.fromEntries(names.map((name) => [name, false])), scope));
};

const replace: Stage = (docs, operand, { scope }) =>
  docs.map((doc) => {
    const made = evaluate(operand, scope.of(doc));
    if (!isDoc(made)) throw new CommandError(2, "'newRoot' expression must evaluate to an object");
    return made;
  });

const facet: Stage = (docs, operand, context) => [
  Object.fromEntries(
    Object.entries(docOf(operand, "$facet")).map(([name, stages]) => [name, [...runStages(docsOf(stages, name), docs, context)]]),
  ),
];

const sortByCount: Stage = (docs, operand, context) => {
  const counted = group(docs, { _id: operand, count: { $sum: count(1) } }, context);
  return sortDocs(counted, [{ name: "count", path: ["count"], direction: -1 }]);
};

const STAGES: Readonly<Record<string, Stage>> = {
  $match: (docs, operand, { scope }) => docs.filter(compileFilter(docOf(operand, "$match"), scope)),
  $project: (docs, operand, { scope }) => docs.map(compileProjection(docOf(operand, "$project"), scope)),
  $set: set,
  $addFields: set,
  $unset: unset,
  $sort: (docs, operand) => sortDocs(docs, parseSort(operand)),
  $limit: (docs, operand) => docs.slice(0, integer(operand, "$limit")),
  $skip: (docs, operand) => docs.slice(integer(operand, "$skip")),
  $count: (docs, operand) => (docs.length === 0 ? [] : [{ [textOf(operand, "$count")]: count(docs.length) }]),
  $replaceRoot: (docs, operand, context) => replace(docs, docOf(operand, "$replaceRoot").newRoot, context),
  $replaceWith: replace,
  $group: group,
  $unwind: unwind,
  $facet: facet,
  $lookup: lookup,
  $unionWith: unionWith,
  $sortByCount: sortByCount,
  $documents: (_, operand, { scope }) => docsOf(evaluate(operand, scope), "$documents"),
  $sample: (docs, operand) => docs.slice(0, integer(docOf(operand, "$sample").size, "size")),
  $out: () => {
    throw refuse("$out");
  },
  $merge: () => {
    throw refuse("$merge");
  },
};
