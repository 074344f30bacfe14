/** The pages: templates whose lines `{{ … }}` are replaced by what was measured. */
import type { Kept } from "../results/kept.ts";
import { aimsSummary, aimsTable } from "./aims-table.ts";
import { CHARTS } from "./charts.ts";
import { checksTable } from "./checks.ts";
import { machineText, noiseText, remarksTable, sessionsTable, versionsTable } from "./sessions.ts";
import { topicTable } from "./table.ts";

/** Where charts lie, from the docs. */
const PICTURES = "pictures/performance";
const MISSING = "*Not measured yet.*";

/** What a line asks for; its arguments are words. */
type Part = (kept: Kept, words: readonly string[]) => string | null;

const PARTS: Readonly<Record<string, Part>> = {
  aims: ({ results }) => aimsTable(results),
  "aims-summary": ({ results }) => aimsSummary(results),
  checks: ({ results }) => checksTable(results),
  machine: machineText,
  versions: versionsTable,
  sessions: sessionsTable,
  noise: noiseText,
  remarks: remarksTable,
  table: ({ results }, topics) => topicTable(results, topics),
  chart: ({ results }, names) => {
    const drawn = CHARTS.filter((chart) => names.includes(chart.name) && chart.draw(results) !== null);
    return drawn.length === 0 ? null : drawn.map(({ name, alt }) => `![${alt}](${PICTURES}/${name}.svg)`).join("\n\n");
  },
};

const LINE = /^\{\{ ([\w-]+)((?: [\w-]+)*) \}\}$/gm;

/** @throws when a line asks for what there is not */
export const fillTemplate = (template: string, kept: Kept): string =>
  template.replaceAll(LINE, (line, name: string, words: string) => {
    const part = PARTS[name];
    if (part === undefined) throw new RangeError(`${line} is not known`);
    return part(kept, words.trim().split(" ")) ?? MISSING;
  });

/** Of a page of the docs made by a template: the note that keeps people from editing it. */
const made = (template: string): string =>
  `<!-- Made by \`npm run bench -- report\` from apps/bench/pages/${template} and apps/bench/results. -->\n\n`;

/** Contents by path from the docs. `templates`: contents by the name of the page. */
export const makePages = (kept: Kept, templates: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map([
    ...Object.entries(templates).map(([name, template]) => [name, `${made(name)}${fillTemplate(template, kept)}`] as const),
    ...CHARTS.flatMap((chart) => {
      const drawn = chart.draw(kept.results);
      return drawn === null ? [] : [[`${PICTURES}/${chart.name}.svg`, drawn] as const];
    }),
  ]);
