import type { BatchObservableResult, Counter, Histogram, Meter, MetricOptions, ObservableGauge } from "@opentelemetry/api";
import { COUNTERS, type CounterName } from "../catalogue/counters.ts";
import { GAUGES, type GaugeName } from "../catalogue/gauges.ts";
import { HISTOGRAMS, type HistogramName } from "../catalogue/histograms.ts";
import type { Metric } from "../catalogue/metric.ts";
import type { Gauges } from "../gauges/gauges.ts";
import type { Labels } from "../labels.ts";
import type { Recorder } from "../recorder.ts";
import { AttributeSets } from "./attributes.ts";

/** The catalogue as instruments of a meter. */
export class Instruments implements Recorder {
  readonly #meter: Meter;
  readonly #attributes = new AttributeSets();
  readonly #counters: ReadonlyMap<CounterName, Counter>;
  readonly #histograms: ReadonlyMap<HistogramName, Histogram>;

  constructor(meter: Meter) {
    this.#meter = meter;
    this.#counters = made(COUNTERS, (metric) => meter.createCounter(metric.otel, optionsOf(metric)));
    this.#histograms = made(HISTOGRAMS, (metric) => meter.createHistogram(metric.otel, optionsOf(metric)));
  }

  add(metric: CounterName, labels: Labels, by: number): void {
    this.#counters.get(metric)?.add(by, this.#attributes.of(labels));
  }

  times(metric: HistogramName, labels: Labels): (seconds: number) => void {
    const histogram = this.#histograms.get(metric);
    const attributes = this.#attributes.of(labels);
    return (seconds) => histogram?.record(seconds, attributes);
  }

  /** Lets the meter read the gauges whenever it collects; the answer ends it. */
  observe(gauges: Gauges): () => void {
    const instruments = made(GAUGES, (metric) => this.#meter.createObservableGauge(metric.otel, optionsOf(metric)));
    const all: ObservableGauge[] = [...instruments.values()];
    const callback = async (result: BatchObservableResult): Promise<void> => {
      for (const { metric, labels, value } of await gauges.read()) {
        const instrument = instruments.get(metric);
        if (instrument !== undefined) result.observe(instrument, value, this.#attributes.of(labels));
      }
    };
    this.#meter.addBatchObservableCallback(callback, all);
    return () => this.#meter.removeBatchObservableCallback(callback, all);
  }
}

const made = <Name extends CounterName | GaugeName | HistogramName, Made>(
  metrics: Readonly<Record<Name, Metric>>,
  make: (metric: Metric) => Made,
): ReadonlyMap<Name, Made> =>
  new Map((Object.entries(metrics) as [Name, Metric][]).map(([name, metric]) => [name, make(metric)])); // the keys of a record

const optionsOf = ({ help, unit, buckets }: Metric): MetricOptions => ({
  description: help,
  unit,
  ...(buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } }),
});
