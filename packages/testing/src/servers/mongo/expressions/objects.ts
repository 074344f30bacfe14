import { Int32 } from "bson";
import { CommandError } from "../errors.ts";
import { type Doc, fieldOf, isDoc, setField, sizeOf } from "../values/document.ts";
import { textOf } from "../values/expect.ts";
import { eager, isNothing, mismatch, named, type Operator, partsOf, strict, type Table } from "./operator.ts";

const merge = (...values: unknown[]): Doc => {
  const parts = values.length === 1 && Array.isArray(values[0]) ? values[0] : values;
  const made: Doc = {};
  for (const part of parts) {
    if (isNothing(part)) continue;
    if (!isDoc(part)) throw mismatch("$mergeObjects", "objects", part);
    for (const [name, value] of Object.entries(part)) setField(made, name, value);
  }
  return made;
};

const toArray = (value: unknown): unknown => {
  if (!isDoc(value)) throw mismatch("$objectToArray", "an object", value);
  return Object.entries(value).map(([k, v]) => ({ k, v }));
};

const fromArray = (pairs: unknown): Doc => {
  if (!Array.isArray(pairs)) throw mismatch("$arrayToObject", "an array", pairs);
  const made: Doc = {};
  for (const pair of pairs) {
    const [name, value] = Array.isArray(pair) ? pair : isDoc(pair) ? [pair.k, pair.v] : [];
    setField(made, textOf(name, "$arrayToObject"), value);
  }
  return made;
};

const getField: Operator = (operand, scope, evaluate) => {
  const { field, input = "$$CURRENT" } =
    isDoc(operand) && Object.hasOwn(operand, "field") ? partsOf("$getField", ["field", "input"], operand) : { field: operand };
  const from = evaluate(input, scope);
  return isDoc(from) ? fieldOf(from, textOf(evaluate(field, scope), "field")) : isNothing(from) ? null : undefined;
};

const withField = (values: Doc): unknown => {
  if (isNothing(values.input)) return null;
  if (!isDoc(values.input)) throw new CommandError(2, "$setField requires 'input' to evaluate to type Object");
  const made = { ...values.input };
  const name = textOf(values.field, "field");
  if (values.value === undefined) delete made[name];
  else setField(made, name, values.value);
  return made;
};

export const objects: Table = {
  $mergeObjects: eager(merge),
  $objectToArray: strict(toArray),
  $arrayToObject: strict((pairs) => fromArray(pairs)),
  $getField: getField,
  $setField: named("$setField", ["field", "input", "value"], withField),
  $unsetField: named("$unsetField", ["field", "input"], withField),
  $bsonSize: strict((value) => {
    if (!isDoc(value)) throw mismatch("$bsonSize", "an object", value);
    return new Int32(sizeOf(value));
  }),
};
