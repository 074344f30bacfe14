import type { Capabilities } from "@rheo/core";
import { LIMITS } from "@rheo/core/internal";

export const capabilities: Capabilities = Object.freeze({
  persistent: true,
  distributed: false,
  transactions: false,
  wakeups: "process",
  appendsInCallOrder: false,
  maxEventBytes: LIMITS.maxEventBytes,
});
