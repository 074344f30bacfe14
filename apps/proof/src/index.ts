/** What proves Rheo, for its own tests and commands. */
export { type Counts, isTelling } from "./simulation/counts.ts";
export { FAILED_SEEDS } from "./simulation/failed-seeds.ts";
export { type Simulated, type SimulateOptions, simulate } from "./simulation/simulate.ts";
