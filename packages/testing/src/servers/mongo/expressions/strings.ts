import { Binary, Int32 } from "bson";
import { toRegExp } from "../query/regex.ts";
import { integer, textOf } from "../values/expect.ts";
import { stringOf } from "./conversions.ts";
import { eager, isNothing, mismatch, named, strict, type Table } from "./operator.ts";

const text = (operator: string, value: unknown): string => textOf(value, operator);
const lower = (value: unknown): string => (isNothing(value) ? "" : stringOf(value));

const part = (value: unknown, start: unknown, length: unknown): string => {
  const points = Array.from(lower(value));
  const from = integer(start, "$substrCP");
  const many = integer(length, "$substrCP");
  return (many < 0 ? points.slice(from) : points.slice(from, from + many)).join("");
};

const partOfBytes = (value: unknown, start: unknown, length: unknown): string => {
  const bytes = Buffer.from(lower(value));
  const from = integer(start, "$substrBytes");
  const many = integer(length, "$substrBytes");
  return bytes.subarray(from, many < 0 ? undefined : from + many).toString();
};

const binarySize = (value: unknown): Int32 => {
  if (value instanceof Binary) return new Int32(value.position);
  return new Int32(Buffer.byteLength(text("$binarySize", value)));
};

const trimmed =
  (ends: "both" | "left" | "right") =>
  (values: Readonly<Record<string, unknown>>): unknown => {
    if (isNothing(values.input)) return null;
    const chars = values.chars === undefined ? null : new Set(Array.from(text("$trim", values.chars)));
    const points = Array.from(text("$trim", values.input));
    const cut = (point: string | undefined): boolean =>
      point !== undefined && (chars === null ? /\s|\0/.test(point) : chars.has(point));
    if (ends !== "right") while (cut(points[0])) points.shift();
    if (ends !== "left") while (cut(points.at(-1))) points.pop();
    return points.join("");
  };

export const strings: Table = {
  $concat: strict((...values) => values.map((value) => text("$concat", value)).join("")),
  $toLower: eager((value) => lower(value).toLowerCase()),
  $toUpper: eager((value) => lower(value).toUpperCase()),
  $strLenCP: eager((value) => new Int32(Array.from(text("$strLenCP", value)).length)),
  $strLenBytes: eager((value) => new Int32(Buffer.byteLength(text("$strLenBytes", value)))),
  $binarySize: strict(binarySize),
  $substrCP: eager(part),
  $substrBytes: eager(partOfBytes),
  $substr: eager(partOfBytes),
  $split: strict((value, by) => text("$split", value).split(text("$split", by))),
  $indexOfCP: strict((value, wanted) => {
    const at = text("$indexOfCP", value).indexOf(text("$indexOfCP", wanted));
    return new Int32(at < 0 ? -1 : Array.from(text("$indexOfCP", value).slice(0, at)).length);
  }),
  $trim: named("$trim", ["input", "chars"], trimmed("both")),
  $ltrim: named("$ltrim", ["input", "chars"], trimmed("left")),
  $rtrim: named("$rtrim", ["input", "chars"], trimmed("right")),
  $regexMatch: named("$regexMatch", ["input", "regex", "options"], ({ input, regex, options }) => {
    if (isNothing(input) || isNothing(regex)) return false;
    if (typeof input !== "string") throw mismatch("$regexMatch", "strings", input);
    return toRegExp(regex, options).test(input);
  }),
};
