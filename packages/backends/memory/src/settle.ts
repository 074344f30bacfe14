import type { Settlement, SettleResult } from "@rheo/core";
import { progress } from "@rheo/core/internal";
import type { GroupProgress } from "./progress-store.ts";

const GONE: SettleResult = Object.freeze({ state: "stale", why: "gone" });

/** One array of results per settlement; `gone` where the group is. */
export const settleAll = (
  group: GroupProgress | null,
  settlements: readonly Settlement[],
  nowMs: number,
): (readonly SettleResult[])[] =>
  settlements.map((settlement) =>
    group === null ? settlement.sequences.map(() => GONE) : progress.settle(group, settlement, nowMs),
  );

/** Whether settling these can make deliveries claimable at once. */
export const mayWake = (group: GroupProgress | null, settlements: readonly Settlement[]): boolean =>
  group !== null &&
  settlements.some(
    ({ outcome }) => outcome.kind === "retry" || outcome.kind === "release" || group.group.options.ordering !== "none",
  );
