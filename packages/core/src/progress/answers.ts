/** What the twins of this arithmetic, and the stores around it, say of settlements. */
import type { Settlement, SettleResult } from "../backend.ts";
import type { Ordering } from "../group.ts";

const GONE: SettleResult = Object.freeze({ state: "stale", why: "gone" });

/** Results as twins write them, in one letter. */
const RESULTS: ReadonlyMap<string, SettleResult> = new Map<string, SettleResult>([
  ["a", { state: "acked" }],
  ["p", { state: "pending" }],
  ["r", { state: "retrying" }],
  ["d", { state: "dead" }],
  ["R", { state: "stale", why: "reclaimed" }],
  ["S", { state: "stale", why: "settled" }],
  ["X", { state: "stale", why: "reset" }],
  ["G", GONE],
]);

/** The result that a letter stands for. */
export const resultOf = (letter: string): SettleResult => RESULTS.get(letter) ?? GONE;

/** The answer where the group or its stream is gone: one array per settlement, one result per sequence. */
export const allGone = (settlements: readonly Settlement[]): (readonly SettleResult[])[] =>
  settlements.map(({ sequences }) => sequences.map(() => GONE));

/** Whether settling these can make deliveries claimable that were not: those given back, and those that waited for their key. */
export const mayWake = (settlements: readonly Settlement[], ordering: Ordering): boolean =>
  settlements.some(({ outcome }) => outcome.kind === "retry" || outcome.kind === "release" || ordering !== "none");
