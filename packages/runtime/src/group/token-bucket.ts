/** A rate limit as a token bucket: one token for each start. Pure, over plain data; instants are of a monotonic clock, in ms. */

export interface RateLimit {
  /** Starts per `perMs`, on average; also as many as may come at once after a pause. */
  readonly events: number;
  readonly perMs: number;
}

export interface TokenBucket {
  readonly tokens: number;
  readonly atMs: number;
}

export const fullBucket = ({ events }: RateLimit, nowMs: number): TokenBucket => ({ tokens: events, atMs: nowMs });

/** The bucket as it is now. */
export const refill = ({ events, perMs }: RateLimit, { tokens, atMs }: TokenBucket, nowMs: number): TokenBucket =>
  nowMs <= atMs ? { tokens, atMs } : { tokens: Math.min(events, tokens + ((nowMs - atMs) * events) / perMs), atMs: nowMs };

/** Tokens that a refilled bucket can give, at most `wanted`. */
export const available = ({ tokens }: TokenBucket, wanted: number): number => Math.min(wanted, Math.floor(tokens + EPSILON));

/** Takes tokens, or gives them back when negative. */
export const take = ({ events }: RateLimit, { tokens, atMs }: TokenBucket, count: number): TokenBucket => ({
  tokens: Math.min(events, tokens - count),
  atMs,
});

/** Time until a refilled bucket holds `wanted` tokens, in ms; 0 when it does. A bucket never holds more than `events`. */
export const waitMs = ({ events, perMs }: RateLimit, { tokens }: TokenBucket, wanted: number): number =>
  Math.max(0, ((Math.min(wanted, events) - tokens) * perMs) / events);

/** Sums of fractions fall short by a hair, and a token must not be waited for twice. */
const EPSILON = 1e-6;
