/** What may tell series apart. All of them are names a user gave a stream or a group, or words out of a short list; never what an event holds. */
export type Label = "stream" | "group" | "state" | "why" | "outcome" | "by" | "call" | "code" | "kind";

/** A row of the catalogue. */
export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  /** Where Prometheus scrapes: `rheo_…_total`, `rheo_…_seconds`, … */
  readonly prometheus: string;
  /** In OpenTelemetry: that of the messaging conventions where they have one, else `rheo.…`. */
  readonly otel: string;
  /** UCUM, as OpenTelemetry writes it. Times are in seconds. */
  readonly unit: string;
  readonly labels: readonly Label[];
  /** What it says, in one sentence. */
  readonly help: string;
  /** Upper bounds in seconds, of a histogram. */
  readonly buckets?: readonly number[];
}
