/** When, on what and how evenly it was measured. */
import type { Kept, Remark, Session } from "../results/kept.ts";
import { median, UNEVEN, variation } from "../results/statistics.ts";
import { tableOf } from "./table.ts";

/** What all sessions share, as one line; what they do not, each. */
export const machineText = ({ sessions }: Kept): string => {
  const machines = new Set(
    sessions.map(({ machine: { cpu, cores, memoryGiB, platform } }) => `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${platform}`),
  );
  return [...machines].map((machine) => `- ${machine}`).join("\n");
};

export const versionsTable = ({ sessions }: Kept): string => {
  const versions = new Map<string, Set<string>>();
  for (const session of sessions)
    for (const [name, version] of Object.entries(session.versions))
      versions.set(name, (versions.get(name) ?? new Set()).add(version));
  const rows = [...versions]
    .filter(([, found]) => !found.has("not installed"))
    .map(([name, found]) => [name, [...found].join(", ")]);
  return tableOf(["part", "version"], rows, 0);
};

export const sessionsTable = ({ sessions }: Kept): string =>
  tableOf(
    ["begun", "command", "processor", "commit", "load before", "after", "stolen", "calibration"],
    sessions.map((session) => [
      session.startedAt.slice(0, 16).replace("T", " "),
      `\`${session.command}\``,
      session.machine.cpu,
      session.commit,
      ...noiseOf(session),
    ]),
    5,
  );

const noiseOf = ({ noise }: Session): readonly string[] => {
  const { loadBefore, loadAfter, stolen, calibrations } = noise;
  return [
    String(loadBefore),
    String(loadAfter),
    stolen === null ? "–" : `${stolen} %`,
    `± ${(variation(calibrations) * 100).toFixed(1)} %`,
  ];
};

/** How much a difference has to be to mean something; and a warning where the machine was not fit to tell. */
export const noiseText = ({ sessions, results }: Kept): string | null => {
  const calibrations = sessions.flatMap(({ noise }) => noise.calibrations);
  if (calibrations.length === 0) return null;
  const spread = (Math.max(...calibrations) - Math.min(...calibrations)) / median(calibrations);
  const calibrated = `The same small piece of work, done ${calibrations.length} times between the measurements, took ± ${percent(variation(calibrations))} (median deviation), ${percent(spread)} from the slowest to the fastest.`;
  const repeated = results.filter(({ values }) => values.length > 1).map(({ values }) => variation(values));
  const differ =
    repeated.length === 0
      ? "Each number is of one run: it says little about small differences."
      : `Numbers that were taken more than once differ by ± ${percent(median(repeated))} in the median.`;
  return [...(variation(calibrations) > UNEVEN ? [BUSY] : []), `${calibrated} ${differ}`].join("\n\n");
};

const BUSY =
  "**The machine was busy with other things while this was measured: these numbers are provisional, and too low.** They show that everything can be asked, and little else.";

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** What is not there, and why. Null when nothing is missing. */
export const remarksTable = ({ remarks }: Kept): string | null => {
  const rows = remarks.map(({ system, question, text }: Remark) => [system, question, text.replaceAll("|", "\\|")]);
  return rows.length === 0 ? null : tableOf(["who", "what", "why there is no number"], rows, 0);
};
