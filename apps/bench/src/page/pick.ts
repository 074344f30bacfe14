/** Finding results by what was asked of whom. */
import type { Parameters } from "../question.ts";
import type { Result } from "../results/kept.ts";
import { median } from "../results/statistics.ts";

export interface Wanted {
  readonly question: string;
  /** Of these systems, by the beginning of their names. Default: all. */
  readonly system?: string;
  /** What their settings have in them. */
  readonly settings?: string;
  /** Those that are named have these values. */
  readonly parameters?: Parameters;
}

export const pick = (
  results: readonly Result[],
  { question, system = "", settings = "", parameters = {} }: Wanted,
): readonly Result[] =>
  results.filter(
    (result) =>
      result.question === question &&
      result.system.startsWith(system) &&
      result.settings.includes(settings) &&
      Object.entries(parameters).every(([name, value]) => result.parameters[name] === value),
  );

/** The middle value of the first that fits; null when there is none. */
export const medianOf = (results: readonly Result[], wanted: Wanted): number | null => {
  const [found] = pick(results, wanted);
  return found === undefined ? null : median(found.values);
};

const STORES: ReadonlySet<string> = new Set(["memory", "sqlite", "lmdb", "postgres", "redis", "mongo"]);

/** Who answered: Rheo, the bare store below it, or somebody else. */
export type Role = "rheo" | "limit" | "peer";

export const roleOf = ({ system, question }: Pick<Result, "system" | "question">): Role => {
  if (question.startsWith("bare ") || question.startsWith("JSON.") || system.startsWith("XREADGROUP")) return "limit";
  return STORES.has(system) ? "rheo" : "peer";
};
