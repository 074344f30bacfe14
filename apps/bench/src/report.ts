import Table from "cli-table3";
import type { Machine } from "./machine.ts";
import type { Answers, Remark } from "./measure.ts";
import type { Sample } from "./question.ts";

interface Result {
  readonly question: string;
  readonly system: string;
  readonly settings: string;
  readonly unit: Sample["unit"];
  readonly runs: number;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface Report {
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  readonly results: readonly Result[];
  readonly remarks: readonly Remark[];
}

export const summarise = (machine: Machine, versions: Report["versions"], { samples, remarks }: Answers): Report => ({
  machine,
  versions,
  results: [...groupByName(samples).values()].map(toResult),
  remarks,
});

const nameOf = (sample: Sample): string => JSON.stringify([sample.question, sample.system, sample.settings]);

const groupByName = (samples: readonly Sample[]): Map<string, Sample[]> => {
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) groups.set(nameOf(sample), [...(groups.get(nameOf(sample)) ?? []), sample]);
  return groups;
};

const toResult = (samples: readonly Sample[]): Result => {
  const [first] = samples;
  if (first === undefined) throw new RangeError("a group of samples is never empty");
  const values = samples.map((sample) => sample.value).sort((a, b) => a - b);
  const { question, system, settings, unit } = first;
  const [min, median, max] = [values[0], values[Math.floor(values.length / 2)], values.at(-1)];
  return { question, system, settings, unit, runs: values.length, median: median ?? 0, min: min ?? 0, max: max ?? 0 };
};

const show = (value: number, unit: Result["unit"]): string =>
  unit === "ms" || unit === "µs" ? value.toFixed(value < 10 ? 3 : 1) : Math.round(value).toLocaleString("en-US");

/** Columns from the settings to the last. */
const REMARK_SPAN = 6;

export const toTable = ({ results, remarks }: Report): string => {
  const table = new Table({
    head: ["question", "system", "settings", "unit", "median", "min", "max", "runs"],
    style: { head: [], border: [] },
  });
  for (const result of results) {
    const { question, system, settings, unit, median, min, max, runs } = result;
    table.push([question, system, settings, unit, show(median, unit), show(min, unit), show(max, unit), String(runs)]);
  }
  for (const { question, system, text } of remarks) table.push([question, system, { colSpan: REMARK_SPAN, content: text }]);
  return table.toString();
};
