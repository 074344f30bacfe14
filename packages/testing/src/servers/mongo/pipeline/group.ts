import { CommandError } from "../errors.ts";
import { avg, best, sum } from "../expressions/accumulate.ts";
import { evaluate } from "../expressions/evaluate.ts";
import { parseSort, sortDocs } from "../query/sort.ts";
import { type Doc, isDoc, setField } from "../values/document.ts";
import { docOf, integer } from "../values/expect.ts";
import { keyOf } from "../values/key.ts";
import { count } from "../values/numbers.ts";
import type { StageContext } from "./context.ts";

export const group = (docs: readonly Doc[], operand: unknown, { scope }: StageContext): readonly Doc[] => {
  const { _id, ...fields } = docOf(operand, "$group");
  const groups = new Map<string, { readonly id: unknown; readonly docs: Doc[] }>();
  for (const doc of docs) {
    const id = evaluate(_id, scope.of(doc)) ?? null;
    const key = keyOf(id);
    const found = groups.get(key);
    if (found === undefined) groups.set(key, { id, docs: [doc] });
    else found.docs.push(doc);
  }
  return [...groups.values()].map((one) => {
    const made: Doc = { _id: one.id };
    for (const [name, accumulator] of Object.entries(fields))
      setField(made, name, accumulate(docOf(accumulator, name), one.docs, scope));
    return made;
  });
};

const accumulate = (accumulator: Doc, docs: readonly Doc[], scope: StageContext["scope"]): unknown => {
  const [name = ""] = Object.keys(accumulator);
  const operand = accumulator[name];
  const values = (expression: unknown = operand): readonly unknown[] => docs.map((doc) => evaluate(expression, scope.of(doc)));
  switch (name) {
    case "$sum":
      return sum(values());
    case "$avg":
      return avg(values());
    case "$min":
      return best(values(), -1);
    case "$max":
      return best(values(), 1);
    case "$first":
      return values()[0] ?? null;
    case "$last":
      return values().at(-1) ?? null;
    case "$count":
      return count(docs.length);
    case "$push":
      return values().filter((value) => value !== undefined);
    case "$addToSet":
      return [
        ...new Map(
          values()
            .filter((value) => value !== undefined)
            .map((value) => [keyOf(value), value]),
        ).values(),
      ];
    case "$mergeObjects":
      return Object.assign({}, ...values().filter(isDoc));
    case "$firstN":
    case "$lastN":
    case "$top":
    case "$bottom":
    case "$topN":
    case "$bottomN":
      return ranked(name, docOf(operand, name), docs, scope);
    default:
      throw new CommandError(15_952, `unknown group operator '${name}' (or one that the double does not know)`);
  }
};

/** The first or last of a sorted group. */
const ranked = (name: string, operand: Doc, docs: readonly Doc[], scope: StageContext["scope"]): unknown => {
  const sorted = operand.sortBy === undefined ? docs : sortDocs(docs, parseSort(operand.sortBy));
  const values = sorted.map((doc) => evaluate(operand.output ?? operand.input, scope.of(doc)) ?? null);
  const fromEnd = name.startsWith("$bottom") || name.startsWith("$last");
  if (!name.endsWith("N")) return (fromEnd ? values.at(-1) : values[0]) ?? null;
  const many = integer(evaluate(operand.n, scope), "n");
  return fromEnd ? values.slice(Math.max(0, values.length - many)) : values.slice(0, many);
};
