/** Settlements as arguments of the exchange script, and its answers as results. */
import type { Settlement, SettleOutcome, SettleResult } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { runsOf, spread } from "./positions.ts";

/** `placeOf`: where a partition stands among those at hand; one that is not there has a place beyond them. */
export const settlementArguments = (
  settlements: readonly Settlement[],
  placeOf: (partition: number) => number,
): (string | number)[] =>
  settlements.flatMap(({ partition, token, sequences, outcome }) => [
    placeOf(partition),
    token,
    ...outcomeArguments(outcome, runsOf(sequences)),
  ]);

const outcomeArguments = (outcome: SettleOutcome, runs: string): (string | number)[] => {
  switch (outcome.kind) {
    case "ack":
      return ["a", runs];
    case "release":
      return ["p", runs];
    case "retry":
      return ["r", runs, outcome.delayMs, outcome.reason, stackArgument(outcome.stack)];
    case "reject":
      return ["j", runs, 0, outcome.reason, stackArgument(outcome.stack)];
    default:
      return outcome satisfies never;
  }
};

const stackArgument = (stack: string | null): string => (stack === null ? "" : `=${stack}`);

/** Settlements for one script. */
export interface SettlementPage {
  readonly settlements: readonly Settlement[];
  /** By settlement here: which of those asked for it is, or is a part of. */
  readonly origins: readonly number[];
}

/** Deliveries that one script settles otherwise than by an ack, each of which is a record: more would keep the server from other work. */
const RECORDS_AT_ONCE = 2_000;

/** Null: all of them are for one script. */
export const pagesOf = (settlements: readonly Settlement[]): readonly SettlementPage[] | null => {
  const weightOf = ({ outcome, sequences }: Settlement): number => (outcome.kind === "ack" ? 0 : sequences.length);
  if (settlements.reduce((sum, one) => sum + weightOf(one), 0) <= RECORDS_AT_ONCE) return null;
  const pages: { settlements: Settlement[]; origins: number[] }[] = [{ settlements: [], origins: [] }];
  let left = RECORDS_AT_ONCE;
  for (const [origin, settlement] of settlements.entries()) {
    for (let from = 0; from < settlement.sequences.length; ) {
      if (left === 0) {
        pages.push({ settlements: [], origins: [] });
        left = RECORDS_AT_ONCE;
      }
      const sequences = weightOf(settlement) === 0 ? settlement.sequences : settlement.sequences.slice(from, from + left);
      const part = { ...settlement, sequences };
      const page = pages[pages.length - 1];
      page?.settlements.push(part);
      page?.origins.push(origin);
      left -= weightOf(part);
      from += sequences.length;
    }
  }
  return pages;
};

/** One result per sequence of a settlement. */
export const toResults = ({ sequences }: Settlement, codes: string): SettleResult[] =>
  spread(codes, sequences, progress.resultOf);
