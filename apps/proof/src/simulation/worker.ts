/** A thread of the command: simulates the seeds it is sent, and answers with what they came to. */
import { parentPort } from "node:worker_threads";
import { type Counts, isTelling, noCounts } from "./counts.ts";
import { simulate } from "./simulate.ts";

export interface Chunk {
  readonly from: number;
  readonly count: number;
}

export interface ChunkResult {
  readonly chunk: Chunk;
  readonly counts: Counts;
  /** How many seeds each kind of thing happened in. */
  readonly seedsWith: Counts;
  readonly telling: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly failed: readonly { readonly seed: number; readonly violations: readonly string[] }[];
}

export const runChunk = async (chunk: Chunk): Promise<ChunkResult> => {
  const counts = noCounts();
  const seedsWith = noCounts();
  const failed: { seed: number; violations: readonly string[] }[] = [];
  let [telling, steps, virtualMs] = [0, 0, 0];
  for (let seed = chunk.from; seed < chunk.from + chunk.count; seed++) {
    const result = await simulate(seed);
    for (const name of Object.keys(counts) as (keyof Counts)[]) {
      counts[name] += result.counts[name];
      if (result.counts[name] > 0) seedsWith[name] += 1;
    }
    if (isTelling(result.counts)) telling += 1;
    steps += result.steps;
    virtualMs += result.virtualMs;
    if (result.violations.length > 0) failed.push({ seed, violations: result.violations });
  }
  return { chunk, counts, seedsWith, telling, steps, virtualMs, failed };
};

parentPort?.on("message", (chunk: Chunk) => {
  void runChunk(chunk).then((result) => parentPort?.postMessage(result));
});
