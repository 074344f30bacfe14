/** What a few runs say, and how far they may be believed. */

/** The middle one, or between the two in the middle. NaN of none. */
export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
};

/** Median of the distances from the median: what one wild run does not move. */
export const deviation = (values: readonly number[]): number => {
  const middle = median(values);
  return median(values.map((value) => Math.abs(value - middle)));
};

/** The deviation as a share of the median. */
export const variation = (values: readonly number[]): number => {
  const middle = median(values);
  return middle === 0 ? 0 : deviation(values) / Math.abs(middle);
};

/** Beyond this variation of the calibration, a machine is not even enough for its numbers to mean much. */
export const UNEVEN = 0.05;

export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly deviation: number;
  readonly runs: number;
}

export const summaryOf = (values: readonly number[]): Summary => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
  deviation: deviation(values),
  runs: values.length,
});
