import { hostname } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type CreateGroupOptions, RheoError, type StreamDefinition } from "@rheo/core";
import { LIMITS, parseChoice, parseName, parseNumber, parseOptions } from "@rheo/core/internal";
import type { DefinedHandler } from "./handler.ts";
import { isDefined } from "./load-handler.ts";

/** Stops a consumer while everything fails, so that an outage of what its handlers need does not use up the attempts of its events. */
export interface BreakerOptions {
  /**
   * Failures in a row, with no ack between, that open it: 1–1,000. They alone are charged. Below the group's `maxAttempts` no event
   * dies of an outage; but an event that always fails, with no other to show that the way is clear, then keeps the breaker open.
   */
  readonly failures: number;
  /** Failures longer ago than this do not count, in ms from 1; default: all count. */
  readonly withinMs?: number;
  /** Wait before one event is tried, in ms from 1, spread by ± 20 %; default 1,000. Doubles with each try that fails. */
  readonly openMs?: number;
  /** No wait is longer, in ms; default 60,000. */
  readonly maxOpenMs?: number;
}

/** How events are put together for a batch handler. */
export interface BatchOptions {
  /** Events of one call at most, 1–1,000. */
  readonly size: number;
  /** How long to wait for that many, in ms, 0–60,000; default 50. */
  readonly waitMs?: number;
  /**
   * Makes each batch a run: events of one key (one without a key is a run by itself), or of one partition, by sequence. A run is
   * settled as a prefix: after the first outcome that is not an ack, what follows goes back uncharged. In a group whose `ordering` is
   * the same, the events of a run are leased together, and nothing of its key (or partition) is until all of it is settled; with
   * another `ordering` a run has one event (G9). Default: events as they come.
   */
  readonly by?: "key" | "partition";
}

/** Where handlers run: in the worker threads of the supervisor, or in the main thread (for work that only waits for I/O). */
export type Execution = "worker" | "inline";

/** Which group handles what with which handler, and how much at once. */
export interface ConsumerOptions {
  /** The name of the stream, or its definition. */
  readonly stream: string | StreamDefinition<unknown, unknown>;
  readonly group: string;
  /** A module whose default export is made by `handler(…)`: a file URL or a path (from the working directory). Inline also the handler itself. */
  readonly handler: URL | string | DefinedHandler;
  /** Handlers running at once, 1–10,000; default 8. With `batch`, of batches. In threads each runs its share of them, rounded up. */
  readonly concurrency?: number;
  /** Leases held at most: running, waiting and not yet settled; 1–10,000. Default: adapted so that what is held is a second or two of work. */
  readonly maxDemand?: number;
  /** Length of the leases in ms, 10 ms to a year; default the group's. */
  readonly leaseMs?: number;
  /**
   * Wait between polls of an idle group in ms, 1–60,000, spread by ± 20 %. A wake-up ends it. Default 200; while wake-ups
   * come through from everywhere, an eighth of the time that the group has been idle, up to a tenth of a lease and at most 3,000.
   */
  readonly pollMs?: number;
  /** Time for one handler call in ms; default none. May exceed the lease: that is renewed while a handler runs. */
  readonly timeoutMs?: number;
  /**
   * Opens after so many failures in a row: what is held goes back uncharged and nothing is fetched until, after a wait, one event is
   * tried; its ack closes it. What fails meanwhile is not charged, except a crash of its thread. Default: none.
   */
  readonly breaker?: BreakerOptions;
  /** Events started per `perMs` (1–1,000,000 per 1 ms to a day) on average; as many may start at once after a pause. Default: no limit. */
  readonly rateLimit?: { readonly events: number; readonly perMs: number };
  /**
   * Partitions fetched from; default "all". With "assigned" the members of the group that say so share them out by themselves: each
   * holds an equal part and fetches from no other; within one lease length after one joins, leaves or dies the parts are equal again.
   * A partition moves once its member has nothing of it in hand, or after a lease length. It is a matter of locality, not of safety:
   * order and exclusion are kept by the store either way (G2, G9).
   */
  readonly partitions?: "all" | "assigned" | readonly number[];
  /** Default "worker" for a module, "inline" for a handler given as a function. */
  readonly execution?: Execution;
  readonly batch?: BatchOptions;
  /** Creates the group at the start if it is not there yet. */
  readonly createGroup?: CreateGroupOptions;
  /** Creates the stream at the start if it is not there yet. */
  readonly createStream?: { readonly partitions: number };
  /** Name of this member; default made of host, process and a random part. */
  readonly consumerId?: string;
}

