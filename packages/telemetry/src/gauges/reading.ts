import type { GaugeName } from "../catalogue/gauges.ts";
import type { Labels } from "../labels.ts";

/** What a gauge says at a time. */
export interface Reading {
  readonly metric: GaugeName;
  readonly labels: Labels;
  readonly value: number;
}
