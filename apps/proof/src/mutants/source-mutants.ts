import { backendMutants } from "./backend-mutants.ts";
import { coreMutants } from "./core-mutants.ts";
import type { SourceMutant } from "./mutant.ts";
import { progressMutants } from "./progress-mutants.ts";
import { runtimeMutants } from "./runtime-mutants.ts";

/** Every wrong version of the real code. */
export const sourceMutants: readonly SourceMutant[] = [...progressMutants, ...coreMutants, ...runtimeMutants, ...backendMutants];

/** @throws RangeError */
export const mutantNamed = (name: string): SourceMutant => {
  const found = sourceMutants.find((candidate) => candidate.name === name);
  if (found === undefined) throw new RangeError(`There is no mutant "${name}".`);
  return found;
};
