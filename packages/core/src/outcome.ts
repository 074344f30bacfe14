import { LIMITS } from "./limits.ts";
import { parseNumber, parseOptions, parseText } from "./options.ts";
import { cleanText } from "./text.ts";

/** What became of a delivery. Make one with {@link ack}, {@link retry}, {@link reject} or {@link release}. */
export type Outcome =
  | { readonly kind: "ack" }
  | { readonly kind: "retry"; readonly reason: string; readonly delayMs: number | null; readonly stack: string | null }
  | { readonly kind: "reject"; readonly reason: string; readonly stack: string | null }
  | { readonly kind: "release" };

const ACK: Outcome = Object.freeze({ kind: "ack" });
const RELEASE: Outcome = Object.freeze({ kind: "release" });

/** Done: the delivery is settled for good. */
export const ack = (): Outcome => ACK;

/**
 * Failed for now: offered again after `delayMs` (whole ms from 0; default by the group's retry policy), or dead once its
 * attempts are used up (T3, T4).
 */
export const retry = (reason?: unknown, options?: { readonly delayMs?: number | undefined }): Outcome => {
  const { delayMs } = parseOptions("retry", options, ["delayMs"]);
  const checked = delayMs === undefined ? null : parseNumber("retry.delayMs", delayMs, { min: 0, max: LIMITS.durationMs });
  return { kind: "retry", delayMs: checked, ...failureText(reason, "retry asked for") };
};

/** Failed for good: a dead letter at once. */
export const reject = (reason?: unknown): Outcome => ({ kind: "reject", ...failureText(reason, "rejected") });

/** Not started: goes back as it was; the attempt is not counted. */
export const release = (): Outcome => RELEASE;

/**
 * Anything that was thrown or given as a reason, as bounded clean text (T6): never fails, whatever it is given.
 */
export const failureText = (cause: unknown, fallback: string): { reason: string; stack: string | null } => {
  try {
    if (cause === undefined || cause === null) return { reason: fallback, stack: null };
    if (typeof cause === "string") return { reason: cleanText(cause, LIMITS.reasonBytes) || fallback, stack: null };
    if (cause instanceof Error) return errorText(cause, fallback);
    return { reason: cleanText(describe(cause), LIMITS.reasonBytes) || fallback, stack: null };
  } catch {
    return { reason: `${fallback} (the value given cannot be read)`, stack: null };
  }
};

const errorText = (error: Error, fallback: string): { reason: string; stack: string | null } => {
  const name = typeof error.name === "string" && error.name !== "Error" ? `${error.name}: ` : "";
  const message = typeof error.message === "string" ? error.message : "";
  const stack = typeof error.stack === "string" ? cleanText(error.stack, LIMITS.stackBytes) : null;
  return { reason: cleanText(`${name}${message}`, LIMITS.reasonBytes) || fallback, stack };
};

const describe = (cause: unknown): string => {
  if (typeof cause !== "object" || cause === null) return String(cause);
  const message: unknown = Reflect.get(cause, "message");
  if (typeof message === "string") return message;
  return JSON.stringify(cause) ?? Object.prototype.toString.call(cause);
};

/** The reason given to nack and reject. */
export const parseReason = (options: { reason?: unknown }, fallback: string): { reason: string; stack: string | null } =>
  options.reason instanceof Error
    ? failureText(options.reason, fallback)
    : failureText(parseText("reason", options.reason), fallback);
