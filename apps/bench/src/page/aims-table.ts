/** What the results say to the aims. A shortfall is shown as one. */
import { show } from "../report.ts";
import type { Result } from "../results/kept.ts";
import { AIMS, type Aim } from "./aims.ts";
import { tableOf } from "./table.ts";

const text = (value: number, unit: Aim["unit"]): string =>
  unit === "×" ? `${value.toFixed(2)} ×` : `${show(value, unit)} ${unit}`;

const isReached = (bound: Aim["bound"], value: number): boolean =>
  "least" in bound ? value >= bound.least : value <= bound.most;

export const aimsTable = (results: readonly Result[]): string => {
  const rows = AIMS.map(({ what, bound, unit, reached }) => {
    const aim = "least" in bound ? `≥ ${text(bound.least, unit)}` : `≤ ${text(bound.most, unit)}`;
    const found = reached(results);
    if (found === null) return [what, aim, "–", "not measured"];
    return [what, aim, text(found, unit), isReached(bound, found) ? "reached" : "**short**"];
  });
  return tableOf(["what", "aim", "measured", ""], rows, 0);
};

/** How many of how many measured aims are reached. */
export const aimsSummary = (results: readonly Result[]): string => {
  const found = AIMS.flatMap(({ bound, reached }) => {
    const value = reached(results);
    return value === null ? [] : [isReached(bound, value)];
  });
  const met = found.filter(Boolean).length;
  return `${met} of ${found.length} aims that were measured are reached; ${AIMS.length - found.length} were not measured.`;
};
