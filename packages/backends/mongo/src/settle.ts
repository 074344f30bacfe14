import type { ExchangeAnswer, Settlement, SettleResult } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { GroupRecords } from "./records/group-records.ts";
import type { MongoProgressStore } from "./records/progress-store.ts";

/** One array of results per settlement. What may be asked of exceptions is loaded together. */
export const settleAll = (
  store: MongoProgressStore,
  records: GroupRecords,
  settlements: readonly Settlement[],
): ExchangeAnswer["settled"] => {
  for (const { partition, sequences } of settlements) {
    const part = records.partitions[partition];
    if (part !== undefined) part.expected = sequences;
  }
  return settlements.map((settlement) => progress.settle(store, settlement, records.nowMs));
};

/** Whether it says that a lease is stale. */
export const isDoubtful = (results: readonly SettleResult[]): boolean => results.some(({ state }) => state === "stale");
