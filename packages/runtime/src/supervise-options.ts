import { availableParallelism } from "node:os";
import type { ResourceLimits } from "node:worker_threads";
import { type Rheo, RheoError } from "@rheo/core";
import { internalsOf, LIMITS, parseChoice, parseNumber, parseOptions, readable, unreadable } from "@rheo/core/internal";
import { type ConsumerDefinition, type ConsumerOptions, defineConsumer } from "./consumer.ts";
import type { Logger } from "./handler.ts";
import { contained } from "./logger.ts";
import { defineRetention, type RetentionOptions, type RetentionPolicy } from "./retention/policy.ts";
import { DEFAULT_RESTART } from "./supervisor/restart.ts";
import type { Strategy } from "./supervisor/supervisor.ts";

/** What is supervised, in how many threads, and when it is restarted. */
export interface SuperviseOptions {
  /** An open instance. It is not closed by `stop`: close it afterwards. */
  readonly rheo: Rheo;
  /** At least one, unless there is a `retention`. */
  readonly consumers: readonly (ConsumerDefinition | ConsumerOptions)[];
  /**
   * What may go from which streams. Every process may be given the same: for each stream one member at a time sweeps, another takes its
   * place when it dies. Default none.
   */
  readonly retention?: readonly (RetentionPolicy | RetentionOptions)[];
  /** Worker threads shared by all consumers with execution "worker", 1–256; default one less than the processors, 2 to 8. */
  readonly threads?: number;
  /** Default "one_for_one". */
  readonly strategy?: Strategy;
  /** Failures of a child within `withinMs` that are answered by a restart, 0–1,000; default 3. One more, and it is given up. */
  readonly maxRestarts?: number;
  /** In ms, from 1; default 5,000. */
  readonly withinMs?: number;
  /** Wait before a restart, in ms; doubles with each failure. Defaults 100 and 30,000. */
  readonly restart?: { readonly minMs?: number; readonly maxMs?: number };
  /** How long `stop` waits for handlers before it aborts them, in ms; default 10,000. */
  readonly stopTimeoutMs?: number;
  /** Limits of each thread, as `node:worker_threads` takes them. */
  readonly resourceLimits?: ResourceLimits;
  /** Stops the supervisor when it aborts, as `stop()` does; while it starts the promise of `supervise` is then rejected with `aborted`. */
  readonly signal?: AbortSignal;
  /** For handlers that run inline, and for what the runtime has to say; default the console. */
  readonly logger?: Logger;
}

/** The options with every default filled in. */
export interface SuperviseSettings {
  readonly rheo: Rheo;
  readonly consumers: readonly ConsumerDefinition[];
  readonly retention: readonly RetentionPolicy[];
  readonly threads: number;
  readonly strategy: Strategy;
  readonly maxRestarts: number;
  readonly withinMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly stopTimeoutMs: number;
  readonly resourceLimits: ResourceLimits | null;
  readonly signal: AbortSignal | null;
  readonly logger: Logger;
}

/** What a config takes, too. */
export const WORK_NAMES = [
  "consumers",
  "retention",
  "threads",
  "strategy",
  "maxRestarts",
  "withinMs",
  "restart",
  "stopTimeoutMs",
  "resourceLimits",
  "signal",
  "logger",
] as const;
const MAX_THREADS = 256;
const DEFAULT_MAX_THREADS = 8;
const STOP_TIMEOUT_MS = 10_000;

/** @throws invalid_option, invalid_name */
export const parseSuperviseOptions = (options: SuperviseOptions): SuperviseSettings => {
  const raw = parseOptions("supervise", options, ["rheo", ...WORK_NAMES]);
  return { rheo: parseRheo(raw.rheo), ...parseWork("", raw), ...parseManner(raw) };
};

