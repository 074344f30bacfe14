import type { Asked, PeerInUse } from "./peers/peer.ts";
import type { System } from "./systems.ts";

/** Who gave an answer, and with which settings. */
export interface Answerer {
  readonly name: string;
  readonly settings: string;
}

export type Unit =
  | "events/s"
  | "ms"
  | "µs"
  | "leases"
  | "events"
  | "MB"
  | "KB"
  | "bytes"
  | "calls"
  | "calls/s"
  | "connections"
  | "%";

/** What was varied, such as `{ partitions: 4 }`: one line of a chart runs along one of them. */
export type Parameters = Readonly<Record<string, number | string>>;

/** One number that a run gives. */
export interface Sample {
  readonly question: string;
  readonly system: string;
  readonly settings: string;
  readonly parameters: Parameters;
  readonly unit: Unit;
  readonly value: number;
}

export interface Scale {
  /** Events of a backlog. */
  readonly events: number;
  /** Events of a latency measurement. */
  readonly pings: number;
  /** Events of a deep backlog, and of a long history. */
  readonly deep: number;
  /** Other versions of Node than this process's to be asked of: paths of their binaries. */
  readonly nodes: readonly string[];
}

/**
 * Something to measure; asked of each system in turn, run after run, so that noise falls on all alike. What is asked in several
 * manners is several questions of one name.
 */
export interface Question {
  /** What it is chosen by. */
  readonly name: string;
  /** Its own. */
  readonly title: string;
  /** Asked only with `--full`. */
  readonly isRare?: boolean;
  /** Asked so often at most, where one answer takes long. */
  readonly mostRuns?: number;
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

/** What is over sooner, in seconds, says how quickly code is compiled; then as many events as take about that long are asked for, at most so many times more. */
const LEAST_S = 1;
const LASTING_S = 1.5;
const MOST_TIMES = 10;

/** Events per second of so many events, or of more if those are over too soon. */
export const lasting = async (events: number, perSecondOf: (events: number) => Promise<number>): Promise<number> => {
  const perSecond = await perSecondOf(events);
  if (events / perSecond >= LEAST_S) return perSecond;
  return perSecondOf(Math.round(Math.min(events * MOST_TIMES, perSecond * LASTING_S)));
};

export const sampleOf = (
  question: string,
  { name, settings }: Answerer,
  unit: Unit,
  value: number,
  parameters: Parameters = {},
): Sample => ({ question, system: name, settings, parameters, unit, value });

export const rate = (
  question: string,
  answerer: Answerer,
  events: number,
  seconds: number,
  parameters: Parameters = {},
): Sample => sampleOf(question, answerer, "events/s", events / seconds, parameters);

export const milliseconds = (question: string, answerer: Answerer, value: number, parameters: Parameters = {}): Sample =>
  sampleOf(question, answerer, "ms", value, parameters);

/** Two samples: the median and the 99th percentile of times in ms. */
export const percentiles = (
  question: string,
  answerer: Answerer,
  taken: readonly number[],
  parameters: Parameters = {},
): readonly Sample[] => {
  const sorted = taken.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return [
    milliseconds(`${question}, p50`, answerer, at(0.5), parameters),
    milliseconds(`${question}, p99`, answerer, at(0.99), parameters),
  ];
};
