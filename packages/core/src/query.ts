import { createHash } from "node:crypto";
import { RheoError } from "./errors.ts";
import type { EventRecord } from "./event.ts";
import { compileFilter, type Filter, type Matcher, parseFilter } from "./filter.ts";
import { parsePartitionMap } from "./group.ts";
import { LIMITS } from "./limits.ts";
import { parseChoice, parseDate, parseList, parseNumber, parseOptions, parseText, show } from "./options.ts";

/** What `query`, `scan` and `replay` take: every part given must hold. */
export interface Query {
  readonly type?: string;
  readonly key?: string;
  readonly correlationId?: string;
  readonly where?: Filter;
  readonly partition?: number;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly to?: Date;
  /** Exclusive: one for all partitions, or by partition. */
  readonly afterSequence?: number | Readonly<Record<number, number>>;
  /** Inclusive. */
  readonly untilSequence?: number | Readonly<Record<number, number>>;
  /** Each partition in sequence order, partitions merged by timestamp; default "asc". */
  readonly order?: "asc" | "desc";
  /** 1–10,000; default 100. `scan` and `replay` have no limit. */
  readonly limit?: number;
}

/** A {@link Query} with everything filled in. */
export interface EventQuery {
  readonly filter: Filter | null;
  readonly partitions: readonly number[];
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** By partition. */
  readonly after: readonly number[];
  readonly until: readonly number[];
  readonly order: "asc" | "desc";
  readonly limit: number;
}

/** What of a query says which events match. */
export const MATCH_NAMES = [
  "type",
  "key",
  "correlationId",
  "where",
  "partition",
  "from",
  "to",
  "afterSequence",
  "untilSequence",
] as const;
const NAMES = [...MATCH_NAMES, "order", "limit"] as const;
export const QUERY_NAMES: readonly (keyof Query)[] = NAMES;

/** @throws invalid_query, invalid_option, invalid_partition */
export const parseQuery = (value: unknown, partitions: number): EventQuery => {
  const raw = parseOptions("query", value, NAMES);
  const all = Array.from({ length: partitions }, (_, partition) => partition);
  return {
    filter: combine(raw),
    partitions: raw.partition === undefined ? all : [parsePartition(raw.partition, partitions)],
    fromMs: parseDate("from", raw.from),
    toMs: parseDate("to", raw.to),
    after: parseBounds("afterSequence", raw.afterSequence, partitions, 0),
    until: parseBounds("untilSequence", raw.untilSequence, partitions, Number.MAX_SAFE_INTEGER),
    order: parseChoice("order", raw.order, ["asc", "desc"], "asc"),
    limit: parseNumber("limit", raw.limit, { min: 1, max: 10_000, fallback: 100 }),
  };
};

const combine = (raw: Partial<Record<(typeof NAMES)[number], unknown>>): Filter | null => {
  const parts: Filter[] = [];
  for (const name of ["type", "key", "correlationId"] as const) {
    const text = parseText(name, raw[name]);
    if (text !== null) parts.push({ [name]: text });
  }
  if (raw.where !== undefined) parts.push(parseFilter(raw.where));
  return parts.length === 0 ? null : parts.length === 1 ? (parts[0] ?? null) : { and: parts };
};

const parseBounds = (name: string, value: unknown, partitions: number, absent: number): readonly number[] => {
  if (value === undefined) return new Array<number>(partitions).fill(absent);
  if (typeof value !== "number") return parsePartitionMap(name, value, partitions, absent);
  return new Array<number>(partitions).fill(parseNumber(name, value, { min: 0, max: Number.MAX_SAFE_INTEGER }));
};

/** @throws invalid_partition */
export const parsePartition = (value: unknown, partitions: number): number => {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < partitions) return value;
  throw new RheoError("invalid_partition", `There is no partition ${show(value)}; they go from 0 to ${partitions - 1}.`);
};

/** @throws invalid_partition, invalid_option */
export const parsePartitions = (value: unknown, partitions: number): readonly number[] | null => {
  if (value === undefined || value === "all" || value === null) return null;
  const list = parseList("partitions", value, { min: 1, max: LIMITS.partitions });
  return [...new Set(list.map((partition) => parsePartition(partition, partitions)))].sort((a, b) => a - b);
};

/** Whether an event is within a query's time bounds and passes its filter. Partition and sequence are the reader's part. */
export const queryMatcher = (query: EventQuery): Matcher => {
  const passes = compileFilter(query.filter);
  return (stream: string, record: EventRecord) =>
    (query.fromMs === null || record.timestampMs >= query.fromMs) &&
    (query.toMs === null || record.timestampMs < query.toMs) &&
    passes(stream, record);
};

/**
 * A cursor names, for each partition, the last sequence that was looked at, and carries a fingerprint of its query, so that it
 * cannot be used with another.
 */
export const encodeCursor = (stream: string, query: EventQuery, positions: readonly (number | null)[]): string =>
  Buffer.from(JSON.stringify([fingerprint(stream, query), positions])).toString("base64url");

/** @throws invalid_query */
export const decodeCursor = (stream: string, query: EventQuery, cursor: unknown): (number | null)[] => {
  const invalid = (problem: string): RheoError => new RheoError("invalid_query", `cursor: ${problem}`, { path: "cursor" });
  if (typeof cursor !== "string" || cursor.length > LIMITS.partitions * 24)
    throw invalid("not a cursor that queryPage returned.");
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    throw invalid("not a cursor that queryPage returned.");
  }
  const [print, positions]: unknown[] = Array.isArray(parsed) ? parsed : [];
  const sound =
    Array.isArray(positions) &&
    positions.every((position) => position === null || (Number.isSafeInteger(position) && position >= 0));
  if (!sound || typeof print !== "string") throw invalid("not a cursor that queryPage returned.");
  if (print !== fingerprint(stream, query)) throw invalid("it belongs to another query. Pass the same query with each page.");
  return positions as (number | null)[]; // checked item by item
};

const fingerprint = (stream: string, query: EventQuery): string => {
  const { limit: _limit, ...identity } = query;
  return createHash("sha256")
    .update(JSON.stringify([stream, identity]))
    .digest("base64url")
    .slice(0, 16);
};
