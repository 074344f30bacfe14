/** The options that consume and pipeline share. */
import { hostname } from "node:os";
import { type CreateGroupOptions, type Rheo, RheoError, type StreamRef } from "@rheo/core";
import { internalsOf, LIMITS, parseName, parseNumber } from "@rheo/core/internal";

/** How a member of a group fetches and holds its leases. */
export interface MemberOptions {
  /** Name of this member; default made of host, process and a random part. */
  readonly consumerId?: string;
  /** Length of the leases in ms, 10 ms to a year; default the group's. They are renewed while held. */
  readonly leaseMs?: number;
  /** Partitions fetched from; default "all". */
  readonly partitions?: "all" | readonly number[];
  /** Wait between polls of an idle group in ms, 1–60,000, spread by ± 20 %; default 200. A wake-up ends it. */
  readonly pollMs?: number;
  /** Creates the group at the start if it is not there yet. */
  readonly createGroup?: CreateGroupOptions;
  /**
   * Told of each round trip that failed: one that is repeated (`unavailable`, `outcome_unknown`), or the one that ended it all.
   * `rheo.events` tells the same: `fetch.failed`, `settle.failed`, `renew.failed`.
   */
  readonly onError?: (error: Error) => unknown;
}

/** The same, checked, with the defaults filled in. */
export interface IntakeOptions {
  readonly stream: string;
  readonly group: string;
  readonly consumerId: string;
  /** Leases held at most. */
  readonly maxDemand: number;
  /** Null: the group's. */
  readonly leaseMs: number | null;
  /** Null: all. */
  readonly partitions: readonly number[] | null;
  readonly pollMs: number;
  readonly createGroup: CreateGroupOptions | null;
  readonly onError: ((error: Error) => unknown) | null;
}

export const MEMBER_NAMES = ["consumerId", "leaseMs", "partitions", "pollMs", "createGroup", "onError"] as const;

/** A lease below this could not be renewed in time by anybody. */
const MIN_LEASE_MS = 10;
export const MAX_WAIT_MS = 60_000;

/** @throws invalid_option, invalid_name */
export const parseMember = (
  rheo: Rheo,
  stream: unknown,
  group: unknown,
  maxDemand: number,
  raw: Partial<Record<(typeof MEMBER_NAMES)[number], unknown>>,
): IntakeOptions =>
  Object.freeze({
    stream: parseName("stream", nameOf(stream)),
    group: parseName("group", group),
    consumerId: raw.consumerId === undefined ? newConsumerId(internalsOf(rheo).random) : parseName("consumer", raw.consumerId),
    maxDemand,
    leaseMs:
      raw.leaseMs === undefined ? null : parseNumber("leaseMs", raw.leaseMs, { min: MIN_LEASE_MS, max: LIMITS.durationMs }),
    partitions: parsePartitions(raw.partitions),
    pollMs: parseNumber("pollMs", raw.pollMs, { min: 1, max: MAX_WAIT_MS, fallback: 200 }),
    createGroup: parseCreateGroup(raw.createGroup),
    onError: raw.onError === undefined ? null : parseFunction<(error: Error) => unknown>("onError", raw.onError),
  });

/** Leases held at most: 1–10,000. @throws invalid_option */
export const parseMaxDemand = (value: unknown, fallback: number): number =>
  parseNumber("maxDemand", value, { min: 1, max: LIMITS.fetchLimit, fallback });

/** @throws invalid_option */
export const parseFunction = <Callback extends (...parts: never[]) => unknown>(what: string, value: unknown): Callback => {
  if (typeof value === "function") return value as Callback; // its parameters are the caller's promise
  throw new RheoError("invalid_option", `${what} is a function.`, { path: what });
};

const nameOf = (stream: unknown): unknown =>
  typeof stream === "object" && stream !== null ? (stream as Exclude<StreamRef, string>).name : stream;

const parsePartitions = (value: unknown): readonly number[] | null => {
  if (value === undefined || value === "all") return null;
  if (!Array.isArray(value) || value.length === 0)
    throw new RheoError("invalid_option", 'partitions is "all" or a list of partition numbers.', { path: "partitions" });
  const numbers = value.map((item, index) => parseNumber(`partitions[${index}]`, item, { min: 0, max: LIMITS.partitions - 1 }));
  return Object.freeze([...new Set(numbers)].sort((a, b) => a - b));
};

/** Only its kind is checked here; its content by the instance, which owns those rules. */
const parseCreateGroup = (value: unknown): CreateGroupOptions | null => {
  if (value === undefined) return null;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.freeze({ ...value });
  throw new RheoError("invalid_option", "createGroup is an object of group options.", { path: "createGroup" });
};

/** A name for a member: unique among those alive, and readable in inspections (L9). */
const newConsumerId = (random: () => number): string => {
  const host =
    hostname()
      .replaceAll(/[^A-Za-z0-9._-]/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 60) || "host";
  const part = Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, "0");
  return `${host}-${process.pid}-${part}`;
};
