import { type Rheo, RheoError } from "@rheo/core";
import { LIMITS, parseBoolean, parseName, parseNumber, parseOptions } from "@rheo/core/internal";

/** What is watched. */
export interface WatchOptions {
  /** An open instance. What happens before is not counted, so begin right after `Rheo.open`. */
  readonly rheo: Rheo;
  /** Groups with gauges; default "all", those created later too. Counters are of every group either way. */
  readonly groups?: "all" | readonly { readonly stream: string; readonly group: string }[];
  /** The store is read once in so many ms at most, however often the gauges are collected; 100 to a day, default 10,000. */
  readonly gaugesEveryMs?: number;
  /** Groups (and as many streams) told apart, 1–10,000, default 100; all that are more share the name `_other`, and have no gauges. */
  readonly maxGroups?: number;
  /** Whether each delivery is timed, for the histograms. That is all that costs anything per delivery: see the README. Default true. */
  readonly times?: boolean;
}

/** The options with every default filled in. */
export interface WatchSettings {
  readonly rheo: Rheo;
  /** Null: all. */
  readonly groups: readonly { readonly stream: string; readonly group: string }[] | null;
  readonly gaugesEveryMs: number;
  readonly maxGroups: number;
  readonly times: boolean;
}

export const WATCH_NAMES = ["rheo", "groups", "gaugesEveryMs", "maxGroups", "times"] as const;

/** Bounds of the options. Below a tenth of a second a scrape would be a load; each group costs some thirty series. */
const MIN_GAUGES_MS = 100;
const MAX_GAUGES_MS = 86_400_000;
const MAX_GROUPS = 10_000;

/** @throws invalid_option, invalid_name */
export const parseWatch = (raw: Partial<Record<(typeof WATCH_NAMES)[number], unknown>>): WatchSettings => ({
  rheo: parseRheo(raw.rheo),
  groups: parseGroups(raw.groups),
  gaugesEveryMs: parseNumber("gaugesEveryMs", raw.gaugesEveryMs, { min: MIN_GAUGES_MS, max: MAX_GAUGES_MS, fallback: 10_000 }),
  maxGroups: parseNumber("maxGroups", raw.maxGroups, { min: 1, max: MAX_GROUPS, fallback: 100 }),
  times: parseBoolean("times", raw.times, true),
});

/** @throws invalid_option */
export const parseRheo = (value: unknown): Rheo => {
  if (typeof value === "object" && value !== null && "events" in value && "groupInfo" in value) return value as Rheo; // as far as it is used
  throw new RheoError("invalid_option", "rheo is an open Rheo, as Rheo.open gives it.", { path: "rheo" });
};

const parseGroups = (value: unknown): WatchSettings["groups"] => {
  if (value === undefined || value === "all") return null;
  if (Array.isArray(value) && value.length <= LIMITS.pageSize) return value.map(parseGroup);
  throw new RheoError("invalid_option", `groups is "all" or an array of at most ${LIMITS.pageSize} { stream, group }.`, {
    path: "groups",
  });
};

const parseGroup = (value: unknown): { readonly stream: string; readonly group: string } => {
  const raw = parseOptions("groups", value, ["stream", "group"]);
  return { stream: parseName("stream", raw.stream), group: parseName("group", raw.group) };
};
