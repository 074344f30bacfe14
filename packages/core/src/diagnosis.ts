/** What may be wrong around a store, each with what to do about it: `rheo.diagnose()`, and what backends share for their part of it. */
import type { Backend } from "./backend.ts";
import type { Clock } from "./clock.ts";
import { RheoError } from "./errors.ts";

/** One thing that was looked at. */
export interface Diagnosis {
  /** What was looked at, in a few words, such as "clock". The same on every call. */
  readonly check: string;
  /** "warn": it works, but not as well or as safely as it should. "fail": it does not work, or loses what was promised to be kept. */
  readonly status: "ok" | "warn" | "fail";
  /** What was found. */
  readonly message: string;
  /** What to do; null when there is nothing to do. */
  readonly fix: string | null;
}

/** Pings, of which the median counts: the first may have to connect. */
const PINGS = 5;
/** Beyond this a fetch and its settle alone take half a second, in ms. */
const SLOW_MS = 250;
/** Clocks that are kept by NTP differ by far less, in ms. */
const SKEW_MS = 1_000;
const OLDEST_NODE = [20, 19] as const;

/** The connection and this process, then what the store says of itself. Reads only (P4). @throws what the store's part throws */
export const diagnose = async (backend: Backend, clock: Clock, nodeVersion: string): Promise<readonly Diagnosis[]> => [
  nodeDiagnosis(nodeVersion),
  await connectionDiagnosis(backend, clock),
  ...((await backend.diagnose?.()) ?? []),
];

export const fine = (check: string, message: string): Diagnosis => ({ check, status: "ok", message, fix: null });
export const warning = (check: string, message: string, fix: string): Diagnosis => ({ check, status: "warn", message, fix });
export const failure = (check: string, message: string, fix: string): Diagnosis => ({ check, status: "fail", message, fix });

const nodeDiagnosis = (version: string): Diagnosis => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldest, oldestMinor] = OLDEST_NODE;
  if (major > oldest || (major === oldest && minor >= oldestMinor)) return fine("node", `Node ${version}`);
  return failure("node", `Node ${version} is too old`, `Use Node ${OLDEST_NODE.join(".")} or newer.`);
};

const connectionDiagnosis = async (backend: Backend, clock: Clock): Promise<Diagnosis> => {
  const times: number[] = [];
  try {
    for (let n = 0; n < PINGS; n++) {
      const sentAtMs = clock.monotonic();
      await backend.ping();
      times.push(clock.monotonic() - sentAtMs);
    }
  } catch (error) {
    if (!RheoError.is(error, "unavailable")) throw error;
    return failure("connection", error.message, "See that the store runs and can be reached from here.");
  }
  const median = times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
  const told = `${backend.name} answers in ${median.toFixed(1)} ms`;
  if (median <= SLOW_MS) return fine("connection", told);
  return warning("connection", told, "Run consumers nearer to the store, or see what keeps it busy.");
};

/**
 * How far this host's clock is from the store's, which was read between two moments of this host's, all in ms since the epoch. Leases do
 * not mind (F6), but times that producers and people give do.
 */
export const clockDiagnosis = (storeMs: number, beforeMs: number, afterMs: number): Diagnosis => {
  const skewMs = Math.round(storeMs - (beforeMs + afterMs) / 2);
  const doubtMs = (afterMs - beforeMs) / 2;
  if (Math.abs(skewMs) - doubtMs <= SKEW_MS) return fine("clock", `the store's clock differs by ${Math.abs(skewMs)} ms`);
  const direction = skewMs > 0 ? "ahead of" : "behind";
  return warning(
    "clock",
    `the store's clock is ${Math.abs(skewMs)} ms ${direction} this host's`,
    "Keep both by NTP (chrony, systemd-timesyncd): leases do not mind, but timestamps, --from and delays that you compute do.",
  );
};
