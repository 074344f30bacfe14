/** A place where something comes in from outside, and how it is tried. */
import fc from "fast-check";
import { Counts } from "./counts.ts";

/** Tries one random case; gives its faults, as text. */
export type Try<Case> = (given: Case, counts: Counts) => Promise<readonly string[]>;

export interface Door {
  readonly name: string;
  /** Tries `cases` of one seed. */
  knock(seed: number, cases: number): Promise<Report>;
}

export interface Report {
  readonly counts: Counts;
  readonly faults: readonly string[];
}

/** Faults of one seed that are kept. */
const MAX_FAULTS = 20;

/** A door of random cases: the first of a seed that has faults is shrunk. */
export const doorOf = <Case>(name: string, cases: fc.Arbitrary<Case>, attempt: Try<Case>): Door => ({
  name,
  knock: async (seed, count) => {
    const counts = new Counts();
    let faults: readonly string[] = [];
    const property = fc.asyncProperty(cases, async (given) => {
      const found = await attempt(given, counts);
      if (found.length > 0) faults = found;
      return found.length === 0;
    });
    const { failed } = await fc.check(property, {
      seed,
      numRuns: count,
      endOnFailure: false,
      interruptAfterTimeLimit: SHRINK_MS,
    });
    return { counts, faults: failed ? faults.slice(0, MAX_FAULTS) : [] };
  },
});

/** A seed is given up after this, shrinking included, in ms. */
const SHRINK_MS = 60_000;
