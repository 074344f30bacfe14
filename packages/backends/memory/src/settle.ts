import type { Settlement, SettleResult } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { GroupProgress } from "./progress-store.ts";

/** One array of results per settlement; `gone` where the group is. */
export const settleAll = (
  group: GroupProgress | null,
  settlements: readonly Settlement[],
  nowMs: number,
): (readonly SettleResult[])[] =>
  group === null ? progress.allGone(settlements) : settlements.map((settlement) => progress.settle(group, settlement, nowMs));