/** A checked consumer with its defaults filled in. Plain and frozen. */
export interface ConsumerDefinition {
  readonly stream: string;
  /** Null when only the name was given. */
  readonly definition: StreamDefinition<unknown, unknown> | null;
  readonly group: string;
  /** A module to load, or the handler itself (inline only). */
  readonly handler:
    | { readonly kind: "module"; readonly href: string }
    | { readonly kind: "function"; readonly handler: DefinedHandler };
  readonly concurrency: number;
  readonly maxDemand: number | null;
  readonly leaseMs: number | null;
  /** Null: as the default says. */
  readonly pollMs: number | null;
  readonly timeoutMs: number | null;
  readonly breaker: (Required<Omit<BreakerOptions, "withinMs">> & { readonly withinMs: number | null }) | null;
  readonly rateLimit: { readonly events: number; readonly perMs: number } | null;
  readonly partitions: readonly number[] | "assigned" | null;
  readonly execution: Execution;
  readonly batch: { readonly size: number; readonly waitMs: number; readonly by: "key" | "partition" | null } | null;
  readonly createGroup: CreateGroupOptions | null;
  readonly createStream: { readonly partitions: number } | null;
  readonly consumerId: string | null;
}

const NAMES = [
  "stream",
  "group",
  "handler",
  "concurrency",
  "maxDemand",
  "leaseMs",
  "pollMs",
  "timeoutMs",
  "breaker",
  "rateLimit",
  "partitions",
  "execution",
  "batch",
  "createGroup",
  "createStream",
  "consumerId",
] as const;

/** Bounds of the options above. A lease below 10 ms could not be renewed in time by anybody. */
const MAX_CONCURRENCY = 10_000;
const MIN_LEASE_MS = 10;
const MAX_POLL_MS = 60_000;
const MAX_BATCH = 1_000;
const MAX_BREAKER_FAILURES = 1_000;
const MAX_RATE_EVENTS = 1_000_000;
const MAX_RATE_MS = 86_400_000;

const DEFINED = new WeakSet<object>();

/**
 * Describes a consumer for `supervise`. Checks every option and fills in the defaults; starts nothing.
 * @throws invalid_option, invalid_name
 */
export const defineConsumer = (options: ConsumerOptions): ConsumerDefinition => {
  if (DEFINED.has(options)) return options as unknown as ConsumerDefinition; // made below
  const raw = parseOptions("consumer", options, NAMES);
  const handler = parseHandler(raw.handler);
  const definition: ConsumerDefinition = Object.freeze({
    stream: parseName("stream", streamName(raw.stream)),
    definition: typeof options.stream === "object" ? options.stream : null,
    group: parseName("group", raw.group),
    handler,
    concurrency: parseNumber("concurrency", raw.concurrency, { min: 1, max: MAX_CONCURRENCY, fallback: 8 }),
    maxDemand: optionalNumber("maxDemand", raw.maxDemand, 1, LIMITS.fetchLimit),
    leaseMs: optionalNumber("leaseMs", raw.leaseMs, MIN_LEASE_MS, LIMITS.durationMs),
    pollMs: optionalNumber("pollMs", raw.pollMs, 1, MAX_POLL_MS),
    timeoutMs: optionalNumber("timeoutMs", raw.timeoutMs, 1, LIMITS.durationMs),
    breaker: raw.breaker === undefined ? null : parseBreaker(raw.breaker),
    rateLimit: raw.rateLimit === undefined ? null : parseRateLimit(raw.rateLimit),
    partitions: parsePartitions(raw.partitions),
    execution: parseExecution(raw.execution, handler.kind),
    batch: parseBatch(raw.batch),
    createGroup: raw.createGroup === undefined ? null : parseObject("createGroup", raw.createGroup),
    createStream: raw.createStream === undefined ? null : parseCreateStream(raw.createStream),
    consumerId: raw.consumerId === undefined ? null : parseName("consumer", raw.consumerId),
  });
  DEFINED.add(definition);
  return definition;
};

const streamName = (stream: unknown): unknown =>
  typeof stream === "object" && stream !== null ? Reflect.get(stream, "name") : stream;

const optionalNumber = (what: string, value: unknown, min: number, max: number): number | null =>
  value === undefined ? null : parseNumber(what, value, { min, max });

