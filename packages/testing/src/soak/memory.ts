import { readFileSync } from "node:fs";

/** Resident memory of a process now, in MiB; null when it is gone. */
export const residentMiB = (pid: number): number | null => {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kib === undefined ? null : Number(kib) / 1_024;
  } catch {
    return null;
  }
};

/** How memory went: the medians of the first and the last quarter of the samples. */
export interface MemoryTrend {
  readonly samples: number;
  readonly firstMiB: number;
  readonly lastMiB: number;
  readonly maxMiB: number;
}

export const trendOf = (samples: readonly number[]): MemoryTrend => {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const rounded = (value: number): number => Math.round(value * 10) / 10;
  return {
    samples: samples.length,
    firstMiB: rounded(medianOf(samples.slice(0, quarter))),
    lastMiB: rounded(medianOf(samples.slice(-quarter))),
    maxMiB: rounded(Math.max(0, ...samples)),
  };
};

const medianOf = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
