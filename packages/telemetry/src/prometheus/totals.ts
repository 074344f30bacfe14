import { COUNTERS, type CounterName } from "../catalogue/counters.ts";
import { HISTOGRAMS, type HistogramName } from "../catalogue/histograms.ts";
import { type LabelSets, type Labels, NO_LABELS } from "../labels.ts";
import type { Recorder } from "../recorder.ts";

/** What was recorded for one set of labels. */
export class Distribution {
  /** How many fell into each bucket, and, last, beyond them all. Not cumulative. */
  readonly counts: number[];
  sum = 0;
  /** For those who have many to record: not to be looked up for each. */
  readonly record: (seconds: number) => void;

  constructor(bounds: readonly number[]) {
    const counts = new Array<number>(bounds.length + 1).fill(0);
    this.counts = counts;
    this.record = (seconds) => {
      let bucket = 0;
      while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      this.sum += seconds;
    };
  }
}

/** Counts in plain numbers, which a scrape reads: to count costs a look-up and an addition. */
export class Totals implements Recorder {
  readonly #counters = new Map<CounterName, Map<Labels, number>>();
  readonly #histograms = new Map<HistogramName, Map<Labels, Distribution>>();

  add(metric: CounterName, labels: Labels, by: number): void {
    const known = valuesOf(this.#counters, metric);
    known.set(labels, (known.get(labels) ?? 0) + by);
  }

  times(metric: HistogramName, labels: Labels): (seconds: number) => void {
    const known = valuesOf(this.#histograms, metric);
    const found = known.get(labels) ?? new Distribution(bucketsOf(metric));
    known.set(labels, found);
    return found.record;
  }

  /** A counter with no labels but those of its group starts at 0 for each group, so that a first dead letter is seen as a rise. */
  counted(metric: CounterName, sets: LabelSets): Map<Labels, number> {
    const values = new Map<Labels, number>();
    const { labels } = COUNTERS[metric];
    if (labels.length === 0) values.set(NO_LABELS, 0);
    else if (labels.join() === "stream,group") for (const group of sets.groups) values.set(group, 0);
    for (const [known, value] of valuesOf(this.#counters, metric)) values.set(known, value);
    return values;
  }

  recorded(metric: HistogramName): ReadonlyMap<Labels, Distribution> {
    return valuesOf(this.#histograms, metric);
  }
}

export const bucketsOf = (metric: HistogramName): readonly number[] => HISTOGRAMS[metric].buckets ?? [];

const valuesOf = <Name, Value>(all: Map<Name, Map<Labels, Value>>, name: Name): Map<Labels, Value> => {
  let found = all.get(name);
  if (found === undefined) {
    found = new Map();
    all.set(name, found);
  }
  return found;
};
