/** Random pipelines: whatever they do, each event ends as its handlers said. Seeds are in the names; RHEO_SEED=n begins with another. */
import { firstSeed, runs } from "@rheo/testing/internal";
import { describe, expect, test } from "vitest";
import { type RandomRun, runRandom } from "./fixtures/random-run.ts";
import { numbers } from "./fixtures/store.ts";

const seeds = (count: number, from: number): number[] => numbers(runs(count), firstSeed(from));

describe.each(seeds(60, 1))("a random pipeline, seed %i", (seed) => {
  test("ends every event as its handlers said, in order, within its bounds", async () => {
    const run = await runRandom(seed, false);
    expectEnded(run);
    expectDeclared(run);
    expectBounds(run);
    if (run.settings.isOrdered) expectOrder(run);
    expect(run.stats).toMatchObject({ stale: 0, lost: 0 });
  });
});

describe.each(seeds(30, 10_001))("a random pipeline with a bad network, seed %i", (seed) => {
  test("ends every event, in order, within its bounds", async () => {
    const run = await runRandom(seed, true);
    expectEnded(run);
    expectLastDeclared(run);
    expectBounds({ ...run, most: { ...run.most, held: 0 } }); // what a lost answer leased is held until it runs out
    if (run.settings.isOrdered) expectNoOverlap(run);
  });
});

/** None is lost, and none is held. */
const expectEnded = ({ settings, acked, dead, lag, leases, stats }: RandomRun): void => {
  expect([lag, leases, stats.held]).toEqual([0, 0, 0]);
  expect([...acked, ...dead].toSorted((a, b) => a - b)).toEqual(numbers(settings.events));
};

/** All that was said of an event makes up its history: attempts rise by failures alone, and the last word is how it ended. */
const expectDeclared = ({ settings, declared, dead }: RandomRun): void => {
  for (const n of numbers(settings.events)) {
    const history = declared.get(n) ?? [];
    let attempt = 1;
    for (const [index, { attempt: seen, what }] of history.entries()) {
      expect([n, seen]).toEqual([n, attempt]);
      const isLast = what === "ack" || what === "reject" || (what === "retry" && attempt === settings.maxAttempts);
      expect([n, index, isLast]).toEqual([n, index, index === history.length - 1]);
      if (what === "retry") attempt += 1;
    }
    expect([n, dead.has(n)]).toEqual([n, history.at(-1)?.what !== "ack"]);
  }
};

/** With answers lost an event may run more often, and its attempts rise by expiry; but what was said last is how it ended. */
const expectLastDeclared = ({ settings, declared, dead }: RandomRun): void => {
  for (const n of numbers(settings.events)) {
    const last = declared.get(n)?.at(-1);
    if (last?.what === "ack") expect([n, dead.has(n)]).toEqual([n, false]);
    if (last?.what === "reject") expect([n, dead.has(n)]).toEqual([n, true]);
  }
};

const expectBounds = ({ settings, most, sizes }: RandomRun): void => {
  expect(most.held).toBeLessThanOrEqual(settings.maxDemand);
  expect(most.processing).toBeLessThanOrEqual(settings.concurrency);
  for (const { name, size, concurrency } of settings.batchers) {
    expect(sizes[name] ?? 0).toBeLessThanOrEqual(size);
    expect(most.batches[name] ?? 0).toBeLessThanOrEqual(concurrency);
  }
};

/** Work on one key does not overlap, neither in processors nor in batches. */
const expectNoOverlap = ({ spans }: RandomRun): void => {
  for (const stage of ["processor", "batch"] as const) {
    for (const key of new Set(spans.map((span) => span.key))) {
      const ofKey = spans.filter((span) => span.key === key && span.stage === stage);
      for (const [index, span] of ofKey.entries()) {
        const before = ofKey[index - 1];
        if (before !== undefined) expect([key, stage, before.end < span.begin]).toEqual([key, stage, true]);
      }
    }
  }
};

/** Besides, first attempts are in the order of the log; unless something went back, which comes again when it comes. */
const expectOrder = (run: RandomRun): void => {
  expectNoOverlap(run);
  if (run.settings.isPaused || [...run.declared.values()].flat().some(({ what }) => what === "release")) return;
  for (const stage of ["processor", "batch"] as const) {
    for (const key of new Set(run.spans.map((span) => span.key))) {
      const ofKey = run.spans.filter((span) => span.key === key && span.stage === stage);
      const firsts = ofKey.flatMap(({ sequences, attempts }) => sequences.filter((_, index) => attempts[index] === 1));
      expect([key, stage, firsts]).toEqual([key, stage, firsts.toSorted((a, b) => a - b)]);
    }
  }
};
