import Table from "cli-table3";
import type { Parameters, Unit } from "./question.ts";
import type { Kept, Result } from "./results/kept.ts";
import { summaryOf } from "./results/statistics.ts";

/** Below, parts of a whole say something. */
const FEW = 10;
const WHOLE: ReadonlySet<Unit> = new Set(["events/s", "leases", "events", "connections"]);

/** With as many digits as say something. */
export const show = (value: number, unit: Unit): string => {
  if (!Number.isFinite(value)) return "–";
  if (WHOLE.has(unit) || Math.abs(value) >= 1_000) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(Math.abs(value) < FEW ? (unit === "ms" || unit === "µs" ? 3 : 2) : 1);
};

export const showParameters = (parameters: Parameters): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name} ${typeof value === "number" ? value.toLocaleString("en-US") : value}`)
    .join(", ");

const labelOf = ({ question, parameters }: Pick<Result, "question" | "parameters">): string =>
  [question, showParameters(parameters)].filter((part) => part !== "").join(", ");

/** Columns from the settings to the last. */
const REMARK_SPAN = 7;

export const toTable = ({ results, remarks }: Kept): string => {
  const table = new Table({
    head: ["question", "system", "settings", "unit", "median", "min", "max", "± mad", "runs"],
    style: { head: [], border: [] },
  });
  for (const result of results) {
    const { system, settings, unit, values } = result;
    const { median, min, max, deviation, runs } = summaryOf(values);
    const numbers = [median, min, max, deviation].map((value) => show(value, unit));
    table.push([labelOf(result), system, settings, unit, ...numbers, String(runs)]);
  }
  for (const { question, system, text } of remarks) table.push([question, system, { colSpan: REMARK_SPAN, content: text }]);
  return table.toString();
};
