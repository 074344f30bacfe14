import { type Json, type Rheo, RheoError, type StreamRef } from "@rheo/core";
import { LIMITS, parseChoice, parseNumber, parseOptions } from "@rheo/core/internal";
import {
  type IntakeOptions,
  MAX_WAIT_MS,
  MEMBER_NAMES,
  type MemberOptions,
  parseFunction,
  parseMaxDemand,
  parseMember,
} from "../intake/options.ts";
import type { BatchInfo } from "./batcher.ts";
import type { BatchHandled, Handled } from "./handled.ts";
import type { Message, OwnedMessage } from "./message.ts";
import type { RateLimitSettings } from "./rate-limit.ts";

/** What flows, through which processors, into which batchers. */
export interface PipelineOptions<Payload = Json, Data = Payload> extends MemberOptions {
  readonly rheo: Rheo;
  /** The name of the stream, or its definition. */
  readonly stream: StreamRef<Payload>;
  readonly group: string;
  /** Leases held at most: waiting, running, in batches and not yet settled; 1–10,000. Default 1,000, or twice the largest batch. */
  readonly maxDemand?: number;
  readonly processors: ProcessorOptions<Payload, Data>;
  /** By name. Without any, a message is acked when its processor is through with it. */
  readonly batchers?: Readonly<Record<string, BatcherOptions<Payload, Data>>>;
  /** Messages started per `perMs` (1–1,000,000 per 1 ms to a day) on average; as many may start at once after a pause. */
  readonly rateLimit?: { readonly events: number; readonly perMs: number };
  /**
   * Messages for which this returns the same text are worked on one after the other, in order, their batches included. Null: no
   * order. This is within the pipeline; through retries and over all members it takes the group's `ordering` (G9).
   */
  readonly partitionBy?: (message: Message<Payload>) => string | null;
  /** What a handler that throws means for its messages: another try (default), or a dead letter. */
  readonly onFailure?: "nack" | "reject";
}

/** How many events are processed at once, and how. */
export interface ProcessorOptions<Payload, Data> {
  /** Messages in processors at once, 1–10,000; default 8. */
  readonly concurrency?: number;
  /** Works on one message; see {@link Handled}. */
  readonly handle: (message: Message<Payload>) => Handled<Data> | Promise<Handled<Data>>;
}

/** When a batch is full, how many are handled at once, and how. */
export interface BatcherOptions<Payload, Data> {
  /** Messages of a batch at most, 1 to `maxDemand`; default 100, or `maxDemand` if that is less. */
  readonly size?: number;
  /** Time from the first message of a batch until it is handed over as it is, in ms, 0–60,000; default 50. */
  readonly waitMs?: number;
  /** Batches handled at once, 1–1,000; default 1. */
  readonly concurrency?: number;
  /** Works on one batch, in the order of arrival; see {@link BatchHandled}. */
  readonly handle: (messages: readonly Message<Payload, Data>[], batch: BatchInfo) => BatchHandled | Promise<BatchHandled>;
  /** The batch key of a message whose processor gave none: messages of different keys share no batch. Null: none. */
  readonly by?: (message: Message<Payload, Data>) => string | null;
}

/** The options with every default filled in, and handlers without their types. */
export interface PipelineSettings {
  readonly member: IntakeOptions;
  readonly concurrency: number;
  readonly handle: (message: OwnedMessage) => unknown;
  readonly batchers: ReadonlyMap<string, BatcherSettings>;
  readonly rateLimit: RateLimitSettings | null;
  readonly partitionBy: ((message: OwnedMessage) => unknown) | null;
  readonly onFailure: "nack" | "reject";
}

export interface BatcherSettings {
  readonly size: number;
  readonly waitMs: number;
  readonly concurrency: number;
  readonly handle: (messages: readonly OwnedMessage[], batch: BatchInfo) => unknown;
  readonly by: ((message: OwnedMessage) => unknown) | null;
}

