import type { Settlement, SettleOutcome, SettleResult } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { Statement } from "./database.ts";
import { multirange, type Run, spread } from "./positions.ts";

/** Inside a transaction of the user's: see `settle.sql.ts`. */
export const SETTLE_WITHIN: Statement = { text: "SELECT @.settle_within($1, $2, $3::text::jsonb, $4::bigint)", writes: true };

/** One per settlement. */
export type SettledRuns = readonly (string | readonly Run[])[];

/** Null when there is nothing to settle. */
export const toSettlements = (settlements: readonly Settlement[]): string | null =>
  settlements.length === 0
    ? null
    : JSON.stringify(
        settlements.map(({ partition, token, sequences, outcome }) => ({
          p: partition,
          t: token,
          s: multirange(sequences),
          ...toOutcome(outcome),
        })),
      );

const toOutcome = (outcome: SettleOutcome): object => {
  switch (outcome.kind) {
    case "ack":
      return { k: "a" };
    case "release":
      return { k: "p" };
    case "retry":
      return { k: "r", delay: outcome.delayMs, reason: outcome.reason, stack: outcome.stack };
    case "reject":
      return { k: "j", reason: outcome.reason, stack: outcome.stack };
    default:
      return outcome satisfies never;
  }
};

/** One array of results per settlement, one result per sequence. */
export const toResults = (settlements: readonly Settlement[], answers: SettledRuns): (readonly SettleResult[])[] =>
  settlements.map(({ sequences }, index) => spread(answers[index] ?? [], sequences, progress.resultOf));
