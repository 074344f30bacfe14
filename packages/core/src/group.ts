import { RheoError } from "./errors.ts";
import { type Filter, parseFilter } from "./filter.ts";
import { LIMITS } from "./limits.ts";
import { parseChoice, parseDate, parseNumber, parseOptions } from "./options.ts";
import { DEFAULT_RETRY, parseRetryPolicy, type RetryPolicy } from "./retry-policy.ts";

/** Whether a group keeps the order of a key or of a whole partition (G9). */
export type Ordering = "none" | "key" | "partition";

/** Where a group begins (G1). */
export type GroupStart =
  | "earliest"
  | "latest"
  | { readonly after: number | Readonly<Record<number, number>> }
  | { readonly at: Date };

/** Options of a group that may be changed later, by `updateGroup`, but for `ordering`. */
export interface GroupOptions {
  /** Starts of one delivery before it is dead, 1–1,000; default 5 (T4). */
  readonly maxAttempts?: number;
  /** Length of a lease in ms, from 1; default 30,000. */
  readonly leaseMs?: number;
  readonly retry?: Partial<RetryPolicy>;
  readonly ordering?: Ordering;
  /** Events that do not match count as settled for this group (G7). */
  readonly filter?: Filter | null;
  /** Leases in flight over all members and partitions; default 10,000 for each partition (G8). */
  readonly maxInflight?: number | null;
}

/** Options of a group, and where it starts (G1). */
export interface CreateGroupOptions extends GroupOptions {
  /** Default "earliest". A place beyond the end means "latest". */
  readonly start?: GroupStart;
}

/** The options of a group with every default filled in, as stored. */
export interface ResolvedGroupOptions {
  readonly maxAttempts: number;
  readonly leaseMs: number;
  readonly retry: RetryPolicy;
  readonly ordering: Ordering;
  readonly filter: Filter | null;
  readonly maxInflight: number | null;
}

/** A {@link GroupStart} as the port takes it: `after` by partition (absent: 0), or a time in ms. */
export type ResolvedStart =
  | { readonly kind: "earliest" }
  | { readonly kind: "latest" }
  | { readonly kind: "after"; readonly after: readonly number[] }
  | { readonly kind: "time"; readonly timeMs: number };

export const DEFAULT_GROUP: ResolvedGroupOptions = {
  maxAttempts: 5,
  leaseMs: 30_000,
  retry: DEFAULT_RETRY,
  ordering: "none",
  filter: null,
  maxInflight: null,
};

export const GROUP_OPTION_NAMES = ["maxAttempts", "leaseMs", "retry", "ordering", "filter", "maxInflight"] as const;

/** Fills in what is absent from `base`. @throws invalid_option, invalid_query */
export const parseGroupOptions = (value: unknown, base: ResolvedGroupOptions): ResolvedGroupOptions => {
  const raw = parseOptions("group options", value, GROUP_OPTION_NAMES);
  return {
    maxAttempts: parseNumber("maxAttempts", raw.maxAttempts, { min: 1, max: 1_000, fallback: base.maxAttempts }),
    leaseMs: parseNumber("leaseMs", raw.leaseMs, { min: 1, max: LIMITS.durationMs, fallback: base.leaseMs }),
    retry: parseRetryPolicy(raw.retry, base.retry),
    ordering: parseChoice("ordering", raw.ordering, ["none", "key", "partition"], base.ordering),
    filter: raw.filter === undefined ? base.filter : raw.filter === null ? null : parseFilter(raw.filter),
    maxInflight:
      raw.maxInflight === undefined
        ? base.maxInflight
        : raw.maxInflight === null
          ? null
          : parseNumber("maxInflight", raw.maxInflight, { min: 1, max: LIMITS.inflightPerPartition * LIMITS.partitions }),
  };
};

/** @throws invalid_option, invalid_partition */
export const parseStart = (value: unknown, partitions: number): ResolvedStart => {
  if (value === undefined || value === "earliest") return { kind: "earliest" };
  if (value === "latest") return { kind: "latest" };
  const raw = parseOptions("start", typeof value === "string" ? { [value]: value } : value, ["after", "at"]);
  const timeMs = parseDate("start.at", raw.at);
  if (timeMs !== null && raw.after === undefined) return { kind: "time", timeMs };
  if (timeMs === null && raw.after !== undefined) return { kind: "after", after: parseAfter(raw.after, partitions) };
  throw new RheoError("invalid_option", 'start is "earliest", "latest", { after } or { at }.', { path: "start" });
};

const parseAfter = (value: unknown, partitions: number): readonly number[] => {
  const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER };
  if (typeof value === "number") return new Array<number>(partitions).fill(parseNumber("start.after", value, bounds));
  return parsePartitionMap("start.after", value, partitions, 0);
};

/** `{ partition: sequence }` as an array by partition. @throws invalid_option, invalid_partition */
export const parsePartitionMap = (what: string, value: unknown, partitions: number, absent: number): number[] => {
  const sequences = new Array<number>(partitions).fill(absent);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RheoError("invalid_option", `${what} is a sequence or an object of partition: sequence.`, { path: what });
  }
  for (const [name, sequence] of Object.entries(value)) {
    const partition = Number(name);
    if (!Number.isInteger(partition) || partition < 0 || partition >= partitions || String(partition) !== name) {
      throw new RheoError(
        "invalid_partition",
        `${what}: there is no partition ${JSON.stringify(name)}; they go from 0 to ${partitions - 1}.`,
      );
    }
    sequences[partition] = parseNumber(`${what}[${name}]`, sequence, { min: 0, max: Number.MAX_SAFE_INTEGER });
  }
  return sequences;
};
