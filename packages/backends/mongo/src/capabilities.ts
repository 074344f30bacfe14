import type { Capabilities } from "@rheo/core";

/** A document has at most 16 MiB: this leaves room for the copy that queries use, and for what stands around an event. */
const MAX_EVENT_BYTES = 10_485_760;

/** Without change streams only appends of the same process are heard of at once. */
export const capabilitiesOf = (notify: boolean): Capabilities =>
  Object.freeze({
    persistent: true,
    distributed: true,
    transactions: true,
    wakeups: notify ? "store" : "process",
    appendsInCallOrder: false,
    maxEventBytes: MAX_EVENT_BYTES,
  });