const NAMES = [
  "rheo",
  "stream",
  "group",
  "maxDemand",
  "processors",
  "batchers",
  "rateLimit",
  "partitionBy",
  "onFailure",
  ...MEMBER_NAMES,
] as const;
const DEFAULT_DEMAND = 1_000;
const DEFAULT_SIZE = 100;
const MAX_CONCURRENCY = 10_000;
const MAX_BATCHES = 1_000;
const MAX_RATE_EVENTS = 1_000_000;
const MAX_RATE_MS = 86_400_000;

/** @throws invalid_option, invalid_name */
export const parsePipelineOptions = (rheo: Rheo, options: unknown): PipelineSettings => {
  const raw = parseOptions("pipeline", options, NAMES);
  const processors = parseOptions("processors", raw.processors, ["concurrency", "handle"]);
  const maxDemand = parseMaxDemand(
    raw.maxDemand,
    Math.max(DEFAULT_DEMAND, Math.min(2 * largestSize(raw.batchers), LIMITS.fetchLimit)),
  );
  return {
    member: parseMember(rheo, raw.stream, raw.group, maxDemand, raw),
    concurrency: parseNumber("processors.concurrency", processors.concurrency, { min: 1, max: MAX_CONCURRENCY, fallback: 8 }),
    handle: parseFunction("processors.handle", processors.handle),
    batchers: parseBatchers(raw.batchers, maxDemand),
    rateLimit: raw.rateLimit === undefined ? null : parseRateLimit(raw.rateLimit),
    partitionBy: raw.partitionBy === undefined ? null : parseFunction("partitionBy", raw.partitionBy),
    onFailure: parseChoice("onFailure", raw.onFailure, ["nack", "reject"], "nack"),
  };
};

/** Before anything is checked: what is no size counts as none. */
const largestSize = (batchers: unknown): number =>
  Math.max(
    0,
    ...Object.values(batchers ?? {})
      .map((batcher: unknown): unknown => (typeof batcher === "object" && batcher !== null ? Reflect.get(batcher, "size") : 0))
      .filter((size) => typeof size === "number"),
  );

const parseBatchers = (value: unknown, maxDemand: number): ReadonlyMap<string, BatcherSettings> => {
  if (value === undefined) return new Map();
  if (typeof value !== "object" || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    throw new RheoError("invalid_option", "batchers is an object of at least one batcher by name.", { path: "batchers" });
  return new Map(Object.entries(value).map(([name, batcher]) => [name, parseBatcher(`batchers.${name}`, batcher, maxDemand)]));
};

/** A batch larger than the demand would never be full. */
const parseBatcher = (what: string, value: unknown, maxDemand: number): BatcherSettings => {
  const raw = parseOptions(what, value, ["size", "waitMs", "concurrency", "handle", "by"]);
  return {
    size: parseNumber(`${what}.size`, raw.size, { min: 1, max: maxDemand, fallback: Math.min(DEFAULT_SIZE, maxDemand) }),
    waitMs: parseNumber(`${what}.waitMs`, raw.waitMs, { min: 0, max: MAX_WAIT_MS, fallback: 50 }),
    concurrency: parseNumber(`${what}.concurrency`, raw.concurrency, { min: 1, max: MAX_BATCHES, fallback: 1 }),
    handle: parseFunction(`${what}.handle`, raw.handle),
    by: raw.by === undefined ? null : parseFunction(`${what}.by`, raw.by),
  };
};

const parseRateLimit = (value: unknown): RateLimitSettings => {
  const raw = parseOptions("rateLimit", value, ["events", "perMs"]);
  return {
    events: parseNumber("rateLimit.events", raw.events, { min: 1, max: MAX_RATE_EVENTS }),
    perMs: parseNumber("rateLimit.perMs", raw.perMs, { min: 1, max: MAX_RATE_MS }),
  };
};
