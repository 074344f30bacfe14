/** For the tests of this package and its siblings. Not covered by semver. */
export { content, type FilterCase, filter, filterCases } from "./arbitraries.ts";
export { writeCodeBlocks, writeReadme } from "./code-blocks.ts";
export type { ContractCase } from "./contract/case.ts";
export { contractCases } from "./contract/cases.ts";
export { runCase } from "./contract/describe-backend.ts";
export { runStorm, type StormOptions, type StormResult } from "./crashes/storm.ts";
export { Witness } from "./crashes/witness.ts";
export { firstSeed, isLong, runs } from "./environment.ts";
export { type GamesOptions, playGames } from "./games/play-games.ts";
export { type Command, type Script, scripts } from "./model/commands.ts";
export type { IsolationTally } from "./model/isolation.ts";
export { runModel } from "./model/run-model.ts";
export type { Mutant } from "./mutants/mutant.ts";
export { mutants, mutate } from "./mutants/mutants.ts";
export { failures, type Outcome, outcomes } from "./mutants/run-mutant.ts";
export { overlay } from "./overlay.ts";
export { type Random, seeded } from "./random.ts";
export {
  ackOf,
  acks,
  drain,
  event,
  fetching,
  fill,
  GROUP,
  insist,
  OPTIONS,
  REAL_TIME,
  request,
  STREAM,
  sequencesOf,
  settling,
  untilHearing,
  watch,
} from "./scene.ts";
export { type CheckOptions, checkSoak, type SoakEnd } from "./soak/checker.ts";
export { History } from "./soak/history.ts";
export { trendOf } from "./soak/memory.ts";
export { parseFlags } from "./soak/options.ts";
export { Recorder, readRecords, type SoakRecord } from "./soak/record.ts";
export { FAULT_KINDS, type Fault as SoakFault, type ScheduleOptions, schedule } from "./soak/schedule.ts";
