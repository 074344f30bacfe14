/**
 * A backend with a bad network: answers are lost after the write, calls are refused before it, or take long. What happens is
 * decided by a seed, or call by call with `failNext`.
 */
import { type Backend, type Clock, RheoError, systemClock } from "@rheo/core";
import { parseNumber, parseOptions } from "@rheo/core/internal";
import { overlay } from "./overlay.ts";
import { seeded } from "./random.ts";

/** Which calls of a backend fail, how often and how. */
export interface FlakyOptions {
  /** A whole number; the same seed and the same calls give the same faults. */
  readonly seed: number;
  /** Share of writes whose answer is lost after it was applied (`outcome_unknown`, F7), 0–1; default 0. */
  readonly lose?: number;
  /** Share of calls refused with nothing applied (`unavailable`), 0–1; default 0. */
  readonly refuse?: number;
  /** Share of calls that are delayed, before and after, 0–1; default 0. */
  readonly delay?: number;
  /** The longest delay in ms of the store's clock (F6); default 50. */
  readonly maxDelayMs?: number;
}

/** `lost`: applied, then `outcome_unknown`. `refused`: not applied, `unavailable`. `fine`: nothing goes wrong. */
export type Fault = "lost" | "refused" | "fine";

/** A backend that fails on request. */
export interface Flaky extends Backend {
  /** Decides the next calls of a method, one each, before the seed does. */
  failNext(method: FlakyMethod, ...faults: Fault[]): void;
  /** From now on nothing fails by chance. */
  calm(): void;
  /** How often each fault was injected. */
  readonly injected: Readonly<Record<"lost" | "refused" | "delayed", number>>;
}

const WRITES = [
  "createStream",
  "deleteStream",
  "append",
  "trim",
  "createGroup",
  "updateGroup",
  "deleteGroup",
  "exchange",
  "renew",
  "replay",
  "reset",
  "redrive",
  "createIndex",
  "dropIndex",
] as const;
const READS = [
  "ping",
  "getStream",
  "listStreams",
  "watermarks",
  "read",
  "readIds",
  "search",
  "listIndexes",
  "getGroup",
  "listGroups",
  "progress",
  "groupStats",
  "holders",
  "leases",
  "deadLetters",
  "delivery",
] as const;

/** A call of a backend that can be made to fail. */
export type FlakyMethod = (typeof WRITES)[number] | (typeof READS)[number];

type Call = (...args: readonly unknown[]) => Promise<unknown>;

const DEFAULT_MAX_DELAY_MS = 50;

/** @throws invalid_option */
export const flaky = (backend: Backend, options: FlakyOptions): Flaky => {
  const raw = parseOptions("flaky", options, ["seed", "lose", "refuse", "delay", "maxDelayMs"]);
  const share = (name: "lose" | "refuse" | "delay"): number =>
    parseNumber(name, raw[name], { min: 0, max: 1, fallback: 0, integer: false });
  const rates = { lose: share("lose"), refuse: share("refuse"), delay: share("delay") };
  const random = seeded(parseNumber("seed", raw.seed, { min: 0, max: Number.MAX_SAFE_INTEGER }));
  const maxDelayMs = parseNumber("maxDelayMs", raw.maxDelayMs, { min: 0, max: 2 ** 31 - 1, fallback: DEFAULT_MAX_DELAY_MS });
  const planned = new Map<string, Fault[]>();
  const injected = { lost: 0, refused: 0, delayed: 0 };
  let clock: Clock = systemClock;
  let isCalm = false;

  const decide = (method: string, isWrite: boolean): Fault => {
    const [next] = planned.get(method)?.splice(0, 1) ?? [];
    if (next !== undefined) return next;
    if (isCalm) return "fine";
    const drawn = random.next();
    if (drawn < rates.refuse) return "refused";
    return isWrite && drawn < rates.refuse + rates.lose ? "lost" : "fine";
  };
  const pause = async (): Promise<void> => {
    if (isCalm || !random.chance(rates.delay)) return;
    injected.delayed += 1;
    const delayMs = random.below(maxDelayMs + 1);
    await new Promise<void>((resolve) => void clock.schedule(delayMs, resolve));
  };
  const unreliable = (method: FlakyMethod, isWrite: boolean): Call => {
    const call = Reflect.get(backend, method) as Call; // every name in WRITES and READS is a method of the port
    return async (...args) => {
      const fault = decide(method, isWrite);
      await pause();
      if (fault === "refused") {
        injected.refused += 1;
        throw new RheoError(
          "unavailable",
          `${method} was refused by the flaky backend. Nothing was applied.`,
          {},
          { cause: new Error("connection refused") },
        );
      }
      const answer = await call.apply(backend, [...args]);
      await pause();
      if (fault === "fine") return answer;
      injected.lost += 1;
      throw new RheoError(
        "outcome_unknown",
        `The answer to ${method} was lost by the flaky backend. It may have been applied.`,
        {},
        { cause: new Error("connection reset") },
      );
    };
  };

  const changes: Record<string, unknown> = {
    open: async (context: Parameters<Backend["open"]>[0]) => {
      clock = context.clock ?? systemClock;
      await backend.open(context);
    },
    failNext: (method: FlakyMethod, ...faults: Fault[]) => void planned.set(method, [...(planned.get(method) ?? []), ...faults]),
    calm: () => {
      isCalm = true;
    },
    injected,
  };
  const has = (method: FlakyMethod): boolean => Reflect.get(backend, method) !== undefined;
  for (const method of WRITES) if (has(method)) changes[method] = unreliable(method, true);
  for (const method of READS) if (has(method)) changes[method] = unreliable(method, false);
  return overlay(backend, changes as Partial<Backend>) as Flaky; // the members added above are those of Flaky
};
