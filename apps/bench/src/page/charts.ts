/** Which charts there are, and of which results each is made. */
import type { Parameters } from "../question.ts";
import { show } from "../report.ts";
import type { Result } from "../results/kept.ts";
import { median } from "../results/statistics.ts";
import { type Bar, drawBars, drawLines, type Line } from "./draw.ts";
import { pick, roleOf, type Wanted } from "./pick.ts";

export interface Chart {
  /** Of its file, without `.svg`. */
  readonly name: string;
  readonly alt: string;
  /** Null where nothing of it was measured. */
  readonly draw: (results: readonly Result[]) => string | null;
}

const PLAIN: Parameters = { bytes: 300, partitions: 1, processes: 1 };
const BARE: Parameters = { bytes: 300, "per batch": 1_000 };

/** What is drawn of whom: a bar for each result that fits, named by its question where there are several. */
type Row = Wanted & { readonly as?: string };

const barsOf = (results: readonly Result[], rows: readonly Row[]): readonly Bar[] =>
  rows.flatMap((row) =>
    pick(results, row).map((result): Bar => {
      const value = median(result.values);
      const label = [nameOf(result), row.as].filter((part) => part !== undefined).join(", ");
      return { label, value, text: show(value, result.unit), role: roleOf(result) };
    }),
  );

/** With the setting that tells it from its sibling, where it has one. */
const nameOf = ({ system, settings }: Result): string => {
  const setting = /(?:synchronous|durability)=(\w+)/.exec(settings)?.[1];
  return setting === undefined ? system.replace(/ by @nats-io.*/, "") : `${system} ${setting}`;
};

const barChart = (name: string, title: string, unit: string, rows: readonly Row[], isLog = false): Chart => ({
  name,
  alt: title,
  draw: (results) => {
    const bars = barsOf(results, rows);
    return bars.length === 0 ? null : drawBars(title, unit, bars, isLog);
  },
});

/** A line per system along a parameter. */
const lineChart = (name: string, title: string, unit: string, along: string, rows: readonly Row[], isLog = false): Chart => ({
  name,
  alt: title,
  draw: (results) => {
    const lines = rows.flatMap((row) => linesOf(pick(results, row), along, row.as));
    const known = lines.filter(({ points }) => points.length > 1);
    return known.length === 0 ? null : drawLines(title, unit, along, known, isLog);
  },
});

const linesOf = (found: readonly Result[], along: string, as: string | undefined): readonly Line[] => {
  const lines = new Map<string, [number, number][]>();
  for (const result of found) {
    const name = [nameOf(result), as].filter((part) => part !== undefined).join(", ");
    lines.set(name, [...(lines.get(name) ?? []), [Number(result.parameters[along]), median(result.values)]]);
  }
  return [...lines].map(([name, points]) => ({ name, points: points.sort(([a], [b]) => a - b) }));
};

const INLINE: Wanted = { question: "drain inline", parameters: PLAIN };
const THREADS: Row = { question: "drain through 2 threads", parameters: PLAIN, as: "2 threads" };
const READ: Row = { question: "bare read+cursor", parameters: BARE, as: "bare read and cursor" };
const PEERS = {
  postgres: ["graphile", "pg-boss", "bullmq on PostgreSQL", "NATS"],
  redis: ["bullmq on Redis", "XREADGROUP", "NATS"],
} as const;
const ofPeers = (store: keyof typeof PEERS, row: Wanted): readonly Row[] => PEERS[store].map((system) => ({ ...row, system }));
const STORES = ["memory", "sqlite", "lmdb", "postgres", "redis"];
const ofStores = (row: Row, stores: readonly string[] = STORES): readonly Row[] => stores.map((system) => ({ ...row, system }));
const EMBEDDED = ["memory", "sqlite", "lmdb"];

const drainChart = (store: keyof typeof PEERS, title: string): Chart =>
  barChart(`drain-${store}`, `Drain a backlog, ${title}`, "events/s", [
    ...ofStores({ ...INLINE, as: "inline" }, [store]),
    ...ofStores(THREADS, [store]),
    ...ofStores(READ, [store]),
    ...ofPeers(store, INLINE),
  ]);

const appendChart = (store: keyof typeof PEERS, title: string): Chart => {
  const row: Row = { question: "append", parameters: { callers: 1 } };
  const rows = [...ofStores(row, [store]), ...ofPeers(store, row)];
  return lineChart(`append-${store}`, `Append, one caller, ${title}`, "events/s", "per call", rows, true);
};

const IDLE = "append → handler idle, p50";
const ELSEWHERE = "append → handler idle, from another instance, p50";
const LOADED = "append → handler loaded";

export const CHARTS: readonly Chart[] = [
  drainChart("postgres", "PostgreSQL and beside it"),
  drainChart("redis", "Redis and beside it"),
  barChart("drain-embedded", "Drain a backlog, in the process", "events/s", [
    ...ofStores({ ...INLINE, as: "inline" }, EMBEDDED),
    ...ofStores(THREADS, EMBEDDED),
    ...ofStores(READ, EMBEDDED),
  ]),
  appendChart("postgres", "PostgreSQL and beside it"),
  appendChart("redis", "Redis and beside it"),
  lineChart(
    "append-embedded",
    "Append, one caller, in the process",
    "events/s",
    "per call",
    ofStores({ question: "append", parameters: { callers: 1 } }, EMBEDDED),
    true,
  ),
  barChart(
    "latency-idle",
    "From append to handler when idle, median",
    "ms",
    [
      ...ofStores({ question: IDLE }),
      ...ofStores({ question: ELSEWHERE, as: "from another instance" }, ["postgres", "redis"]),
      ...ofPeers("postgres", { question: IDLE }),
      ...ofPeers("redis", { question: IDLE }).slice(0, 2),
    ],
    true,
  ),
  barChart(
    "latency-loaded",
    "From append to handler under load",
    "ms",
    ["20 %", "80 %"].flatMap((load) =>
      ["p50", "p99"].flatMap((share) =>
        ofStores({ question: `${LOADED}, ${share}`, parameters: { load }, as: `${load} load, ${share}` }),
      ),
    ),
    true,
  ),
  lineChart(
    "drain-bytes",
    "Drain inline by size of events",
    "events/s",
    "bytes",
    ofStores({ question: "drain inline", parameters: { partitions: 1, processes: 1 } }),
    true,
  ),
  lineChart(
    "drain-partitions",
    "Drain inline by partitions, one process",
    "events/s",
    "partitions",
    ofStores({ question: "drain inline", parameters: { bytes: 300, processes: 1 } }),
    true,
  ),
  lineChart(
    "drain-processes",
    "Drain inline by processes, 4 partitions",
    "events/s",
    "processes",
    ofStores({ question: "drain inline", parameters: { bytes: 300, partitions: 4 } }),
    true,
  ),
  lineChart(
    "groups",
    "Deliveries by groups on one stream",
    "deliveries/s",
    "groups",
    ofStores({ question: "deliveries to groups of one stream" }),
    true,
  ),
];
