import fc from "fast-check";
import { describe, test } from "vitest";
import { firstSeed, runs } from "../environment.ts";
import type { BackendUnderTest } from "../store.ts";
import { scripts } from "./commands.ts";
import { runModel } from "./run-model.ts";

export interface DescribeModelOptions extends BackendUnderTest {
  /** Runs, times RHEO_RUNS; default 100. */
  readonly runs?: number;
}

const SEED = 42;
const TIMEOUT_MS = 300_000;

/**
 * Registers the model test: random commands of three members and two groups, compared step by step with plain arrays. A failure
 * prints its seed and the shortest list of commands that still fails; RHEO_SEED begins elsewhere.
 */
export const describeModel = (options: DescribeModelOptions): void => {
  describe(`model of ${options.name}`, () => {
    const numRuns = runs(options.runs ?? 100);
    test(`L1 G1 G2 G3 G6 G9 F1 F2 F3 F4 F5 T1 T2 T4 T5 T7 P1 P2 · ${numRuns} runs of random commands do what the model says`, {
      timeout: TIMEOUT_MS,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(scripts, async (script) => void (await runModel(options, script))),
        { seed: firstSeed(SEED), numRuns, verbose: 0, endOnFailure: false },
      );
    });
  });
};
