/** What a run leaves in a file: enough to go on from where it was interrupted, and to make pages of it. */
import type { Machine } from "../machine.ts";
import type { Parameters, Sample, Unit } from "../question.ts";

/** What is said of an answer that is not there. */
export interface Remark {
  readonly question: string;
  readonly system: string;
  readonly text: string;
}

/** The answers of one system to one thing that was asked, a value for each run. */
export interface Result {
  /** The name of the question; a question may give several results. */
  readonly topic: string;
  readonly question: string;
  readonly system: string;
  readonly settings: string;
  readonly parameters: Parameters;
  readonly unit: Unit;
  readonly values: readonly number[];
}

/** How even the machine was meanwhile. */
export interface Noise {
  /** Load of the last minute when the run began, with nothing of its own yet: numbers taken on a busy machine mean little. */
  readonly loadBefore: number;
  readonly loadAfter: number;
  /** Time that the host took from this machine, in %; null where that is not told. */
  readonly stolen: number | null;
  /** How often a second the same small piece of work was done, taken again before each measurement. */
  readonly calibrations: readonly number[];
}

/** One call of the command. */
export interface Session {
  readonly startedAt: string;
  readonly endedAt: string;
  /** Of the code that was measured; `+` where files were changed since. */
  readonly commit: string;
  readonly command: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  readonly noise: Noise;
}

/** How often a question was asked of a system. */
export interface Asked {
  readonly question: string;
  readonly system: string;
  readonly runs: number;
}

export interface Kept {
  readonly format: 1;
  readonly sessions: readonly Session[];
  readonly asked: readonly Asked[];
  readonly results: readonly Result[];
  readonly remarks: readonly Remark[];
}

export const EMPTY: Kept = { format: 1, sessions: [], asked: [], results: [], remarks: [] };

const nameOf = ({ question, system, settings, parameters }: Omit<Sample, "unit" | "value">): string =>
  JSON.stringify([question, system, settings, parameters]);

/** With one more run of a question, in the place of what was said of its absence. */
export const withAnswer = (kept: Kept, topic: string, asked: Omit<Asked, "runs">, samples: readonly Sample[]): Kept => {
  const results = new Map(kept.results.map((result) => [nameOf(result), result]));
  for (const { value, ...sample } of samples) {
    const known = results.get(nameOf(sample));
    results.set(nameOf(sample), { topic, ...sample, values: [...(known?.values ?? []), value] });
  }
  const runs = runsOf(kept, asked) + 1;
  const others = kept.asked.filter((other) => !isSame(other, asked));
  const remarks = kept.remarks.filter((remark) => !isSame(remark, asked));
  return { ...kept, asked: [...others, { ...asked, runs }], results: [...results.values()], remarks };
};

export const runsOf = (kept: Kept, asked: Omit<Asked, "runs">): number =>
  kept.asked.find((other) => isSame(other, asked))?.runs ?? 0;

const isSame = (one: Pick<Asked, "question" | "system">, other: Pick<Asked, "question" | "system">): boolean =>
  one.question === other.question && one.system === other.system;

/** With this remark in the place of what was said of the same before. */
export const withRemark = (kept: Kept, remark: Remark): Kept => ({
  ...kept,
  remarks: [...kept.remarks.filter(({ question, system }) => question !== remark.question || system !== remark.system), remark],
});

/** With this session last: in the place of itself as it was when it was saved before. */
export const withSession = (kept: Kept, session: Session): Kept => ({
  ...kept,
  sessions: [...kept.sessions.filter(({ startedAt }) => startedAt !== session.startedAt), session],
});

/** Several files as one: what was asked of the same in more than one is one result. */
export const merged = (files: readonly Kept[]): Kept => ({
  format: 1,
  sessions: files.flatMap(({ sessions }) => sessions),
  asked: files.flatMap(({ asked }) => asked),
  results: joined(files.flatMap(({ results }) => results)),
  remarks: files.flatMap(({ remarks }) => remarks).reduce(withRemark, EMPTY).remarks,
});

const joined = (results: readonly Result[]): readonly Result[] => {
  const byName = new Map<string, Result>();
  for (const result of results) {
    const known = byName.get(nameOf(result));
    byName.set(nameOf(result), { ...result, values: [...(known?.values ?? []), ...result.values] });
  }
  return [...byName.values()];
};
