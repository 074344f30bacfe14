import type { Rheo } from "@rheo/core";
import { parseOptions, parseSignal } from "@rheo/core/internal";
import { type IntakeOptions, MEMBER_NAMES, type MemberOptions, parseMaxDemand, parseMember } from "../intake/options.ts";

/** Options of `consume`. */
export interface ConsumeOptions extends MemberOptions {
  /** Leases held at most, 1–10,000; default 10. A loop that settles none of so many waits for itself. */
  readonly maxDemand?: number;
  /**
   * Its abort ends the iteration: what was not handed out goes back at once. What was may still be settled, for one lease length at
   * most; then it goes back, too.
   */
  readonly signal?: AbortSignal;
}

export interface ConsumeSettings {
  readonly member: IntakeOptions;
  readonly signal: AbortSignal | null;
}

const DEFAULT_DEMAND = 10;
const NAMES = ["maxDemand", "signal", ...MEMBER_NAMES] as const;

/** @throws invalid_option, invalid_name */
export const parseConsumeOptions = (rheo: Rheo, stream: unknown, group: unknown, options: unknown): ConsumeSettings => {
  const raw = parseOptions("consume", options, NAMES);
  return {
    member: parseMember(rheo, stream, group, parseMaxDemand(raw.maxDemand, DEFAULT_DEMAND), raw),
    signal: parseSignal(raw.signal) ?? null,
  };
};
