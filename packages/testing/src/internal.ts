/** For the tests of this package and its siblings. Not covered by semver. */
export { content, filter } from "./arbitraries.ts";
export type { ContractCase } from "./contract/case.ts";
export { contractCases } from "./contract/cases.ts";
export { runStorm, type StormOptions, type StormResult } from "./crashes/storm.ts";
export { firstSeed, runs } from "./environment.ts";
export { type Command, commands } from "./model/commands.ts";
export { runModel } from "./model/run-model.ts";
export type { Mutant } from "./mutants/mutant.ts";
export { mutants, mutate } from "./mutants/mutants.ts";
export { failures, type Outcome, outcomes } from "./mutants/run-mutant.ts";
export { type Random, seeded } from "./random.ts";
