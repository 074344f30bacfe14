/** What a command must hold at a place, or a refusal. */
import { CommandError } from "../errors.ts";
import { type Doc, isDoc, isNumeric, toNumber } from "./document.ts";
import { integerOf } from "./numbers.ts";
import { typeName } from "./type-name.ts";

const wrong = (name: string, value: unknown, wanted: string): CommandError =>
  new CommandError(14, `BSON field '${name}' is the wrong type '${typeName(value)}', expected type '${wanted}'`);

export const docOf = (value: unknown, name: string): Doc => {
  if (!isDoc(value)) throw wrong(name, value, "object");
  return value;
};

export const arrayOf = (value: unknown, name: string): readonly unknown[] => {
  if (!Array.isArray(value)) throw wrong(name, value, "array");
  return value;
};

export const docsOf = (value: unknown, name: string): readonly Doc[] => arrayOf(value, name).map((part) => docOf(part, name));

export const textOf = (value: unknown, name: string): string => {
  if (typeof value !== "string") throw wrong(name, value, "string");
  return value;
};

export const integer = (value: unknown, name: string): number => {
  const number = integerOf(value);
  if (number === null) throw wrong(name, value, "long");
  return number;
};

/** 0 when it is not given. */
export const countOf = (value: unknown, name: string): number => {
  const number = value === undefined || value === null ? 0 : integer(value, name);
  if (number < 0) throw new CommandError(2, `BSON field '${name}' value must be >= 0, actual value '${number}'`);
  return number;
};

/** False when it is not given; numbers count as the server counts them. */
export const flagOf = (value: unknown): boolean => (isNumeric(value) ? toNumber(value) !== 0 : value === true);

/** Refuses fields that are not named, so that none is ignored. */
export const onlyFields = (doc: Doc, what: string, names: readonly string[]): void => {
  const unknown = Object.keys(doc).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new CommandError(40_415, `BSON field '${what}.${unknown}' is an unknown field.`);
};
