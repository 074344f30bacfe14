import type { Capabilities } from "@rheo/core";
import { LIMITS } from "@rheo/core/internal";

/** Without notifications only appends of the same process are heard of at once. */
export const capabilitiesOf = (notify: boolean): Capabilities =>
  Object.freeze({
    persistent: true,
    distributed: true,
    transactions: false,
    wakeups: notify ? "store" : "process",
    appendsInCallOrder: false,
    maxEventBytes: LIMITS.maxEventBytes,
  });
