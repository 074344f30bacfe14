/**
 * Events of a stream, newest first. A filter may match nothing in a stream of any length, so each page looks through so much and no
 * more, and says where it got to.
 */
import { type Event, type Filter, type Query, RheoError, type StreamInfo } from "@rheo/core";
import { type EventLine, eventLine } from "./event-text.ts";
import type { Params } from "./params.ts";
import type { Sources, View } from "./view.ts";
import { filterOf } from "./where.ts";

export interface SearchView {
  readonly stream: string;
  readonly events: readonly EventLine[];
  /** To look further; null when everything was looked through. */
  readonly next: string | null;
  /** Events looked through so far, this page and those before. */
  readonly examined: number;
  /** Events there are within the bounds of partition. */
  readonly total: number;
}

const PAGE = 50;
/** Events of a partition that are looked through in one step: few at first, more while few of them match. */
const STEP_FIRST = 256;
const STEP_MOST = 16_384;
/** How long one page looks, in ms. */
const MOST_MS = 600;

/** By partition, the last sequence that was not looked at yet. */
type Positions = ReadonlyMap<number, number>;

export const search: View = {
  everyMs: 5_000,
  isHeavy: true,
  prepare: (params: Params, sources: Sources) => {
    const stream = params.required("stream");
    const where = filterOf(params);
    const partition = params.number("partition", { min: 0, max: 1_023 });
    const from = params.date("from");
    const to = params.date("to");
    const cursor = parseCursor(params.json("cursor"));
    const query = { ...(where === null ? {} : { where }), ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) };
    return () => lookBack(sources, stream, partition, query, cursor);
  },
};

const lookBack = async (
  { rheo, clock }: Sources,
  stream: string,
  partition: number | null,
  query: { readonly where?: Filter; readonly from?: Date; readonly to?: Date },
  cursor: Positions | null,
): Promise<SearchView> => {
  const endMs = clock.monotonic() + MOST_MS;
  const info = await rheo.streamInfo(stream);
  const parts = partition === null ? info.partitions : info.partitions.filter((part) => part.partition === partition);
  let positions: Positions = new Map(parts.map((part) => [part.partition, startOf(part, cursor)]));
  const found: Event[] = [];
  for (let step = STEP_FIRST; found.length < PAGE && clock.monotonic() < endMs; step = Math.min(STEP_MOST, step * 4)) {
    const floors = new Map(parts.map((part) => [part.partition, floorOf(part, positions, step)]));
    const wanted = PAGE - found.length;
    const bounds = boundsOf(info, floors, positions);
    const events = await rheo.query(stream, {
      ...query,
      ...bounds,
      ...(partition === null ? {} : { partition }),
      order: "desc",
      limit: wanted,
    });
    found.push(...events);
    positions = events.length === wanted ? passedBy(events, positions) : floors;
    if (isThrough(parts, positions)) break;
  }
  const left = parts.reduce((sum, part) => sum + (positions.get(part.partition) ?? 0) - (part.firstSequence - 1), 0);
  const total = parts.reduce((sum, part) => sum + part.events, 0);
  return {
    stream,
    events: found.map(eventLine),
    next:
      left <= 0
        ? null
        : JSON.stringify([...positions].filter(([part, sequence]) => sequence >= (info.partitions[part]?.firstSequence ?? 1))),
    examined: total - Math.max(0, left),
    total,
  };
};

type Part = StreamInfo["partitions"][number];

/** Without a word of it in the cursor, the partition was looked through. */
const startOf = ({ partition, firstSequence, highWatermark }: Part, cursor: Positions | null): number =>
  cursor === null ? highWatermark : Math.max(firstSequence - 1, Math.min(highWatermark, cursor.get(partition) ?? 0));

const floorOf = ({ partition, firstSequence }: Part, positions: Positions, step: number): number =>
  Math.max(firstSequence - 1, (positions.get(partition) ?? 0) - step);

const boundsOf = (info: StreamInfo, floors: Positions, positions: Positions): Pick<Query, "afterSequence" | "untilSequence"> => {
  const all = (of: Positions): Record<number, number> =>
    Object.fromEntries(info.partitions.map(({ partition }) => [partition, of.get(partition) ?? 0]));
  return { afterSequence: all(floors), untilSequence: all(positions) };
};

/** Where a page that was filled before the step was through left off. */
const passedBy = (events: readonly Event[], positions: Positions): Positions => {
  const passed = new Map(positions);
  for (const { partition, sequence } of events) passed.set(partition, Math.min(passed.get(partition) ?? sequence, sequence - 1));
  return passed;
};

const isThrough = (parts: readonly Part[], positions: Positions): boolean =>
  parts.every(({ partition, firstSequence }) => (positions.get(partition) ?? 0) < firstSequence);

/** @throws invalid_option */
const parseCursor = (value: unknown): Positions | null => {
  if (value === null) return null;
  const isEntry = (entry: unknown): entry is [number, number] =>
    Array.isArray(entry) && entry.length === 2 && entry.every((number) => Number.isSafeInteger(number) && number >= 0);
  if (Array.isArray(value) && value.every(isEntry)) return new Map(value);
  throw new RheoError("invalid_option", "cursor: not one that a search gave.", { path: "cursor" });
};
