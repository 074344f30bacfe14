import { hostname } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type CreateGroupOptions, RheoError, type StreamDefinition } from "@rheo/core";
import { LIMITS, parseChoice, parseName, parseNumber, parseOptions } from "@rheo/core/internal";
import type { DefinedHandler } from "./handler.ts";
import { isDefined } from "./load-handler.ts";

/** Where handlers run: in the worker threads of the supervisor, or in the main thread (for work that only waits for I/O). */
export type Execution = "worker" | "inline";

export interface ConsumerOptions {
  /** The name of the stream, or its definition. */
  readonly stream: string | StreamDefinition;
  readonly group: string;
  /** A module whose default export is made by `handler(…)`: a file URL or a path (from the working directory). Inline also the handler itself. */
  readonly handler: URL | string | DefinedHandler;
  /** Handlers running at once, 1–10,000; default 8. With `batch`, of batches. */
  readonly concurrency?: number;
  /** Leases held at most: running, waiting and not yet settled; 1–10,000. Default: adapted so that what is held is a second or two of work. */
  readonly maxDemand?: number;
  /** Length of the leases in ms, 10 ms to a year; default the group's. */
  readonly leaseMs?: number;
  /** Wait between polls of an idle group in ms, 1–60,000, spread by ± 20 %; default 200. A wake-up ends it. */
  readonly pollMs?: number;
  /** Time for one handler call in ms; default none. May exceed the lease: that is renewed while a handler runs. */
  readonly timeoutMs?: number;
  /** Partitions fetched from; default "all". */
  readonly partitions?: "all" | readonly number[];
  /** Default "worker" for a module, "inline" for a handler given as a function. */
  readonly execution?: Execution;
  /** Calls a batch handler with up to `size` events (1–1,000), waiting up to `waitMs` (0–60,000, default 50) for that many. */
  readonly batch?: { readonly size: number; readonly waitMs?: number };
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
  readonly group: string;
  /** A module to load, or the handler itself (inline only). */
  readonly handler:
    | { readonly kind: "module"; readonly href: string }
    | { readonly kind: "function"; readonly handler: DefinedHandler };
  readonly concurrency: number;
  readonly maxDemand: number | null;
  readonly leaseMs: number | null;
  readonly pollMs: number;
  readonly timeoutMs: number | null;
  readonly partitions: readonly number[] | null;
  readonly execution: Execution;
  readonly batch: { readonly size: number; readonly waitMs: number } | null;
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
    group: parseName("group", raw.group),
    handler,
    concurrency: parseNumber("concurrency", raw.concurrency, { min: 1, max: MAX_CONCURRENCY, fallback: 8 }),
    maxDemand: optionalNumber("maxDemand", raw.maxDemand, 1, LIMITS.fetchLimit),
    leaseMs: optionalNumber("leaseMs", raw.leaseMs, MIN_LEASE_MS, LIMITS.durationMs),
    pollMs: parseNumber("pollMs", raw.pollMs, { min: 1, max: MAX_POLL_MS, fallback: 200 }),
    timeoutMs: optionalNumber("timeoutMs", raw.timeoutMs, 1, LIMITS.durationMs),
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

const parsePartitions = (value: unknown): readonly number[] | null => {
  if (value === undefined || value === "all") return null;
  if (!Array.isArray(value) || value.length === 0)
    throw new RheoError("invalid_option", 'partitions is "all" or a list of partition numbers.', { path: "partitions" });
  const numbers = value.map((item, index) => parseNumber(`partitions[${index}]`, item, { min: 0, max: LIMITS.partitions - 1 }));
  return Object.freeze([...new Set(numbers)].sort((a, b) => a - b));
};

const parseBatch = (value: unknown): ConsumerDefinition["batch"] => {
  if (value === undefined) return null;
  const raw = parseOptions("batch", value, ["size", "waitMs"]);
  return Object.freeze({
    size: parseNumber("batch.size", raw.size, { min: 1, max: MAX_BATCH }),
    waitMs: parseNumber("batch.waitMs", raw.waitMs, { min: 0, max: MAX_POLL_MS, fallback: 50 }),
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
