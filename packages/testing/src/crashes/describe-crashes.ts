import { FrozenClock, Rheo } from "@rheo/core";
import { afterAll, describe, expect, test } from "vitest";
import { firstSeed, runs } from "../environment.ts";
import { seeded } from "../random.ts";
import { type BackendUnderTest, openStore } from "../store.ts";
import { type FleetResult, runFleet } from "./fleet.ts";
import { runStorm, type StormOptions } from "./storm.ts";

export interface DescribeCrashesOptions extends BackendUnderTest {
  /** Storms of each kind, times RHEO_RUNS; default 60. */
  readonly storms?: number;
  /** Fleets of each kind, times RHEO_RUNS; default 8. */
  readonly fleets?: number;
}

const SEED = 1_000;
const TIMEOUT_MS = 120_000;

/** Kinds of storm: without poison, and with. */
const STORMS: readonly (readonly [name: string, options: Omit<StormOptions, "seed">])[] = [
  ["one partition, three members", { events: 30, partitions: 1, members: 3, steps: 160, poison: new Set(), maxAttempts: 12 }],
  ["three partitions, five members", { events: 45, partitions: 3, members: 5, steps: 240, poison: new Set(), maxAttempts: 6 }],
  ["one poison", { events: 24, partitions: 1, members: 3, steps: 120, poison: new Set([7]), maxAttempts: 4 }],
  [
    "three poisons in two partitions",
    { events: 40, partitions: 2, members: 4, steps: 160, poison: new Set([0, 13, 14]), maxAttempts: 3 },
  ],
];

/** A batch whose poison kills the process, in miniature. */
const BATCH = { events: 200, prefetch: 50, maxAttempts: 3, leaseMs: 1_000 } as const;
const MAX_CRASHES_PER_POISON = 12;
const MAX_INNOCENT_ATTEMPT = 2;

const FLEETS: readonly (readonly [name: string, poison: number, members: number, atOnce: boolean])[] = [
  ["one poison, one member that works in turn", 1, 1, false],
  ["one poison, one member that works at once", 1, 1, true],
  ["three poisons, one member that works in turn", 3, 1, false],
  ["three poisons, four members that work at once", 3, 4, true],
];

/**
 * Registers the property tests of fencing under random crashes: no stale settle is accepted, no event lost, never two live leases,
 * the frontier never over a hole, and every event ends acked or dead exactly once. A failure names its seed.
 */
export const describeCrashes = (options: DescribeCrashesOptions): void => {
  describe(`crashes on ${options.name}`, () => {
    const first = firstSeed(SEED);
    const totals = {
      storms: 0,
      granted: 0,
      accepted: 0,
      refused: 0,
      crashes: 0,
      lateSettles: 0,
      fleets: 0,
      mostCrashesPerPoison: 0,
      highestInnocentAttempt: 0,
    };
    test.for(STORMS)("F2 F3 G2 P1 T5 · under random crashes the token decides: %s", { timeout: TIMEOUT_MS }, async ([, kind]) => {
      const found: string[] = [];
      for (let run = 0; run < runs(options.storms ?? 60); run++) {
        const seed = first + run;
        const { violations, counts } = await runStorm(options, { ...kind, seed });
        found.push(...violations.map((violation) => `RHEO_SEED=${seed}: ${violation}`));
        totals.storms += 1;
        for (const name of ["granted", "accepted", "refused", "crashes", "lateSettles"] as const) totals[name] += counts[name];
      }
      expect(found).toEqual([]);
    });
    test.for(FLEETS)(
      "T5 O12 B50 · a batch of 50 with events that kill their process: %s",
      { timeout: TIMEOUT_MS },
      async ([, poison, members, atOnce]) => {
        const checks: (() => void)[] = [];
        for (let run = 0; run < runs(options.fleets ?? 8); run++) {
          const { result, check } = await playFleet(options, first + run, poison, members, atOnce);
          totals.fleets += 1;
          totals.mostCrashesPerPoison = Math.max(totals.mostCrashesPerPoison, crashesOf(result) / poison);
          totals.highestInnocentAttempt = Math.max(totals.highestInnocentAttempt, ...result.acked.values());
          checks.push(check);
        }
        for (const check of checks) check();
      },
    );
    afterAll(() => console.log(`\ncrashes on ${options.name}: ${JSON.stringify(totals)}`));
  });
};

const crashesOf = ({ crashes }: FleetResult): number => [...crashes.values()].reduce((sum, count) => sum + count, 0);

const playFleet = async (
  backend: BackendUnderTest,
  seed: number,
  poison: number,
  members: number,
  atOnce: boolean,
): Promise<{ result: FleetResult; check: () => void }> => {
  const clock = new FrozenClock();
  const random = seeded(seed);
  const store = await openStore(backend, clock);
  const rheo = await Rheo.open({ backend: store.backend, clock });
  try {
    await rheo.createStream("jobs");
    await rheo.createGroup("jobs", "workers", { maxAttempts: BATCH.maxAttempts, leaseMs: BATCH.leaseMs });
    await rheo.appendMany(
      "jobs",
      Array.from({ length: BATCH.events }, (_, number) => ({ payload: number, id: `e${number}` })),
    );
    const killers = new Set<string>();
    while (killers.size < poison) killers.add(`e${random.below(BATCH.events)}`);
    const result = await runFleet({
      instances: [rheo],
      clock,
      stream: "jobs",
      group: "workers",
      random,
      members,
      atOnce,
      prefetch: BATCH.prefetch,
      leaseMs: BATCH.leaseMs,
      isPoison: ({ event }) => killers.has(event.id),
    });
    const letters = (await rheo.deadLetters("jobs", "workers", { limit: 1_000 })).map(({ eventId }) => eventId);
    return { result, check: () => checkFleet(result, letters, killers, `RHEO_SEED=${seed}`) };
  } finally {
    await rheo.close();
    await store.dispose?.();
  }
};

const checkFleet = (result: FleetResult, letters: readonly string[], killers: ReadonlySet<string>, seed: string): void => {
  expect(result.lag, seed).toBe(0);
  expect([...letters].sort(), seed).toEqual([...killers].sort());
  expect(result.acked.size, seed).toBe(BATCH.events - killers.size);
  expect(result.ackedTwice, seed).toEqual([]);
  expect(crashesOf(result), seed).toBeLessThanOrEqual(MAX_CRASHES_PER_POISON * killers.size);
  expect(Math.max(...result.acked.values()), `${seed}: the attempt with which an innocent was acked`).toBeLessThanOrEqual(
    MAX_INNOCENT_ATTEMPT,
  );
};
