/** What Rheo is to reach, and how it is read from the results. */
import type { Result } from "../results/kept.ts";
import { median } from "../results/statistics.ts";
import { medianOf, pick, roleOf, type Wanted } from "./pick.ts";

export interface Aim {
  readonly what: string;
  /** `least`: the more the better. `most`: the less the better. */
  readonly bound: { readonly least: number } | { readonly most: number };
  readonly unit: "events/s" | "ms" | "%" | "×";
  /** Null where it was not measured. */
  readonly reached: (results: readonly Result[]) => number | null;
}

const PLAIN = { bytes: 300, partitions: 1, processes: 1 };
const inline = (system: string, settings = ""): Wanted => ({ question: "drain inline", parameters: PLAIN, system, settings });
const threads = (system: string): Wanted => ({ question: "drain through 2 threads", parameters: PLAIN, system });
const bare = (system: string): Wanted => ({
  question: "bare read+cursor",
  parameters: { bytes: 300, "per batch": 1_000 },
  system,
});

const value =
  (wanted: Wanted): Aim["reached"] =>
  (results) =>
    medianOf(results, wanted);

/** The best of those that were measured. */
const best = (results: readonly Result[], wanted: readonly Wanted[]): number | null => {
  const values = wanted.flatMap((one) => pick(results, one)).map((result) => median(result.values));
  return values.length === 0 ? null : Math.max(...values);
};

const bestOf =
  (...wanted: readonly Wanted[]): Aim["reached"] =>
  (results) =>
    best(results, wanted);

const times =
  (part: Wanted, ...whole: readonly Wanted[]): Aim["reached"] =>
  (results) => {
    const [measured, against] = [medianOf(results, part), best(results, whole)];
    return measured === null || against === null ? null : measured / against;
  };

/** The worst of all stores. */
const worst =
  (wanted: Wanted): Aim["reached"] =>
  (results) => {
    const values = pick(results, wanted).filter((result) => roleOf(result) === "rheo" && result.system !== "mongo");
    return values.length === 0 ? null : Math.max(...values.map((result) => median(result.values)));
  };

const hard = (what: string): Wanted => ({ question: `drain inline, ${what}`, system: "postgres" });
const EASY = hard("nothing in the way");
const IDLE = "append → handler idle";
const PEERS = ["graphile", "pg-boss", "bullmq on PostgreSQL"].map((system) => inline(system));

export const AIMS: readonly Aim[] = [
  {
    what: "PostgreSQL: append in bulk",
    bound: { least: 120_000 },
    unit: "events/s",
    reached: bestOf({ question: "append", system: "postgres", parameters: { "per call": 1_000 } }),
  },
  {
    what: "PostgreSQL: single appends of 64 callers",
    bound: { least: 10_000 },
    unit: "events/s",
    reached: value({ question: "append", system: "postgres", parameters: { "per call": 1, callers: 64 } }),
  },
  { what: "PostgreSQL: drain inline", bound: { least: 150_000 }, unit: "events/s", reached: value(inline("postgres")) },
  {
    what: "PostgreSQL: drain inline, beside the best job queue on it",
    bound: { least: 4 },
    unit: "×",
    reached: times(inline("postgres"), ...PEERS),
  },
  {
    what: "PostgreSQL: drain through threads, beside the best job queue inline",
    bound: { least: 2 },
    unit: "×",
    reached: times(threads("postgres"), ...PEERS),
  },
  {
    what: "PostgreSQL: drain through threads, beside graphile-worker inline",
    bound: { least: 1.5 },
    unit: "×",
    reached: times(threads("postgres"), inline("graphile")),
  },
  {
    what: "PostgreSQL: drain inline, beside JetStream with an ack for each",
    bound: { least: 2 },
    unit: "×",
    reached: times(inline("postgres"), inline("NATS")),
  },
  {
    what: "PostgreSQL: drain inline, beside the bare loop",
    bound: { least: 0.8 },
    unit: "×",
    reached: times(inline("postgres"), bare("postgres")),
  },
  {
    what: "PostgreSQL: drain of a deep backlog, beside itself",
    bound: { least: 0.9 },
    unit: "×",
    reached: times(hard("the first of a deep backlog"), EASY),
  },
  {
    what: "PostgreSQL: drain under a pinned vacuum horizon, beside itself",
    bound: { least: 0.9 },
    unit: "×",
    reached: times(hard("a transaction elsewhere stays open"), EASY),
  },
  {
    what: "Redis: drain inline, beside BullMQ",
    bound: { least: 9 },
    unit: "×",
    reached: times(inline("redis"), inline("bullmq on Redis")),
  },
  {
    what: "Redis: drain inline, beside the raw unfenced loop",
    bound: { least: 1 },
    unit: "×",
    reached: times(inline("redis"), inline("XREADGROUP")),
  },
  {
    what: "SQLite, NORMAL: drain inline",
    bound: { least: 350_000 },
    unit: "events/s",
    reached: value(inline("sqlite", "normal")),
  },
  { what: "SQLite, FULL: drain inline", bound: { least: 200_000 }, unit: "events/s", reached: value(inline("sqlite", "full")) },
  { what: "memory: drain inline", bound: { least: 1_500_000 }, unit: "events/s", reached: value(inline("memory")) },
  { what: "memory: drain through threads", bound: { least: 250_000 }, unit: "events/s", reached: value(threads("memory")) },
  {
    what: "append → handler idle, median, in the process",
    bound: { most: 0.5 },
    unit: "ms",
    reached: value({ question: `${IDLE}, p50`, system: "memory" }),
  },
  {
    what: "append → handler idle, median, over Redis",
    bound: { most: 1.2 },
    unit: "ms",
    reached: value({ question: `${IDLE}, from another instance, p50`, system: "redis" }),
  },
  {
    what: "append → handler idle, median, over PostgreSQL",
    bound: { most: 2.6 },
    unit: "ms",
    reached: value({ question: `${IDLE}, from another instance, p50`, system: "postgres" }),
  },
  {
    what: "thread death → redelivered, the slowest store",
    bound: { most: 50 },
    unit: "ms",
    reached: worst({ question: "thread death noticed → redelivered, handled, acked" }),
  },
  {
    what: "CPU of 100 idle groups, the worst store",
    bound: { most: 1 },
    unit: "%",
    reached: worst({ question: "CPU of a process when idle", parameters: { groups: 100, partitions: 1 } }),
  },
];
