import type { System } from "./systems.ts";

/** One number that a run gives. */
export interface Sample {
  readonly question: string;
  readonly system: string;
  readonly settings: string;
  readonly unit: "events/s" | "ms";
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
}

/** Seconds that `work` takes. */
export const secondsOf = async (work: () => Promise<void>): Promise<number> => {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
};

export const rate = (question: string, { name, settings }: System, events: number, seconds: number, more = ""): Sample => ({
  question,
  system: name,
  settings: [settings, more].filter((part) => part !== "").join(", "),
  unit: "events/s",
  value: events / seconds,
});

export const milliseconds = (question: string, { name, settings }: System, value: number): Sample => ({
  question,
  system: name,
  settings,
  unit: "ms",
  value,
});
