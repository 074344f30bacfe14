import { Int32 } from "bson";
import { compare } from "../values/compare.ts";
import { eager, type Table } from "./operator.ts";
import { toTruth } from "./scope.ts";

/** All types compare, a missing field before null. */
export const comparisons: Table = {
  $eq: eager((a, b) => compare(a, b) === 0),
  $ne: eager((a, b) => compare(a, b) !== 0),
  $gt: eager((a, b) => compare(a, b) > 0),
  $gte: eager((a, b) => compare(a, b) >= 0),
  $lt: eager((a, b) => compare(a, b) < 0),
  $lte: eager((a, b) => compare(a, b) <= 0),
  $cmp: eager((a, b) => new Int32(compare(a, b))),
  $not: eager((value) => !toTruth(value)),
};
