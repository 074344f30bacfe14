import type { Backend } from "@rheo/core";
import { fetchingMutants } from "./fetching-mutants.ts";
import { logMutants } from "./log-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { progressMutants } from "./progress-mutants.ts";
import { searchingMutants } from "./searching-mutants.ts";
import { settlingMutants } from "./settling-mutants.ts";

/** Every planted fault. */
export const mutants: readonly Mutant[] = [
  ...logMutants,
  ...fetchingMutants,
  ...settlingMutants,
  ...progressMutants,
  ...searchingMutants,
];

/** A backend with the fault of that name. @throws RangeError */
export const mutate = (backend: Backend, name: string): Backend => {
  const found = mutants.find((candidate) => candidate.name === name);
  if (found === undefined) throw new RangeError(`There is no mutant "${name}".`);
  return found.mutate(backend);
};
