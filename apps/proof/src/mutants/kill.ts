/** Asks a killer, in this process, for the first thing that it notices. */
import { type ContractCase, contractCases, runCase, runModel, runStorm, scripts } from "@rheo/testing/internal";
import fc from "fast-check";
import { simulate } from "../simulation/simulate.ts";
import type { Killer } from "./mutant.ts";
import { storeNamed } from "./stores.ts";

/** A killer that works in this process, and where its server is. */
export interface Order {
  readonly killer: Exclude<Killer, { readonly by: "test" }>;
  readonly url: string;
  /** Everything that is noticed, not only the first: for a run without a mutant. */
  readonly all: boolean;
}

/** What was noticed, by name. */
export const kill = async (order: Order): Promise<readonly string[]> => {
  const { killer } = order;
  switch (killer.by) {
    case "contract":
      return await byContract(killer, order);
    case "simulation":
      return await bySeeds(killer.seeds, order.all, async (seed) => (await simulate(seed)).violations[0] ?? null);
    case "storm":
      return await bySeeds(killer.seeds, order.all, async (seed) => await storm(killer.on, order.url, seed));
    case "model":
      return await byModel(killer, order);
    default:
      return killer satisfies never;
  }
};

/** Such cases need transactions of the caller's own, which the stores here do not give. */
const TRANSACTIONS = "T8";

/** A case is given up after so long, in ms: several times what any takes on a busy machine. */
const HANG_MS = { memory: 6_000, sqlite: 6_000, postgres: 20_000, redis: 20_000 } as const;

/** What failed, or null. */
const runOne = async (
  store: ReturnType<typeof storeNamed>,
  contractCase: ContractCase,
  limitMs: number,
): Promise<string | null> => {
  let timer: NodeJS.Timeout | undefined;
  const hang = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, limitMs, `${contractCase.title} (it hangs)`);
  });
  const run = runCase(store, "two instances", contractCase).then(
    () => null,
    () => contractCase.title,
  );
  try {
    return await Promise.race([run, hang]);
  } finally {
    clearTimeout(timer);
  }
};

const byContract = async (
  { on, cases: wanted }: Extract<Killer, { readonly by: "contract" }>,
  { url, all }: Order,
): Promise<readonly string[]> => {
  const store = storeNamed(on, url);
  const probe = store.open();
  await probe.dispose?.();
  const cases = contractCases.filter(
    (candidate) =>
      candidate.applies(probe.backend.capabilities) && !idsOf(candidate).includes(TRANSACTIONS) && isWanted(candidate, wanted),
  );
  const unknown = wanted.find((name) => !cases.some((candidate) => isWanted(candidate, [name])));
  if (unknown !== undefined) throw new RangeError(`There is no case "${unknown}" on ${on}.`);
  const noticed: string[] = [];
  for (const contractCase of cases) {
    const verdict = await runOne(store, contractCase, HANG_MS[on]);
    if (verdict !== null) noticed.push(all ? `${on}: ${verdict}` : verdict);
    if (verdict !== null && !all) break;
  }
  return noticed;
};

const idsOf = ({ rule, also }: ContractCase): readonly string[] => [rule, ...also];

const RULE = /^[A-Z]\d+$/;

const isWanted = (candidate: ContractCase, wanted: readonly string[]): boolean =>
  wanted.some((name) => (RULE.test(name) ? idsOf(candidate).includes(name) : candidate.title.includes(name)));

const bySeeds = async (
  seeds: number,
  all: boolean,
  run: (seed: number) => Promise<string | null>,
): Promise<readonly string[]> => {
  const noticed: string[] = [];
  for (let seed = 1; seed <= seeds && (all || noticed.length === 0); seed++) {
    const violation = await run(seed);
    if (violation !== null) noticed.push(`seed ${seed}: ${violation}`);
  }
  return noticed;
};

const STORM = { events: 30, partitions: 2, members: 3, steps: 160, poison: new Set([5]), maxAttempts: 4 };

const storm = async (on: Extract<Killer, { readonly by: "storm" }>["on"], url: string, seed: number): Promise<string | null> => {
  try {
    return (await runStorm(storeNamed(on, url), { ...STORM, seed })).violations[0] ?? null;
  } catch (cause) {
    return String(cause);
  }
};

const MODEL_SEED = 42;

const byModel = async ({ on, runs }: Extract<Killer, { readonly by: "model" }>, { url }: Order): Promise<readonly string[]> => {
  const property = fc.asyncProperty(scripts, async (script) => void (await runModel(storeNamed(on, url), script)));
  const { failed, numRuns, errorInstance } = await fc.check(property, { seed: MODEL_SEED, numRuns: runs, endOnFailure: true });
  return failed ? [`run ${numRuns}: ${errorInstance instanceof Error ? errorInstance.message : String(errorInstance)}`] : [];
};
