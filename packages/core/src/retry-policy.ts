import { RheoError } from "./errors.ts";
import { LIMITS } from "./limits.ts";
import { parseNumber, parseOptions } from "./options.ts";

/** How long a failed delivery waits before it is offered again (T3). */
export interface RetryPolicy {
  /** Delay after the first failure, in ms; default 1,000. */
  readonly minMs: number;
  /** No delay is longer, in ms; default 300,000. */
  readonly maxMs: number;
  /** Each further failure multiplies the delay by this; default 2. */
  readonly factor: number;
  /** Share of the delay that is random, 0–1; default 0.2, so that what failed together does not come back together. */
  readonly jitter: number;
}

export const DEFAULT_RETRY: RetryPolicy = { minMs: 1_000, maxMs: 300_000, factor: 2, jitter: 0.2 };

/** @throws invalid_option */
export const parseRetryPolicy = (value: unknown, base: RetryPolicy = DEFAULT_RETRY): RetryPolicy => {
  if (value === undefined) return base;
  const raw = parseOptions("retry", value, ["minMs", "maxMs", "factor", "jitter"]);
  const policy = {
    minMs: parseNumber("retry.minMs", raw.minMs, { min: 0, max: LIMITS.durationMs, fallback: base.minMs }),
    maxMs: parseNumber("retry.maxMs", raw.maxMs, { min: 0, max: LIMITS.durationMs, fallback: base.maxMs }),
    factor: parseNumber("retry.factor", raw.factor, { min: 1, max: 1_000, fallback: base.factor, integer: false }),
    jitter: parseNumber("retry.jitter", raw.jitter, { min: 0, max: 1, fallback: base.jitter, integer: false }),
  };
  if (policy.maxMs >= policy.minMs) return policy;
  throw new RheoError("invalid_option", `retry.maxMs (${policy.maxMs}) is less than retry.minMs (${policy.minMs}).`);
};

/**
 * The delay after failure number `attempt` (from 1), in whole ms. `random` is in [0, 1): the delay is spread over
 * ± jitter / 2 of itself, and never above `maxMs`.
 */
export const retryDelayMs = (policy: RetryPolicy, attempt: number, random: number): number => {
  const growth = Math.min(Number.MAX_VALUE, policy.factor ** (attempt - 1)); // 0 × Infinity would be no number
  const grown = Math.min(policy.maxMs, policy.minMs * growth);
  const spread = grown * policy.jitter * (random - 0.5);
  return Math.round(Math.min(policy.maxMs, Math.max(0, grown + spread)));
};
