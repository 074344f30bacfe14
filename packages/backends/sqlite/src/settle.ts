import type { ExchangeAnswer, GroupRecord, Settlement, SettleResult } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { SqliteProgressStore } from "./progress-store.ts";

const GONE: SettleResult = Object.freeze({ state: "stale", why: "gone" });

/** One array of results per settlement. */
export const settleAll = (
  store: SqliteProgressStore,
  settlements: readonly Settlement[],
  nowMs: number,
): ExchangeAnswer["settled"] => settlements.map((settlement) => progress.settle(store, settlement, nowMs));

/** The answer where the group or its stream is gone. */
export const allGone = (settlements: readonly Settlement[]): ExchangeAnswer["settled"] =>
  settlements.map(({ sequences }) => sequences.map(() => GONE));

/** Whether settling these can make deliveries claimable that were not: those given back, and those that waited for their key. */
export const mayWake = (group: GroupRecord, settlements: readonly Settlement[]): boolean =>
  settlements.some(({ outcome }) => outcome.kind === "retry" || outcome.kind === "release" || group.options.ordering !== "none");
