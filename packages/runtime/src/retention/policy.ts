import { type Event, RheoError, type StreamDefinition } from "@rheo/core";
import { LIMITS, parseBoolean, parseName, parseNumber, parseOptions } from "@rheo/core/internal";

/** Events of one partition, about to be removed, by sequence, without gaps. */
export interface ArchiveChunk {
  readonly stream: string;
  readonly partition: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** At least one, at most 1,000 and about 4 MiB. As they are stored: no upcaster has been at them. */
  readonly events: readonly Event[];
}

/** What an archive function gets beside the events. */
export interface ArchiveContext {
  /** Aborted when another member has taken over, or when the supervisor stops. */
  readonly signal: AbortSignal;
  /** Greater than that of every leader before: what stores the chunk can refuse a leader that is late by it. */
  readonly token: number;
}

/** What may go from a stream, and when. At least one of the three measures is given; what any of them lets go, goes. */
export interface RetentionOptions {
  /** The name of the stream, or its definition. */
  readonly stream: string | StreamDefinition;
  /** Events whose timestamp is longer ago, in ms from 1 by the store's clock. The first younger one of a partition ends its prefix. */
  readonly maxAgeMs?: number;
  /** All but so many of the latest events of each partition, from 0. */
  readonly maxEvents?: number;
  /**
   * Segments of up to 1,000 events, from the oldest, as long as the rest of the partition has at least so many bytes, from 0. To count
   * bytes the leader reads every event once.
   */
  readonly maxBytes?: number;
  /** Between the starts of sweeps, in ms, 10 ms to a day; default 60,000. */
  readonly everyMs?: number;
  /** Pass the frontiers of slow groups (L10); default false: what some group has not settled stays. */
  readonly force?: boolean;
  /**
   * Is given each chunk before it goes; it goes once this has resolved. When it throws, nothing of the chunk goes, and it is given
   * again later: so each event that goes was archived at least once, and may have been more than once after a crash.
   */
  readonly archive?: (chunk: ArchiveChunk, context: ArchiveContext) => void | Promise<void>;
  /** Of the leader's lease, in ms, 1,000 to an hour; default 15,000. After a crash another member takes over within that. */
  readonly leaseMs?: number;
}

/** Checked, with its defaults filled in. Frozen. */
export interface RetentionPolicy {
  readonly stream: string;
  readonly maxAgeMs: number | null;
  readonly maxEvents: number | null;
  readonly maxBytes: number | null;
  readonly everyMs: number;
  readonly force: boolean;
  /** Takes what is about to go; null: it just goes. */
  readonly archive: RetentionOptions["archive"] | null;
  readonly leaseMs: number;
}

const NAMES = ["stream", "maxAgeMs", "maxEvents", "maxBytes", "everyMs", "force", "archive", "leaseMs"] as const;
const MIN_EVERY_MS = 10;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MIN_LEASE_MS = 1_000;

const DEFINED = new WeakSet<object>();

/**
 * Describes for `supervise` what may go from a stream. Starts nothing.
 *
 * ```ts
 * defineRetention({ stream: "market-events", maxAgeMs: 30 * 86_400_000, archive: (chunk) => bucket.put(chunk) });
 * ```
 * @throws invalid_option, invalid_name
 */
export const defineRetention = (options: RetentionOptions | RetentionPolicy): RetentionPolicy => {
  if (DEFINED.has(options)) return options as RetentionPolicy; // made below
  const raw = parseOptions("retention", options, NAMES);
  const policy: RetentionPolicy = Object.freeze({
    stream: parseName("stream", nameOf(raw.stream)),
    maxAgeMs: measure("maxAgeMs", raw.maxAgeMs, 1, LIMITS.durationMs),
    maxEvents: measure("maxEvents", raw.maxEvents, 0, Number.MAX_SAFE_INTEGER),
    maxBytes: measure("maxBytes", raw.maxBytes, 0, Number.MAX_SAFE_INTEGER),
    everyMs: parseNumber("everyMs", raw.everyMs, { min: MIN_EVERY_MS, max: DAY_MS, fallback: 60_000 }),
    force: parseBoolean("force", raw.force, false),
    archive: parseArchive(raw.archive),
    leaseMs: parseNumber("leaseMs", raw.leaseMs, { min: MIN_LEASE_MS, max: HOUR_MS, fallback: 15_000 }),
  });
  if (policy.maxAgeMs === null && policy.maxEvents === null && policy.maxBytes === null)
    throw new RheoError("invalid_option", `The retention of "${policy.stream}" needs maxAgeMs, maxEvents or maxBytes.`, {
      path: "maxAgeMs",
    });
  DEFINED.add(policy);
  return policy;
};

const nameOf = (stream: unknown): unknown =>
  typeof stream === "object" && stream !== null && "name" in stream ? stream.name : stream;

const measure = (name: string, value: unknown, min: number, max: number): number | null =>
  value === undefined ? null : parseNumber(name, value, { min, max });

const parseArchive = (value: unknown): RetentionPolicy["archive"] => {
  if (value === undefined) return null;
  if (typeof value === "function") return value as NonNullable<RetentionPolicy["archive"]>; // what it does with its arguments is its own matter
  throw new RheoError("invalid_option", "archive is a function (chunk, context) => Promise<void>.", { path: "archive" });
};
