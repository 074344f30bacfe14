/** Formulas of the sizing guide, each beside a measurement that it was not made of. */
import type { Parameters, Unit } from "../question.ts";
import { show } from "../report.ts";
import type { Result } from "../results/kept.ts";
import { medianOf, type Wanted } from "./pick.ts";
import { tableOf } from "./table.ts";

interface Check {
  readonly what: string;
  readonly unit: Unit;
  /** The only store that it holds for. Absent: every one. */
  readonly only?: string;
  readonly predicted: (at: Reader) => number | null;
  readonly measured: (at: Reader) => number | null;
}

/** Reads results of one system. */
type Reader = (question: string, parameters?: Parameters) => number | null;

/** Of a cost that has a fixed part for each call and a part for each unit, known at two sizes, the cost at a third. */
export const between = (first: readonly [number, number], last: readonly [number, number], at: number): number => {
  const slope = (last[1] - first[1]) / (last[0] - first[0]);
  return first[1] + slope * (at - first[0]);
};

/** Seconds of a call of `size` events, of a rate of events per second. */
const perCall = (rate: number | null, size: number): number | null => (rate === null ? null : size / rate);

const PLAIN: Parameters = { bytes: 300, partitions: 1, processes: 1 };

const append = (read: Reader, size: number): number | null => read("append", { "per call": size, callers: 1 });
const drainOf = (read: Reader, bytes: number): number | null => read("drain inline", { ...PLAIN, bytes });
const groups = (read: Reader, count: number): number | null => read("deliveries to groups of one stream", { groups: count });
const idleCalls = (read: Reader, count: number): number | null =>
  read("calls at the store when idle", { groups: count, partitions: 1 });

const predictAppend = (read: Reader, size: number): number | null => {
  const [one, many] = [perCall(append(read, 1), 1), perCall(append(read, 1_000), 1_000)];
  return one === null || many === null ? null : size / between([1, one], [1_000, many], size);
};

const predictDrain = (read: Reader): number | null => {
  const [small, large] = [perCall(drainOf(read, 300), 1), perCall(drainOf(read, 65_536), 1)];
  return small === null || large === null ? null : 1 / between([300, small], [65_536, large], 4_096);
};

/** As the runtime's question has them. */
const HANDLERS = 64;
const WAIT_MS = 5;

const CHECKS: readonly Check[] = [
  {
    what: "append, 10 per call, from 1 and 1,000",
    unit: "events/s",
    predicted: (read) => predictAppend(read, 10),
    measured: (read) => append(read, 10),
  },
  {
    what: "append, 100 per call, from 1 and 1,000",
    unit: "events/s",
    predicted: (read) => predictAppend(read, 100),
    measured: (read) => append(read, 100),
  },
  {
    what: "drain of 4 KB events, from 300 B and 64 KB",
    unit: "events/s",
    predicted: predictDrain,
    measured: (read) => drainOf(read, 4_096),
  },
  {
    what: "16 partitions: as 1",
    unit: "events/s",
    predicted: (read) => drainOf(read, 300),
    measured: (read) => read("drain inline", { bytes: 300, partitions: 16, processes: 1 }),
  },
  {
    what: "2 processes on 4 partitions: twice 1",
    unit: "events/s",
    predicted: (read) => twice(read("drain inline", { bytes: 300, partitions: 4, processes: 1 })),
    measured: (read) => read("drain inline", { bytes: 300, partitions: 4, processes: 2 }),
  },
  {
    what: "handlers that wait 5 ms, 64 at a time: 64 × 1,000 / 5",
    unit: "events/s",
    predicted: () => (HANDLERS * 1_000) / WAIT_MS,
    measured: (read) => read("runtime, inline: waits 5 ms"),
  },
  {
    what: "10 groups: deliveries as of 1",
    unit: "events/s",
    predicted: (read) => groups(read, 1),
    measured: (read) => groups(read, 10),
  },
  {
    what: "100 groups: deliveries as of 1",
    unit: "events/s",
    predicted: (read) => groups(read, 1),
    measured: (read) => groups(read, 100),
  },
  {
    what: "a long history: drain as without",
    unit: "events/s",
    predicted: (read) => read("drain inline after a history", { history: 0 }),
    measured: (read) => longHistory(read),
  },
  {
    what: "100 idle groups: calls as of 1, times 100",
    unit: "calls/s",
    only: "Redis",
    predicted: (read) => timesGroups(read),
    measured: (read) => idleCalls(read, MANY_GROUPS),
  },
  {
    what: "100 idle groups: 4 polls a second in all",
    unit: "calls/s",
    only: "PostgreSQL",
    predicted: () => POLLS_PER_S,
    measured: (read) => idleCalls(read, MANY_GROUPS),
  },
];

/** Of the longest that was measured. */
const longHistory = (read: Reader): number | null => read("drain inline after a history", {});

const twice = (value: number | null): number | null => (value === null ? null : 2 * value);

const timesGroups = (read: Reader): number | null => {
  const one = idleCalls(read, 1);
  return one === null ? null : one * MANY_GROUPS;
};

const MANY_GROUPS = 100;
/** Instants that the groups of a process share. */
const POLLS_PER_S = 4;

const SYSTEMS: readonly (readonly [name: string, wanted: Omit<Wanted, "question">])[] = [
  ["memory", { system: "memory" }],
  ["SQLite NORMAL", { system: "sqlite", settings: "normal" }],
  ["LMDB relaxed", { system: "lmdb", settings: "relaxed" }],
  ["PostgreSQL", { system: "postgres" }],
  ["Redis", { system: "redis" }],
];

/** A question that names no history means the longest. */
const longestFirst = (results: readonly Result[]): readonly Result[] =>
  results.toSorted((a, b) => Number(b.parameters.history ?? 0) - Number(a.parameters.history ?? 0));

/** Null where nothing of it was measured. */
export const checksTable = (results: readonly Result[]): string | null => {
  const rows = CHECKS.flatMap(({ what, unit, only, predicted, measured }) =>
    SYSTEMS.flatMap(([name, wanted]) => {
      if (only !== undefined && name !== only) return [];
      const read: Reader = (question, parameters = {}) => medianOf(longestFirst(results), { ...wanted, question, parameters });
      const [expected, found] = [predicted(read), measured(read)];
      if (expected === null || found === null) return [];
      return [[what, name, `${show(expected, unit)}`, `${show(found, unit)}`, unit, (found / expected).toFixed(2)]];
    }),
  );
  return rows.length === 0 ? null : tableOf(["formula", "store", "says", "measured", "unit", "measured / says"], rows, 1);
};
