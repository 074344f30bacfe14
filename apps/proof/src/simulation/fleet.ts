/** Many seeds over several threads, added up. */
import { Worker } from "node:worker_threads";
import { type Counts, noCounts } from "./counts.ts";
import type { Chunk, ChunkResult } from "./worker.ts";

export interface FleetOptions {
  readonly from: number;
  readonly seeds: number;
  readonly jobs: number;
  /** Called now and then. */
  readonly onProgress: (done: number, failed: number) => void;
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

export const runFleet = async ({ from, seeds, jobs, onProgress, signal }: FleetOptions): Promise<FleetReport> => {
  const startMs = performance.now();
  const results: ChunkResult[] = [];
  let next = from;
  const take = (): Chunk | null => {
    if (signal.aborted || next >= from + seeds) return null;
    const count = Math.min(CHUNK, from + seeds - next);
    next += count;
    return { from: next - count, count };
  };
  const told = (result: ChunkResult): void => {
    results.push(result);
    onProgress(
      sum(results, ({ chunk }) => chunk.count),
      sum(results, ({ failed }) => failed.length),
    );
  };
  await Promise.all(Array.from({ length: jobs }, () => work(take, told)));
  const seconds = (performance.now() - startMs) / 1_000;
  const done = sum(results, ({ chunk }) => chunk.count);
  return {
    from,
    seeds: done,
    telling: sum(results, ({ telling }) => telling),
    seconds,
    perSecond: done / seconds,
    steps: sum(results, ({ steps }) => steps),
    virtualHours: sum(results, ({ virtualMs }) => virtualMs) / 3_600_000,
    counts: added(results.map(({ counts }) => counts)),
    seedsWith: added(results.map(({ seedsWith }) => seedsWith)),
    failed: results.flatMap(({ failed }) => failed).sort((a, b) => a.seed - b.seed),
  };
};

const work = (take: () => Chunk | null, told: (result: ChunkResult) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./worker.js", import.meta.url));
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

const sum = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((total, item) => total + of(item), 0);

const added = (all: readonly Counts[]): Counts => {
  const total = noCounts();
  for (const counts of all) for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name];
  return total;
};
