/** What `createIndexes` says of an index. */
import { CommandError, refuse } from "../errors.ts";
import { Scope } from "../expressions/scope.ts";
import { compileFilter, type Match } from "../query/match.ts";
import { type Doc, isDoc } from "../values/document.ts";
import { docOf, flagOf, onlyFields, textOf } from "../values/expect.ts";
import { integerOf } from "../values/numbers.ts";

export interface IndexField {
  readonly name: string;
  readonly path: readonly string[];
  readonly direction: 1 | -1;
}

export interface IndexSpec {
  readonly name: string;
  readonly fields: readonly IndexField[];
  readonly unique: boolean;
  readonly sparse: boolean;
  readonly partial: Match | null;
  readonly partialFilter: Doc | null;
  /** As it was given, for `listIndexes`. */
  readonly given: Doc;
}

const KNOWN = ["v", "key", "name", "unique", "sparse", "partialFilterExpression", "background", "hidden"];

export const parseIndex = (given: Doc): IndexSpec => {
  if (Object.hasOwn(given, "expireAfterSeconds")) throw refuse("indexes that expire (expireAfterSeconds)");
  if (Object.hasOwn(given, "collation")) throw refuse("collations");
  onlyFields(given, "createIndexes.indexes", KNOWN);
  const fields = Object.entries(docOf(given.key, "key")).map(parseField);
  if (fields.length === 0) throw new CommandError(67, "Index keys cannot be empty.");
  const filter = isDoc(given.partialFilterExpression) ? given.partialFilterExpression : null;
  return {
    name: textOf(given.name, "name"),
    fields,
    unique: flagOf(given.unique),
    sparse: flagOf(given.sparse),
    partial: filter === null ? null : compileFilter(filter, new Scope(new Date(0))),
    partialFilter: filter,
    given,
  };
};

const parseField = ([name, direction]: [string, unknown]): IndexField => {
  if (name.includes("$**")) throw refuse("wildcard indexes");
  const number = integerOf(direction);
  if (number === null) throw refuse(`an index of the kind ${String(direction)}`);
  if (number === 0) throw new CommandError(67, "Values in the index key pattern cannot be 0.");
  return { name, path: name.split("."), direction: number > 0 ? 1 : -1 };
};
