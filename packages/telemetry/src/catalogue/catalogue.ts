import { COUNTERS } from "./counters.ts";
import { GAUGES } from "./gauges.ts";
import { HISTOGRAMS } from "./histograms.ts";
import type { Metric } from "./metric.ts";

/** Every metric there is, in the order of the README. */
export const CATALOGUE: readonly Metric[] = [COUNTERS, HISTOGRAMS, GAUGES].flatMap((part) => Object.values(part));
