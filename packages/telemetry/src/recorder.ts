import type { CounterName } from "./catalogue/counters.ts";
import type { HistogramName } from "./catalogue/histograms.ts";
import type { Labels } from "./labels.ts";

/** Where what happens is counted: instruments of OpenTelemetry, or totals that Prometheus reads. */
export interface Recorder {
  add(metric: CounterName, labels: Labels, by: number): void;
  /** Where the times of one series go; looked up once for many. */
  times(metric: HistogramName, labels: Labels): (seconds: number) => void;
}
