/** Metrics as prom-client takes them from a registry: values are made when they are asked for, out of what was counted. */
import { RheoError } from "@rheo/core";
import type { Metric as PromMetric, Registry } from "prom-client";
import { COUNTERS, type CounterName } from "../catalogue/counters.ts";
import { GAUGES, type GaugeName } from "../catalogue/gauges.ts";
import { HISTOGRAMS, type HistogramName } from "../catalogue/histograms.ts";
import type { Metric } from "../catalogue/metric.ts";
import type { Gauges } from "../gauges/gauges.ts";
import type { LabelSets, Labels } from "../labels.ts";
import { bucketsOf, type Distribution, type Totals } from "./totals.ts";

interface Value {
  readonly value: number;
  readonly labels: Labels & { readonly le?: number | string };
  readonly metricName?: string;
}

/** Everything a registry asks of a metric. Its own classes hash labels at each count, and take no histogram that was made elsewhere. */
class Scraped {
  /** Written by a registry that speaks OpenMetrics. */
  name: string;
  readonly help: string;
  readonly type: Metric["kind"];
  /** How a cluster of processes puts it together: what the store says is the same in each. */
  readonly aggregator: "sum" | "max";
  readonly #values: () => readonly Value[] | Promise<readonly Value[]>;

  constructor(metric: Metric, aggregator: "sum" | "max", values: () => readonly Value[] | Promise<readonly Value[]>) {
    this.name = metric.prometheus;
    this.help = metric.help;
    this.type = metric.kind;
    this.aggregator = aggregator;
    this.#values = values;
  }

  async get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: await this.#values() };
  }

  /** Counters only rise. */
  reset(): void {}
}

/** Adds every metric of the catalogue to a registry; the answer removes them. @throws invalid_option - one of that name is there already */
export const register = (
  registry: Pick<Registry, "registerMetric" | "getSingleMetric" | "removeSingleMetric">,
  totals: Totals,
  gauges: Gauges,
  sets: LabelSets,
): (() => void) => {
  const all = [...countersOf(totals, gauges, sets), ...histogramsOf(totals), ...gaugesOf(gauges)];
  const taken = all.find(({ name }) => registry.getSingleMetric(name) !== undefined);
  if (taken !== undefined) throw isTaken(taken.name);
  for (const metric of all) registry.registerMetric(metric as unknown as PromMetric); // it has what a registry uses: name, type, get
  return () => {
    for (const { name } of all) registry.removeSingleMetric(name);
  };
};

const isTaken = (name: string): RheoError =>
  new RheoError(
    "invalid_option",
    `The registry holds a metric ${name} already: give each Rheo a registry of its own, or close the metrics that came before.`,
    { path: "registry" },
  );

/** Told after the gauges were read, which counts too, and which finds the groups that start at 0. */
const countersOf = (totals: Totals, gauges: Gauges, sets: LabelSets): Scraped[] =>
  (Object.keys(COUNTERS) as CounterName[]).map(
    (name) =>
      new Scraped(COUNTERS[name], "sum", async () => {
        await gauges.read();
        return [...totals.counted(name, sets)].map(([labels, value]) => ({ labels, value }));
      }),
  );

const gaugesOf = (gauges: Gauges): Scraped[] =>
  (Object.keys(GAUGES) as GaugeName[]).map((name) => {
    const isOfStore = GAUGES[name].prometheus.startsWith("rheo_group_");
    return new Scraped(GAUGES[name], isOfStore ? "max" : "sum", async () => {
      const readings = await gauges.read();
      return readings.filter(({ metric }) => metric === name);
    });
  });

const histogramsOf = (totals: Totals): Scraped[] =>
  (Object.keys(HISTOGRAMS) as HistogramName[]).map((name) => {
    const bounds = bucketsOf(name);
    const { prometheus } = HISTOGRAMS[name];
    return new Scraped(HISTOGRAMS[name], "sum", () =>
      [...totals.recorded(name)].flatMap(([labels, distribution]) => lines(prometheus, bounds, labels, distribution)),
    );
  });

/** Buckets hold all that is not above them. */
const lines = (name: string, bounds: readonly number[], labels: Labels, { counts, sum }: Distribution): Value[] => {
  let count = 0;
  const buckets = counts.map((inBucket, at) => {
    count += inBucket;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: bounds[at] ?? "+Inf" }, value: count };
  });
  return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }];
};
