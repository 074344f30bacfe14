/** Reading what a handler gave. Nothing here fails, whatever it is given: it may be a Proxy, or made by hand. */
import { LIMITS } from "./limits.ts";
import { ack, failureText, type Outcome } from "./outcome.ts";
import { cleanText } from "./text.ts";

const ACK = ack();

/** The outcome that a value is; null when it is none. */
export const givenOutcome = (value: unknown): Outcome | null => {
  if (typeof value !== "object" || value === null) return null;
  try {
    return fromObject(value);
  } catch {
    return null; // it cannot even be read, so it says nothing that we were asked to heed
  }
};

const fromObject = (value: object): Outcome | null => {
  const kind: unknown = Reflect.get(value, "kind");
  switch (kind) {
    case "ack":
      return ACK;
    case "retry":
      return { kind, delayMs: readDelay(Reflect.get(value, "delayMs")), ...readFailure(value, "retry asked for") };
    case "reject":
      return { kind, ...readFailure(value, "rejected") };
    case "release":
      return { kind };
    default:
      return null;
  }
};

const readDelay = (delayMs: unknown): number | null =>
  typeof delayMs === "number" && Number.isSafeInteger(delayMs) && delayMs >= 0 && delayMs <= LIMITS.durationMs ? delayMs : null;

const readFailure = (value: object, fallback: string): { reason: string; stack: string | null } => {
  const stack: unknown = Reflect.get(value, "stack");
  const { reason } = failureText(Reflect.get(value, "reason"), fallback);
  return { reason, stack: typeof stack === "string" ? cleanText(stack, LIMITS.stackBytes) : null };
};

/** Whether a value must be awaited. A `then` that throws when read means no. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> => {
  if (typeof value !== "object" || value === null) return false;
  try {
    return typeof (value as { readonly then?: unknown }).then === "function";
  } catch {
    return false;
  }
};
