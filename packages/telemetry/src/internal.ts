/** For the sibling packages and for tests. Not covered by semver. */
export { CATALOGUE } from "./catalogue/catalogue.ts";
export type { Label, Metric } from "./catalogue/metric.ts";
export { Held, heldKey } from "./deliveries/held.ts";
export { LabelSets, OTHER } from "./labels.ts";
export { deathClass } from "./thread-death.ts";
