/** The suite tests itself: it passes on memory, and notices every planted fault. */
import { memory } from "@rheo/memory";
import {
  type ContractCase,
  contractCases,
  failures,
  mutants,
  mutate,
  outcomes,
  runModel,
  runStorm,
  scripts,
} from "@rheo/testing/internal";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const { capabilities } = memory();
/** What a mutant of the port cannot break: checks that are made above it. */
const ABOVE_THE_PORT = ["L7", "L8"];
/** Cases that take longer are run only for mutants that the others did not notice. */
const QUICK_MS = 8;

/** Faults of the kind that random commands, and random crashes, exist to find. */
const BY_MODEL = [
  "ack-without-token-check",
  "nack-without-token-check",
  "lost-retry",
  "frontier-by-max-acked",
  "token-reused-after-release",
  "leases-shared",
  "expiry-revokes",
  "renew-accepts-stale-token",
  "redrive-keeps-attempts",
  "ordering-ignored",
  "trim-passes-frontier",
  "replay-inclusive",
  "attempts-not-bounded",
  "paused-group-fetches",
  "innocents-die-with-the-poison",
  "attempt-not-counted-on-expiry",
  "members-not-told-apart",
  "suspects-not-halved",
];
const BY_STORM = [
  "ack-without-token-check",
  "leases-shared",
  "lost-retry",
  "frontier-by-max-acked",
  "stale-acks-are-welcome",
  "dies-without-dead-letter",
  "innocents-die-with-the-poison",
];

const cases = contractCases.filter(
  (candidate) => candidate.applies(capabilities) && (!ABOVE_THE_PORT.includes(candidate.rule) || candidate.also.includes("B86")),
);
const quick: ContractCase[] = [];
const slow: ContractCase[] = [];
const failing: ContractCase[] = [];
const lines: string[] = [];

describe("mutants", () => {
  beforeAll(async () => {
    await outcomes({ name: "warm-up", open: () => memory() }, cases);
    for (const { contractCase, passed, tookMs } of await outcomes({ name: "memory", open: () => memory() }, cases)) {
      (passed ? (tookMs <= QUICK_MS ? quick : slow) : failing).push(contractCase);
    }
  });

  test("without a mutant every case passes", () => {
    expect(failing.map(({ title }) => title)).toEqual([]);
  });

  test.for(mutants.map((mutant) => [mutant.name, mutant] as const))("%s is noticed", { timeout: 60_000 }, async ([, mutant]) => {
    const backend = { name: mutant.name, open: () => mutant.mutate(memory()) };
    const failed = await failures(backend, quick, 1);
    if (failed.length === 0) failed.push(...(await failures(backend, slow, 1)));
    lines.push(`${mutant.name.padEnd(36)} ${failed[0]?.rule}: ${failed[0]?.title}`);
    expect(failed, mutant.fault).not.toEqual([]);
  });

  test.for(BY_MODEL)("the model notices %s", async (name) => {
    const property = fc.asyncProperty(
      scripts,
      async (script) => void (await runModel({ name, open: () => mutate(memory(), name) }, script)),
    );
    const { failed } = await fc.check(property, { seed: 42, numRuns: 300, endOnFailure: true });
    expect(failed).toBe(true);
  });

  test.for(BY_STORM)("the storms notice %s", async (name) => {
    let noticed = false;
    for (let seed = 1; seed <= 20 && !noticed; seed++) {
      const kind = { seed, events: 30, partitions: 1, members: 3, steps: 160, poison: new Set([5]), maxAttempts: 4 };
      const result = await runStorm({ name, open: () => mutate(memory(), name) }, kind).catch(() => null);
      noticed = result === null || result.violations.length > 0;
    }
    expect(noticed).toBe(true);
  });

  test("names are unique, and there are at least twenty", () => {
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
    expect(mutants.length).toBeGreaterThanOrEqual(20);
  });

  afterAll(() =>
    console.log(`\nmutant → what noticed it (${quick.length} quick cases, ${slow.length} slow ones)\n${lines.join("\n")}`),
  );
});
