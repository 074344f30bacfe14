import type { Asked, PeerInUse } from "./peers/peer.ts";
import type { System } from "./systems.ts";

/** Who gave an answer, and with which settings. */
export interface Answerer {
  readonly name: string;
  readonly settings: string;
}

/** One number that a run gives. */
export interface Sample {
  readonly question: string;
  readonly system: string;
  readonly settings: string;
  readonly unit: "events/s" | "ms" | "µs" | "leases";
  readonly value: number;
}

export interface Scale {
  /** Events of a backlog. */
  readonly events: number;
  /** Events of a latency measurement. */
  readonly pings: number;
}

/** Something to measure; asked of each system in turn, run after run, so that noise falls on all alike. */
export interface Question {
  readonly name: string;
  readonly title: string;
  /** Whether it makes sense for a system; default: for all. */
  readonly fits?: (system: System) => boolean;
  readonly ask: (system: System, scale: Scale) => Promise<readonly Sample[]>;
  /** The same for peers; default: they are not asked. */
  readonly ofPeers?: PeerQuestion;
}

interface PeerQuestion {
  readonly asked: Asked;
  readonly ask: (peer: PeerInUse, answerer: Answerer, scale: Scale) => Promise<readonly Sample[]>;
}

/** Seconds that `work` takes. */
export const secondsOf = async (work: () => Promise<void>): Promise<number> => {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
};

export const rate = (question: string, { name, settings }: Answerer, events: number, seconds: number): Sample => ({
  question,
  system: name,
  settings,
  unit: "events/s",
  value: events / seconds,
});

export const milliseconds = (question: string, { name, settings }: Answerer, value: number): Sample => ({
  question,
  system: name,
  settings,
  unit: "ms",
  value,
});

export const microseconds = (question: string, { name, settings }: Answerer, value: number): Sample => ({
  question,
  system: name,
  settings,
  unit: "µs",
  value,
});

export const count = (question: string, { name, settings }: Answerer, value: number): Sample => ({
  question,
  system: name,
  settings,
  unit: "leases",
  value,
});

/** Two samples: the median and the 99th percentile of times in ms. */
export const percentiles = (question: string, answerer: Answerer, taken: readonly number[]): readonly Sample[] => {
  const sorted = taken.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return [milliseconds(`${question}, p50`, answerer, at(0.5)), milliseconds(`${question}, p99`, answerer, at(0.99))];
};
