/**
 * A circuit breaker: whether a group starts anything while everything fails. Pure, over plain data; instants are of a monotonic
 * clock, in ms.
 *
 * | phase     | starts          | a failure                                | an ack                       |
 * |-----------|-----------------|------------------------------------------|------------------------------|
 * | closed    | as many as can  | counts, and is charged                   | ends the row of failures     |
 * | open      | nothing         | of what still ran: not charged           | of what still ran: no matter |
 * | half-open | one, the probe  | of the probe: open again, not charged    | of the probe: closed         |
 */

export interface BreakerPolicy {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** Only failures of the last so many ms count; null: all. */
  readonly withinMs: number | null;
  /** Wait before the first probe, in ms; doubles with each probe that fails. */
  readonly openMs: number;
  readonly maxOpenMs: number;
}

export interface Breaker {
  readonly phase: "closed" | "open" | "half_open";
  /** When the failures of the current row were, rising; those that still count. Empty unless closed. */
  readonly failuresMs: readonly number[];
  /** Times it has opened without an ack since. */
  readonly openings: number;
  /** When it last opened. */
  readonly openedAtMs: number;
  /** The wait before the next probe. */
  readonly waitMs: number;
}

export const CLOSED: Breaker = { phase: "closed", failuresMs: [], openings: 0, openedAtMs: Number.NEGATIVE_INFINITY, waitMs: 0 };

/** Share of the wait that is random to either side, so that members do not probe in step. */
const JITTER = 0.2;
/** Doublings after which the wait is certainly at its cap. */
const MAX_DOUBLINGS = 32;

/** @param isProbe - it was let through while the breaker was half open; what was started before says nothing about now */
export const onSuccess = (breaker: Breaker, isProbe: boolean): Breaker => {
  if (breaker.phase === "closed") return breaker.failuresMs.length === 0 ? breaker : CLOSED;
  return isProbe ? CLOSED : breaker;
};

/** @param random - in [0, 1) */
export const onFailure = (policy: BreakerPolicy, breaker: Breaker, isProbe: boolean, nowMs: number, random: number): Breaker => {
  if (breaker.phase !== "closed") return isProbe ? opened(policy, breaker, nowMs, random) : breaker;
  const { failures, withinMs } = policy;
  const counting = breaker.failuresMs.filter((atMs) => withinMs === null || nowMs - atMs < withinMs);
  const failuresMs = [...counting, nowMs];
  return failuresMs.length >= failures ? opened(policy, breaker, nowMs, random) : { ...breaker, failuresMs };
};

/** The wait is over. */
export const onWaited = (breaker: Breaker): Breaker => (breaker.phase === "open" ? { ...breaker, phase: "half_open" } : breaker);

const opened = ({ openMs, maxOpenMs }: BreakerPolicy, { openings }: Breaker, nowMs: number, random: number): Breaker => {
  const grown = Math.min(openMs * 2 ** Math.min(openings, MAX_DOUBLINGS), maxOpenMs / (1 + JITTER));
  const waitMs = Math.max(1, Math.round(grown * (1 + JITTER * (2 * random - 1))));
  return { phase: "open", failuresMs: [], openings: openings + 1, openedAtMs: nowMs, waitMs };
};
