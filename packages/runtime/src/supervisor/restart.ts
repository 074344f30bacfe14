/** When a failed child is started again, and when its supervisor gives up: pure, over plain data. */

export interface RestartPolicy {
  /** Failures within `withinMs` that are answered by a restart; one more escalates. 0: every failure escalates. */
  readonly maxRestarts: number;
  readonly withinMs: number;
  /** Wait before the first restart of a series, in ms. */
  readonly minMs: number;
  /** No wait is longer, in ms. Capped again below, where timers overflow. */
  readonly maxMs: number;
  /** Share of the wait that is random, 0–1, so that what failed together does not come back together. */
  readonly jitter: number;
}

/** The failures that still count. */
export interface RestartHistory {
  /** When, by a monotonic clock; rising. */
  readonly failuresMs: readonly number[];
  /** Failures in a row without a quiet period of `withinMs`: what the wait grows with. */
  readonly streak: number;
  /** Restarts since the beginning. */
  readonly restarts: number;
}

export type RestartDecision =
  | { readonly kind: "restart"; readonly inMs: number; readonly history: RestartHistory }
  | { readonly kind: "escalate"; readonly history: RestartHistory };

export const DEFAULT_RESTART: RestartPolicy = { maxRestarts: 3, withinMs: 5_000, minMs: 100, maxMs: 30_000, jitter: 0.2 };

export const NO_FAILURES: RestartHistory = { failuresMs: [], streak: 0, restarts: 0 };

/** Doublings after which the wait is certainly at its cap. */
const MAX_DOUBLINGS = 32;
const MAX_WAIT_MS = 86_400_000;

/** What to do about a failure at `nowMs`. `random` is in [0, 1). */
export const onFailure = (policy: RestartPolicy, history: RestartHistory, nowMs: number, random: number): RestartDecision => {
  const recent = [...history.failuresMs.filter((atMs) => nowMs - atMs < policy.withinMs), nowMs].slice(-(policy.maxRestarts + 1));
  const streak = recent.length === 1 ? 1 : history.streak + 1;
  if (recent.length > policy.maxRestarts) return { kind: "escalate", history: { ...history, failuresMs: recent, streak } };
  return {
    kind: "restart",
    inMs: waitMs(policy, streak, random),
    history: { failuresMs: recent, streak, restarts: history.restarts + 1 },
  };
};

const waitMs = (policy: RestartPolicy, streak: number, random: number): number => {
  const grown = Math.min(policy.minMs * 2 ** Math.min(streak - 1, MAX_DOUBLINGS), policy.maxMs, MAX_WAIT_MS);
  return Math.max(0, Math.round(grown * (1 - policy.jitter * random)));
};
