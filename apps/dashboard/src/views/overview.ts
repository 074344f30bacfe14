/** All streams and groups: how far behind, who works, what is dead. */
import type { Problem } from "../http/problem.ts";
import type { GroupSample, Snapshot, StreamSample } from "../sampling/samples.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";

/** Figures are null until the group was looked at. */
export interface GroupRow {
  readonly stream: string;
  readonly group: string;
  readonly state: GroupState | null;
  readonly lag: number | null;
  readonly inflight: number | null;
  readonly retrying: number | null;
  readonly deadLetters: number | null;
  readonly members: number | null;
  readonly settledPerSecond: number | null;
  readonly oldestUnsettledAtMs: number | null;
  /** Lag of late, oldest first. */
  readonly trend: readonly number[];
}

/** `unattended`: there is lag, and no member. `waiting`: there is lag, and nothing is held. */
export type GroupState = "paused" | "caught_up" | "working" | "retrying" | "waiting" | "unattended";

export interface StreamRow {
  readonly name: string;
  readonly partitions: number;
  readonly events: number;
  readonly groups: number;
  readonly appendedPerSecond: number | null;
}

export interface Overview {
  readonly totals: {
    readonly streams: number;
    readonly groups: number;
    readonly events: number;
    readonly lag: number;
    readonly inflight: number;
    readonly retrying: number;
    readonly deadLetters: number;
    readonly appendedPerSecond: number;
  };
  readonly groups: readonly GroupRow[];
  /** How many groups have the text searched for in their name or their stream's. */
  readonly matchingGroups: number;
  readonly streams: readonly StreamRow[];
  readonly matchingStreams: number;
  /** There are more streams or groups in the store than are looked at. */
  readonly isPartial: boolean;
  /** Why the figures are not the latest. */
  readonly problem: Problem | null;
}

const COLUMNS = ["name", "lag", "inflight", "retrying", "deadLetters", "settledPerSecond", "oldestUnsettledAtMs"] as const;
type Column = (typeof COLUMNS)[number];

/** Rows of one page, of groups and of streams. */
const PAGE = 50;
/** Points of a sparkline. */
const TREND = 40;

export const overview: View = {
  everyMs: 1_000,
  isHeavy: false,
  prepare: (params: Params, { sampler }: Sources) => {
    const search = params.text("search")?.toLowerCase() ?? "";
    const sort = params.choice("sort", COLUMNS, "lag");
    const order = params.choice("order", ["asc", "desc"], sort === "name" ? "asc" : "desc");
    const page = params.number("page", { min: 1, max: 1_000 }) ?? 1;
    return async () => describe(await sampler.read(), { search, sort, isDescending: order === "desc", page });
  },
};

interface Wanted {
  readonly search: string;
  readonly sort: Column;
  readonly isDescending: boolean;
  readonly page: number;
}

const describe = ({ streams, groups, problem, isPartial }: Snapshot, { search, sort, isDescending, page }: Wanted): Overview => {
  const rows = groups.map(groupRow);
  const counts = new Map<string, number>();
  for (const { stream } of rows) counts.set(stream, (counts.get(stream) ?? 0) + 1);
  const matching = rows.filter(({ stream, group }) => `${stream}/${group}`.toLowerCase().includes(search));
  const streamRows = streams.map((sample) => streamRow(sample, counts.get(sample.info.name) ?? 0));
  const matchingStreams = streamRows.filter(({ name }) => name.toLowerCase().includes(search));
  const shown = <Row>(all: readonly Row[]): readonly Row[] => all.slice((page - 1) * PAGE, page * PAGE);
  return {
    totals: {
      streams: streams.length,
      groups: groups.length,
      events: total(streamRows, "events"),
      lag: total(rows, "lag"),
      inflight: total(rows, "inflight"),
      retrying: total(rows, "retrying"),
      deadLetters: total(rows, "deadLetters"),
      appendedPerSecond: Math.round(total(streamRows, "appendedPerSecond") * 10) / 10,
    },
    groups: shown(matching.sort(compareBy(sort, isDescending))),
    matchingGroups: matching.length,
    streams: shown(matchingStreams),
    matchingStreams: matchingStreams.length,
    isPartial,
    problem,
  };
};

export const groupRow = ({ group, info, history }: GroupSample): GroupRow => {
  const { points, latest } = history;
  return {
    stream: group.stream,
    group: group.name,
    state: info === null ? null : stateOf(info),
    lag: info?.lag ?? null,
    inflight: info?.inflight ?? null,
    retrying: info?.retrying ?? null,
    deadLetters: info?.deadLetters ?? null,
    members: info?.members.length ?? null,
    settledPerSecond: latest?.settledPerSecond ?? null,
    oldestUnsettledAtMs: info?.oldestUnsettledAt?.getTime() ?? null,
    trend: points.slice(-TREND).map(({ lag }) => lag),
  };
};

export const stateOf = (info: {
  readonly paused: boolean;
  readonly lag: number;
  readonly inflight: number;
  readonly retrying: number;
  readonly members: readonly unknown[];
}): GroupState => {
  if (info.paused) return "paused";
  if (info.lag === 0) return "caught_up";
  if (info.inflight > 0) return "working";
  if (info.members.length === 0) return "unattended";
  return info.retrying > 0 ? "retrying" : "waiting";
};

const streamRow = ({ info, appendedPerSecond }: StreamSample, groups: number): StreamRow => ({
  name: info.name,
  partitions: info.partitions.length,
  events: info.events,
  groups,
  appendedPerSecond,
});

/** What is not known comes last, whichever way; the name decides between equals. */
const compareBy =
  (column: Column, isDescending: boolean) =>
  (a: GroupRow, b: GroupRow): number => {
    const byName = a.stream.localeCompare(b.stream, "en") || a.group.localeCompare(b.group, "en");
    if (column === "name") return isDescending ? -byName : byName;
    const [x, y] = [figureOf(a, column), figureOf(b, column)];
    if (x === null || y === null) return Number(x === null) - Number(y === null) || byName;
    return (isDescending ? y - x : x - y) || byName;
  };

/** Of ages, the oldest event is the largest. */
const figureOf = (row: GroupRow, column: Exclude<Column, "name">): number | null => {
  const value = row[column];
  return column === "oldestUnsettledAtMs" && value !== null ? -value : value;
};

const total = <Name extends string>(rows: readonly Readonly<Record<Name, number | null>>[], name: Name): number =>
  rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
