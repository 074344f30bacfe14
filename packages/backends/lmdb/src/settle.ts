import type { ExchangeAnswer, Settlement } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { LmdbProgressStore } from "./progress-store.ts";

/** One array of results per settlement. */
export const settleAll = (
  store: LmdbProgressStore,
  settlements: readonly Settlement[],
  nowMs: number,
): ExchangeAnswer["settled"] => settlements.map((settlement) => progress.settle(store, settlement, nowMs));
