/** Runs mutants a few at a time, after the killers have shown that they notice nothing in the code as it is. */
import { readFileSync } from "node:fs";
import type { Killer, SourceMutant, StoreName } from "./mutant.ts";
import { timesIn } from "./plant.ts";
import { pathOf } from "./root.ts";
import { type Heard, runKiller, runTests, type ServerUrls } from "./run-killer.ts";

export interface Verdict {
  readonly mutant: SourceMutant;
  /** `hung`: the killer did not come to an end, which counts as killed. `broken`: nothing can be said. */
  readonly kind: "killed" | "hung" | "survived" | "broken" | "not_run";
  /** What noticed it, or why nothing can be said. */
  readonly by: string;
  readonly tookMs: number;
}

/** Mutants whose text is not found exactly once in their file, each with how often it is. */
export const misplaced = (mutants: readonly SourceMutant[]): readonly string[] =>
  mutants.flatMap(({ name, file, find }) => {
    const times = timesIn(readFileSync(pathOf(file), "utf8"), find);
    return times === 1 ? [] : [`${name}: ${times} times in ${file}`];
  });

/** What the killers notice in the code as it is: nothing, or they prove nothing. */
export const soberness = async (mutants: readonly SourceMutant[], urls: ServerUrls): Promise<readonly string[]> => {
  const killers = mutants.map(({ killer }) => killer);
  const tests = killers.filter((killer) => killer.by === "test");
  const runs = [
    ...mergedKillers(killers).map((killer) => () => runKiller(killer, null, urls)),
    ...(tests.length === 0 ? [] : [() => runTests(tests, null)]),
  ];
  const problems: string[] = [];
  await inParallel(runs, async (run) => void problems.push(...problemsIn(await run())));
  return problems;
};

const problemsIn = (heard: Heard): readonly string[] => {
  switch (heard.kind) {
    case "noticed":
      return heard.what;
    case "hung":
      return ["a killer did not come to an end"];
    case "broken":
      return [heard.why];
    case "not_run":
      return [];
    default:
      return heard satisfies never;
  }
};

/** As few as do the same: one per store for the contract, the longest of the others. */
const mergedKillers = (killers: readonly Killer[]): readonly Killer[] => {
  const merged = new Map<string, Killer>();
  for (const killer of killers) {
    if (killer.by === "test") continue;
    const name = `${killer.by} ${"on" in killer ? killer.on : ""}`;
    merged.set(name, more(merged.get(name) ?? killer, killer));
  }
  return [...merged.values()];
};

const more = (one: Killer, other: Killer): Killer => {
  if (one.by === "contract" && other.by === "contract")
    return { by: "contract", on: one.on, cases: [...new Set([...one.cases, ...other.cases])] };
  const size = (killer: Killer): number => ("seeds" in killer ? killer.seeds : "runs" in killer ? killer.runs : 0);
  return size(one) >= size(other) ? one : other;
};

/** Tells each verdict as it comes. */
export const runMutants = async (
  mutants: readonly SourceMutant[],
  urls: ServerUrls,
  told: (verdict: Verdict) => void = () => undefined,
): Promise<readonly Verdict[]> => {
  const verdicts: Verdict[] = [];
  await inParallel(mutants, async (mutant) => {
    const startMs = performance.now();
    const verdict = { mutant, ...judged(await runKiller(mutant.killer, mutant.name, urls)), tookMs: performance.now() - startMs };
    verdicts.push(verdict);
    told(verdict);
  });
  return verdicts.sort((a, b) => mutants.indexOf(a.mutant) - mutants.indexOf(b.mutant));
};

const judged = (heard: Heard): Pick<Verdict, "kind" | "by"> => {
  switch (heard.kind) {
    case "noticed":
      return heard.what.length === 0 ? { kind: "survived", by: "" } : { kind: "killed", by: heard.what[0] ?? "" };
    case "hung":
      return { kind: "hung", by: "it hangs" };
    case "broken":
    case "not_run":
      return { kind: heard.kind, by: heard.why };
    default:
      return heard satisfies never;
  }
};

/** Processes at once: two cores are what everybody has. */
const JOBS = 2;

const inParallel = async <Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> => {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: JOBS }, worker));
};

/** The stores whose servers are needed. */
export const serversOf = (mutants: readonly SourceMutant[]): ReadonlySet<StoreName> =>
  new Set(mutants.flatMap(({ killer }) => ("on" in killer ? [killer.on] : [])));
