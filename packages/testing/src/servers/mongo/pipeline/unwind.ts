import { Long } from "bson";
import { readAt, removeAt, setAt } from "../update/paths.ts";
import { copy, type Doc, isDoc } from "../values/document.ts";
import { onlyFields, textOf } from "../values/expect.ts";

/** A document for each element of an array; for a value that is none as it is. */
export const unwind = (docs: readonly Doc[], operand: unknown): readonly Doc[] => {
  const spec: Doc = isDoc(operand) ? operand : { path: operand };
  onlyFields(spec, "$unwind", ["path", "includeArrayIndex", "preserveNullAndEmptyArrays"]);
  const path = textOf(spec.path, "path").slice(1).split(".");
  const position = typeof spec.includeArrayIndex === "string" ? spec.includeArrayIndex.split(".") : null;
  const at = (doc: Doc, value: unknown, index: number | null): Doc => {
    const made = copy(doc);
    if (value === undefined) removeAt(made, path);
    else setAt(made, path, value);
    if (position !== null) setAt(made, position, index === null ? null : Long.fromNumber(index));
    return made;
  };
  return docs.flatMap((doc) => {
    const value = readAt(doc, path);
    if (Array.isArray(value) && value.length > 0) return value.map((part, index) => at(doc, part, index));
    const nothing = value === undefined || value === null || Array.isArray(value);
    if (!nothing) return [at(doc, value, null)];
    return spec.preserveNullAndEmptyArrays === true ? [at(doc, Array.isArray(value) ? undefined : value, null)] : [];
  });
};
