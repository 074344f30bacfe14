import type { Capabilities } from "@rheo/core";
import { LIMITS } from "@rheo/core/internal";

/** Without notifications only appends of the same process are heard of at once. `pipelines`: connections take statements before they have answered. */
export const capabilitiesOf = (notify: boolean, pipelines: boolean): Capabilities =>
  Object.freeze({
    persistent: true,
    distributed: true,
    transactions: true,
    wakeups: notify ? "store" : "process",
    appendsInCallOrder: pipelines,
    maxEventBytes: LIMITS.maxEventBytes,
  });
