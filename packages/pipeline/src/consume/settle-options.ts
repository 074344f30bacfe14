import { ack, type Outcome, reject, release, retry } from "@rheo/core";
import { LIMITS, parseNumber, parseOptions, parseText } from "@rheo/core/internal";

/** What somebody asked of a lease. */
export interface Settle {
  readonly outcome: Outcome;
  /** Undefined: none. */
  readonly transaction: unknown;
}

const ACK: Settle = { outcome: ack(), transaction: undefined };
const RELEASE: Settle = { outcome: release(), transaction: undefined };

/** @throws invalid_option */
export const parseAck = (options: unknown): Settle => (options === undefined ? ACK : within(ACK, options));

/** @throws invalid_option */
export const parseRelease = (options: unknown): Settle => (options === undefined ? RELEASE : within(RELEASE, options));

const within = ({ outcome }: Settle, options: unknown): Settle => {
  const { transaction } = parseOptions(outcome.kind, options, ["transaction"]);
  return { outcome, transaction };
};

/** @throws invalid_option */
export const parseNack = (options: unknown): Settle => {
  const { reason, delayMs, transaction } = parseOptions("nack", options, ["reason", "delayMs", "transaction"]);
  const delay = delayMs === undefined ? {} : { delayMs: parseNumber("delayMs", delayMs, { min: 0, max: LIMITS.durationMs }) };
  return { outcome: retry(parseReason(reason), delay), transaction };
};

/** @throws invalid_option */
export const parseReject = (options: unknown): Settle => {
  const { reason, transaction } = parseOptions("reject", options, ["reason", "transaction"]);
  return { outcome: reject(parseReason(reason)), transaction };
};

const NO_REASON = "no reason given";

const parseReason = (reason: unknown): string | Error =>
  reason instanceof Error ? reason : (parseText("reason", reason) ?? NO_REASON);