/** How it is run, whatever it is. @throws invalid_option */
export const parseManner = (
  raw: Partial<Record<(typeof WORK_NAMES)[number], unknown>>,
): Omit<SuperviseSettings, "rheo" | "consumers" | "retention"> => {
  const restart = parseOptions("restart", raw.restart, ["minMs", "maxMs"]);
  const threads = Math.min(DEFAULT_MAX_THREADS, Math.max(2, availableParallelism() - 1));
  return {
    threads: parseNumber("threads", raw.threads, { min: 1, max: MAX_THREADS, fallback: threads }),
    strategy: parseChoice("strategy", raw.strategy, ["one_for_one", "one_for_all", "rest_for_one"], "one_for_one"),
    maxRestarts: parseNumber("maxRestarts", raw.maxRestarts, { min: 0, max: 1_000, fallback: DEFAULT_RESTART.maxRestarts }),
    withinMs: parseNumber("withinMs", raw.withinMs, { min: 1, max: LIMITS.durationMs, fallback: DEFAULT_RESTART.withinMs }),
    minMs: parseNumber("restart.minMs", restart.minMs, { min: 0, max: LIMITS.durationMs, fallback: DEFAULT_RESTART.minMs }),
    maxMs: parseNumber("restart.maxMs", restart.maxMs, { min: 0, max: LIMITS.durationMs, fallback: DEFAULT_RESTART.maxMs }),
    stopTimeoutMs: parseNumber("stopTimeoutMs", raw.stopTimeoutMs, { min: 0, max: LIMITS.durationMs, fallback: STOP_TIMEOUT_MS }),
    resourceLimits: parseResourceLimits(raw.resourceLimits),
    signal: parseSignal(raw.signal),
    logger: contained(parseLogger(raw.logger)),
  };
};

const parseRheo = (value: unknown): Rheo => {
  try {
    internalsOf(Object(value));
    return value as Rheo; // only an instance has internals
  } catch (cause) {
    throw new RheoError(
      "invalid_option",
      "rheo is an open instance, of the same copy of @rheo/core.",
      { path: "rheo" },
      { cause },
    );
  }
};

const parseLogger = (value: unknown): Logger => {
  if (value === undefined) return console;
  if (typeof value === "object" && value !== null) return value as Logger; // what it lacks loses its lines
  throw new RheoError("invalid_option", "logger has debug, info, warn and error.", { path: "logger" });
};

const parseResourceLimits = (value: unknown): ResourceLimits | null => {
  if (value === undefined) return null;
  const raw = parseOptions("resourceLimits", value, LIMIT_NAMES);
  for (const name of LIMIT_NAMES)
    if (raw[name] !== undefined)
      parseNumber(`resourceLimits.${name}`, raw[name], { min: 0, max: Number.MAX_SAFE_INTEGER, integer: false });
  return raw as ResourceLimits; // number by number above
};

const LIMIT_NAMES = ["maxYoungGenerationSizeMb", "maxOldGenerationSizeMb", "codeRangeSizeMb", "stackSizeMb"] as const;

/** What is to be run: the same in the options of `supervise` and in a config. @throws invalid_option, invalid_name */
export const parseWork = (
  what: string,
  given: { readonly consumers?: unknown; readonly retention?: unknown },
): Pick<SuperviseSettings, "consumers" | "retention"> =>
  readable(
    () => readWork(what, given),
    (cause) => unreadable(`${what}consumers and retention`, cause),
  );

const readWork = (
  what: string,
  { consumers, retention = [] }: { readonly consumers?: unknown; readonly retention?: unknown },
): Pick<SuperviseSettings, "consumers" | "retention"> => {
  const invalid = (path: string, message: string): RheoError => new RheoError("invalid_option", `${what}${message}`, { path });
  if (!Array.isArray(retention)) throw invalid("retention", "retention is a list of what defineRetention(…) takes.");
  if (!Array.isArray(consumers) || consumers.length + retention.length === 0)
    throw invalid("consumers", "consumers is a list of at least one consumer.");
  const policies = retention.map((policy: RetentionOptions) => defineRetention(policy));
  const twice = policies.find(({ stream }, at) => policies.findIndex((other) => other.stream === stream) < at);
  if (twice !== undefined) throw invalid("retention", `The retention of "${twice.stream}" is given twice; put both into one.`);
  return { consumers: consumers.map((consumer: ConsumerOptions) => defineConsumer(consumer)), retention: policies };
};

const parseSignal = (value: unknown): AbortSignal | null => {
  if (value === undefined || value instanceof AbortSignal) return value ?? null;
  throw new RheoError("invalid_option", "signal is an AbortSignal.", { path: "signal" });
};
