import { ack, type Outcome, release } from "@rheo/core";
import { cleanText, failureText, LIMITS } from "@rheo/core/internal";

const ACK = ack();

/**
 * The outcome that a handler's return value stands for: an outcome is itself, anything else is an ack. Never fails, whatever it
 * is given: what was returned may be a Proxy, or made by hand.
 */
export const readOutcome = (value: unknown): Outcome => {
  if (typeof value !== "object" || value === null) return ACK;
  try {
    return fromObject(value);
  } catch {
    return ACK; // it cannot even be read, so it says nothing that we were asked to heed
  }
};

const fromObject = (value: object): Outcome => {
  const kind: unknown = Reflect.get(value, "kind");
  switch (kind) {
    case "retry":
      return { kind, delayMs: readDelay(Reflect.get(value, "delayMs")), ...readFailure(value, "retry asked for") };
    case "reject":
      return { kind, ...readFailure(value, "rejected") };
    case "release":
      return { kind };
    default:
      return ACK;
  }
};

const readDelay = (delayMs: unknown): number | null =>
  typeof delayMs === "number" && Number.isSafeInteger(delayMs) && delayMs >= 0 && delayMs <= LIMITS.durationMs ? delayMs : null;

const readFailure = (value: object, fallback: string): { reason: string; stack: string | null } => {
  const stack: unknown = Reflect.get(value, "stack");
  const { reason } = failureText(Reflect.get(value, "reason"), fallback);
  return { reason, stack: typeof stack === "string" ? cleanText(stack, LIMITS.stackBytes) : null };
};

/** What a handler that threw, or whose promise was rejected, asks for: another try. Never fails. */
export const thrownOutcome = (cause: unknown): Outcome => ({
  kind: "retry",
  delayMs: null,
  ...failureText(cause, "the handler threw nothing readable"),
});

/** What an event that cannot be decoded gets: no retry would help. */
export const undecodableOutcome = (cause: unknown): Outcome => {
  const { reason, stack } = failureText(cause, "unreadable");
  return { kind: "reject", reason: cleanText(`The stored event cannot be decoded: ${reason}`, LIMITS.reasonBytes), stack };
};

/** One outcome for each of `count` events from what a batch handler returned: one for all, or an array of exactly that many. */
export const readBatchOutcomes = (value: unknown, count: number): readonly Outcome[] => {
  if (!Array.isArray(value)) return new Array<Outcome>(count).fill(readOutcome(value));
  if (value.length === count) return value.map(readOutcome);
  const mismatch = thrownOutcome(`The batch handler returned ${value.length} outcomes for ${count} events.`);
  return new Array<Outcome>(count).fill(mismatch);
};

const RELEASE = release();

/** The outcomes of a run: after the first that is not an ack, everything goes back uncharged, so that it is not overtaken. */
export const asPrefix = (outcomes: readonly Outcome[]): readonly Outcome[] => {
  const failed = outcomes.findIndex(({ kind }) => kind !== "ack");
  return failed === -1 ? outcomes : outcomes.map((outcome, at) => (at > failed ? RELEASE : outcome));
};

/** Whether a value must be awaited. A `then` that throws when read means no. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> => {
  if (typeof value !== "object" || value === null) return false;
  try {
    return typeof Reflect.get(value, "then") === "function";
  } catch {
    return false;
  }
};
