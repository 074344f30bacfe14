import type { Capabilities } from "@rheo/core";
import { LIMITS } from "@rheo/core/internal";

/** Of a database in a file. */
export const fileCapabilities: Capabilities = Object.freeze({
  persistent: true,
  distributed: true,
  transactions: true,
  wakeups: "store",
  appendsInCallOrder: false,
  maxEventBytes: LIMITS.maxEventBytes,
});

/** Of ":memory:", which nobody else can open. */
export const memoryCapabilities: Capabilities = Object.freeze({
  ...fileCapabilities,
  persistent: false,
  distributed: false,
  wakeups: "process",
});