const parseHandler = (value: unknown): ConsumerDefinition["handler"] => {
  if (isDefined(value)) return Object.freeze({ kind: "function", handler: value });
  if (value instanceof URL && value.protocol === "file:") return Object.freeze({ kind: "module", href: value.href });
  if (typeof value === "string" && value.startsWith("file:")) return Object.freeze({ kind: "module", href: new URL(value).href });
  if (typeof value === "string" && value !== "")
    return Object.freeze({ kind: "module", href: pathToFileURL(isAbsolute(value) ? value : resolve(value)).href });
  throw new RheoError("invalid_option", "handler is the file URL or path of a module, or what handler(…) returned.", {
    path: "handler",
  });
};

const parseExecution = (value: unknown, kind: ConsumerDefinition["handler"]["kind"]): Execution => {
  const execution = parseChoice("execution", value, ["worker", "inline"], kind === "module" ? "worker" : "inline");
  if (execution === "inline" || kind === "module") return execution;
  throw new RheoError(
    "invalid_option",
    'A handler given as a function cannot cross to a worker thread: name its module, or set execution: "inline".',
    { path: "execution" },
  );
};

const parseBreaker = (value: unknown): ConsumerDefinition["breaker"] => {
  const raw = parseOptions("breaker", value, ["failures", "withinMs", "openMs", "maxOpenMs"]);
  const openMs = parseNumber("breaker.openMs", raw.openMs, { min: 1, max: LIMITS.durationMs, fallback: 1_000 });
  return Object.freeze({
    failures: parseNumber("breaker.failures", raw.failures, { min: 1, max: MAX_BREAKER_FAILURES }),
    withinMs: optionalNumber("breaker.withinMs", raw.withinMs, 1, LIMITS.durationMs),
    openMs,
    maxOpenMs: parseNumber("breaker.maxOpenMs", raw.maxOpenMs, {
      min: openMs,
      max: LIMITS.durationMs,
      fallback: Math.max(openMs, 60_000),
    }),
  });
};

const parseRateLimit = (value: unknown): { readonly events: number; readonly perMs: number } => {
  const raw = parseOptions("rateLimit", value, ["events", "perMs"]);
  return Object.freeze({
    events: parseNumber("rateLimit.events", raw.events, { min: 1, max: MAX_RATE_EVENTS }),
    perMs: parseNumber("rateLimit.perMs", raw.perMs, { min: 1, max: MAX_RATE_MS }),
  });
};

const parsePartitions = (value: unknown): ConsumerDefinition["partitions"] => {
  if (value === undefined || value === "all") return null;
  if (value === "assigned") return value;
  if (!Array.isArray(value) || value.length === 0)
    throw new RheoError("invalid_option", 'partitions is "all", "assigned" or a list of partition numbers.', {
      path: "partitions",
    });
  const numbers = value.map((item, index) => parseNumber(`partitions[${index}]`, item, { min: 0, max: LIMITS.partitions - 1 }));
  return Object.freeze([...new Set(numbers)].sort((a, b) => a - b));
};

const parseBatch = (value: unknown): ConsumerDefinition["batch"] => {
  if (value === undefined) return null;
  const raw = parseOptions("batch", value, ["size", "waitMs", "by"]);
  return Object.freeze({
    size: parseNumber("batch.size", raw.size, { min: 1, max: MAX_BATCH }),
    waitMs: parseNumber("batch.waitMs", raw.waitMs, { min: 0, max: MAX_POLL_MS, fallback: 50 }),
    by: raw.by === undefined ? null : parseChoice("batch.by", raw.by, ["key", "partition"], "key"),
  });
};

/** Only its kind is checked here; its content by the instance, which owns those rules. */
const parseObject = (what: string, value: unknown): CreateGroupOptions => {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.freeze({ ...value });
  throw new RheoError("invalid_option", `${what} is an object of options.`, { path: what });
};

const parseCreateStream = (value: unknown): { readonly partitions: number } => {
  const raw = parseOptions("createStream", value, ["partitions"]);
  return Object.freeze({
    partitions: parseNumber("createStream.partitions", raw.partitions, { min: 1, max: LIMITS.partitions }),
  });
};

/** A name for a member: unique among those alive, and readable in inspections (L9). */
export const newConsumerId = (random: () => number): string => {
  const host =
    hostname()
      .replaceAll(/[^A-Za-z0-9._-]/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 60) || "host";
  return `${host}-${process.pid}-${Math.floor(random() * 36 ** 8)
    .toString(36)
    .padStart(8, "0")}`;
};
