/** What proves Rheo, for its own tests and commands. */

export { CORPUS_IDS, corpusCases } from "./corpus/cases.ts";
export type { CorpusCase } from "./corpus/corpus-case.ts";
export { corpusPage, PAGE } from "./corpus/page.ts";
export { placesOf, proofsOf } from "./corpus/proofs-of.ts";
export type { SourceMutant } from "./mutants/mutant.ts";
export { misplaced, runMutants, soberness, type Verdict } from "./mutants/run-mutants.ts";
export { mutantNamed, sourceMutants } from "./mutants/source-mutants.ts";
export { storeNamed } from "./mutants/stores.ts";
export { type Counts, isTelling } from "./simulation/counts.ts";
export { FAILED_SEEDS } from "./simulation/failed-seeds.ts";
export { type Simulated, type SimulateOptions, simulate } from "./simulation/simulate.ts";
export { type Fixture, fixturesOf } from "./upgrade/fixtures.ts";
export { type OtherCopy, otherCopy } from "./upgrade/other-copy.ts";
export { openFixturePlace } from "./upgrade/places.ts";
export { describeStore, drainAll, LEFT_AT } from "./upgrade/scene.ts";
export { type FixtureStore, fixtureStores } from "./upgrade/stores.ts";
