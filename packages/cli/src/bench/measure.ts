import type { Rheo } from "@rheo/core";

/** Where a measure works: a stream that is there for it alone. */
export interface Bench {
  readonly rheo: Rheo;
  readonly stream: string;
  /** Events to append, and then to consume. */
  readonly events: number;
  /** Text of so many bytes. */
  readonly payload: string;
  readonly signal: AbortSignal;
  /** So many events of this measure are done. */
  readonly reached: (done: number) => void;
}

/** One thing that is measured. */
export interface Measure {
  readonly name: string;
  /** How many events it comes to. */
  readonly events: (asked: number) => number;
  /** Runs it, and gives how long each step took, in ms; a step is a call, or an event on its way. */
  readonly run: (bench: Bench) => Promise<readonly number[]>;
}

/** What came out, in this form as JSON. */
export interface Measured {
  readonly measure: string;
  readonly events: number;
  readonly perSecond: number;
  /** Of a step. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

export const summarise = (measure: string, events: number, tookMs: number, steps: readonly number[]): Measured => {
  const sorted = [...steps].sort((a, b) => a - b);
  const at = (share: number): number => rounded(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return {
    measure,
    events,
    perSecond: Math.round((events * 1_000) / Math.max(tookMs, 1)),
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
  };
};

const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;

/** How long a step takes, in ms. */
export const timed = async (step: () => Promise<unknown>): Promise<number> => {
  const startedAtMs = performance.now();
  await step();
  return performance.now() - startedAtMs;
};
