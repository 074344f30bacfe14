import { ack, type Outcome, release } from "@rheo/core";
import { failureText, givenOutcome } from "@rheo/core/internal";

const ACK = ack();

/** The outcome that a handler's return value stands for: an outcome is itself, anything else is an ack. Never fails. */
export const readOutcome = (value: unknown): Outcome => givenOutcome(value) ?? ACK;

/** What a handler that threw, or whose promise was rejected, asks for: another try. Never fails. */
export const thrownOutcome = (cause: unknown): Outcome => ({
  kind: "retry",
  delayMs: null,
  ...failureText(cause, "the handler threw nothing readable"),
});

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
