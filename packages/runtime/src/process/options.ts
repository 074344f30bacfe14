import { RheoError } from "@rheo/core";
import { LIMITS, parseNumber, parseOptions, parseText } from "@rheo/core/internal";
import { configHref } from "./load-config.ts";
import { type LogLine, printLine } from "./log-line.ts";

/** How many processes run a config, and when they are restarted. */
export interface SuperviseProcessesOptions {
  /** The config module, see `defineConfig`: a path (from the working directory) or a file URL. Each process imports it. */
  readonly config: string | URL;
  /** How many processes, 1–256; default 1. */
  readonly processes?: number;
  /** A store URL that takes the place of the config's. */
  readonly store?: string;
  /** A store URL for when the config names none. */
  readonly fallbackStore?: string;
  /** Failures of one process within `withinMs` that are answered by a restart, 0–1,000; default 5. One more, and it is given up. */
  readonly maxRestarts?: number;
  /** In ms, from 1; default 60,000. */
  readonly withinMs?: number;
  /** Wait before a restart, in ms; doubles with each failure. Defaults 100 and 30,000. */
  readonly restart?: { readonly minMs?: number; readonly maxMs?: number };
  /** How often a process gives a sign of life, in ms, 10–60,000; default 1,000. */
  readonly beatMs?: number;
  /**
   * A process that is silent for so long, because its event loop is blocked or it is stopped, is killed and replaced, in ms;
   * default 10,000. At least twice `beatMs`.
   */
  readonly hangMs?: number;
  /** A process that gets nowhere for so long while it starts is killed and replaced, in ms; default 60,000. */
  readonly startMs?: number;
  /** How long processes may drain, in ms; default the config's `stopTimeoutMs`, which is 10,000 unless it says otherwise. */
  readonly stopTimeoutMs?: number;
  /** Takes each line that a process writes; default: prints it with the name of the process before it. */
  readonly onLine?: (line: LogLine) => void;
}

/** The options with every default filled in. */
export interface SuperviseProcessesSettings {
  readonly href: string;
  readonly processes: number;
  readonly store: string | null;
  readonly fallbackStore: string | null;
  readonly maxRestarts: number;
  readonly withinMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly beatMs: number;
  readonly hangMs: number;
  readonly startMs: number;
  readonly stopTimeoutMs: number | null;
  readonly onLine: (line: LogLine) => void;
}

const NAMES = [
  "config",
  "processes",
  "store",
  "fallbackStore",
  "maxRestarts",
  "withinMs",
  "restart",
  "beatMs",
  "hangMs",
  "startMs",
  "stopTimeoutMs",
  "onLine",
] as const;
const MAX_PROCESSES = 256;
/** More than a few crashes at the start take, back-off included, even where a start takes seconds. */
const RESTART = { maxRestarts: 5, withinMs: 60_000, minMs: 100, maxMs: 30_000 } as const;

/** @throws invalid_option */
export const parseProcessesOptions = (options: SuperviseProcessesOptions): SuperviseProcessesSettings => {
  const raw = parseOptions("superviseProcesses", options, NAMES);
  const restart = parseOptions("restart", raw.restart, ["minMs", "maxMs"]);
  const duration = { min: 0, max: LIMITS.durationMs };
  const beatMs = parseNumber("beatMs", raw.beatMs, { min: 10, max: 60_000, fallback: 1_000 });
  return {
    href: configHref(raw.config),
    processes: parseNumber("processes", raw.processes, { min: 1, max: MAX_PROCESSES, fallback: 1 }),
    store: parseText("store", raw.store),
    fallbackStore: parseText("fallbackStore", raw.fallbackStore),
    maxRestarts: parseNumber("maxRestarts", raw.maxRestarts, { min: 0, max: 1_000, fallback: RESTART.maxRestarts }),
    withinMs: parseNumber("withinMs", raw.withinMs, { ...duration, min: 1, fallback: RESTART.withinMs }),
    minMs: parseNumber("restart.minMs", restart.minMs, { ...duration, fallback: RESTART.minMs }),
    maxMs: parseNumber("restart.maxMs", restart.maxMs, { ...duration, fallback: RESTART.maxMs }),
    beatMs,
    hangMs: parseNumber("hangMs", raw.hangMs, {
      min: 2 * beatMs,
      max: LIMITS.durationMs,
      fallback: Math.max(10_000, 2 * beatMs),
    }),
    startMs: parseNumber("startMs", raw.startMs, { ...duration, min: 1, fallback: 60_000 }),
    stopTimeoutMs: raw.stopTimeoutMs === undefined ? null : parseNumber("stopTimeoutMs", raw.stopTimeoutMs, duration),
    onLine: parseListener(raw.onLine),
  };
};

const parseListener = (value: unknown): ((line: LogLine) => void) => {
  if (value === undefined) return printLine;
  if (typeof value === "function") return value as (line: LogLine) => void; // what it takes is the caller's promise
  throw new RheoError("invalid_option", "onLine is a function that takes { child, pid, stream, text }.", { path: "onLine" });
};
