import { markdownTable } from "markdown-table";
import { show, showParameters } from "../report.ts";
import type { Result } from "../results/kept.ts";
import { summaryOf } from "../results/statistics.ts";

/** In Markdown, columns of numbers to the right. `numbers`: how many of the last columns they are. */
export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[], numbers: number): string => {
  const align = head.map((_, column) => (column >= head.length - numbers ? "r" : "l"));
  return markdownTable([[...head], ...rows.map((row) => [...row])], { align, padding: false, alignDelimiters: false });
};

const NUMBERS = 4;

/** All results of a topic. */
export const topicTable = (results: readonly Result[], topics: readonly string[]): string | null => {
  const found = topics.flatMap((topic) => results.filter((result) => result.topic === topic));
  if (found.length === 0) return null;
  const rows = found.map((result) => {
    const { median, min, max, deviation } = summaryOf(result.values);
    const { question, parameters, system, settings, unit } = result;
    const numbers = [show(median, unit), `${show(min, unit)} – ${show(max, unit)}`, `${percent(deviation, median)} %`];
    return [question, showParameters(parameters), [system, settings].filter((part) => part !== "").join(": "), unit, ...numbers];
  });
  return tableOf(["what", "with", "by", "unit", "median", "from – to", "± mad"], rows, NUMBERS - 1);
};

const percent = (part: number, whole: number): string => (whole === 0 ? "0" : ((part / Math.abs(whole)) * 100).toFixed(1));
