/** Many seeds over several threads, added up. */
import { Worker } from "node:worker_threads";
import { COUNTED, type Counts, noCounts } from "./counts.ts";
import type { Chunk, ChunkResult } from "./worker.ts";

export interface FleetOptions {
  readonly from: number;
  readonly seeds: number;
  readonly jobs: number;
  /** Called now and then. */
  readonly onProgress: (done: number, failed: number) => void;
  /** Called for each seed with violations, as it is found. */
  readonly onFailure: (failure: ChunkResult["failed"][number]) => void;
  /** Ends the run when aborted: what is under way is finished. */
  readonly signal: AbortSignal;
}

export interface FleetReport {
  readonly from: number;
  readonly seeds: number;
  /** Seeds in which something was handled, and something went wrong meanwhile. */
  readonly telling: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly steps: number;
  readonly virtualHours: number;
  readonly counts: Counts;
  readonly seedsWith: Counts;
  readonly failed: ChunkResult["failed"];
}

/** Seeds that a thread is sent at once. */
const CHUNK = 20;
/** For what one seed leaves behind: with the few MB that threads have by default, half of the time goes into moving it about. */
const YOUNG_MB = 64;

export const runFleet = async ({ from, seeds, jobs, onProgress, onFailure, signal }: FleetOptions): Promise<FleetReport> => {
  const startMs = performance.now();
  const total = noTotal();
  let next = from;
  const take = (): Chunk | null => {
    if (signal.aborted || next >= from + seeds) return null;
    const count = Math.min(CHUNK, from + seeds - next);
    next += count;
    return { from: next - count, count };
  };
  const told = (result: ChunkResult): void => {
    add(total, result);
    result.failed.forEach(onFailure);
    onProgress(total.seeds, total.failed.length);
  };
  await Promise.all(Array.from({ length: jobs }, () => work(take, told)));
  const seconds = (performance.now() - startMs) / 1_000;
  const { virtualMs, ...counted } = total;
  return {
    ...counted,
    from,
    seconds,
    perSecond: total.seeds / seconds,
    virtualHours: virtualMs / 3_600_000,
    failed: total.failed.sort((a, b) => a.seed - b.seed),
  };
};

const work = (take: () => Chunk | null, told: (result: ChunkResult) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.js", import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    const more = (): void => {
      const chunk = take();
      if (chunk === null) void worker.terminate().then(() => resolve());
      else worker.postMessage(chunk);
    };
    worker.on("message", (result: ChunkResult) => {
      told(result);
      more();
    });
    worker.on("error", reject);
    more();
  });

interface Total {
  seeds: number;
  telling: number;
  steps: number;
  virtualMs: number;
  readonly counts: Counts;
  readonly seedsWith: Counts;
  readonly failed: ChunkResult["failed"][number][];
}

const noTotal = (): Total => ({
  seeds: 0,
  telling: 0,
  steps: 0,
  virtualMs: 0,
  counts: noCounts(),
  seedsWith: noCounts(),
  failed: [],
});

const add = (total: Total, { chunk, telling, steps, virtualMs, counts, seedsWith, failed }: ChunkResult): void => {
  total.seeds += chunk.count;
  total.telling += telling;
  total.steps += steps;
  total.virtualMs += virtualMs;
  total.failed.push(...failed);
  for (const name of COUNTED) {
    total.counts[name] += counts[name];
    total.seedsWith[name] += seedsWith[name];
  }
};
