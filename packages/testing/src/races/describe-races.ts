import type { Backend } from "@rheo/core";
import fc from "fast-check";
import { describe, test } from "vitest";
import { firstSeed, runs } from "../environment.ts";
import type { BackendUnderTest } from "../store.ts";
import { races } from "./race-ops.ts";
import { runRace } from "./run-race.ts";

export interface DescribeRacesOptions extends BackendUnderTest {
  /** A new store that does one thing at a time: `memory`. */
  readonly reference: () => Backend;
  /** Races, times RHEO_RUNS; default 100. */
  readonly races?: number;
}

const SEED = 7;
const TIMEOUT_MS = 120_000;

/**
 * Registers the races: two or three operations of two members at once, which a scheduler lets go in random order, must come to what some
 * order of them comes to. A failure prints the shortest race that still fails.
 */
export const describeRaces = (options: DescribeRacesOptions): void => {
  describe(`races on ${options.name}`, () => {
    const numRuns = runs(options.races ?? 100);
    test(`L1 L4 G2 F2 F4 T1 T7 · ${numRuns} races of appends, fetches, settles, renewals, replays, redrives, resets and trims`, {
      timeout: TIMEOUT_MS,
    }, async () => {
      const reference = { name: "reference", open: options.reference };
      await fc.assert(
        fc.asyncProperty(races, fc.scheduler(), (race, scheduler) => runRace(options, reference, race, scheduler)),
        { seed: firstSeed(SEED), numRuns, verbose: 0, endOnFailure: false },
      );
    });
  });
};
