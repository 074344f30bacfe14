/**
 * Reading the log: each partition in sequence order, partitions merged by timestamp. A position per partition is all the state
 * there is, so that pages neither skip nor repeat, whatever is appended meanwhile.
 */
import type { Backend } from "./backend.ts";
import { type Event, type EventRecord, toEvent } from "./event.ts";
import type { Matcher } from "./filter.ts";
import { LIMITS } from "./limits.ts";
import { decodeCursor, type EventQuery, encodeCursor, queryMatcher } from "./query.ts";

/** Events read from a partition at a time. */
const PAGE = 256;

/** A page of matches and where the next begins; null when nothing more matched. */
export interface Page {
  readonly events: Event[];
  readonly nextCursor: string | null;
}

/** Reads one page from `cursor` on. */
export const readPage = async (backend: Backend, stream: string, query: EventQuery, cursor?: unknown): Promise<Page> => {
  const lanes = await openLanes(
    backend,
    stream,
    query,
    cursor === undefined || cursor === null ? null : decodeCursor(stream, query, cursor),
  );
  const events = await takeMerged(lanes, stream, query);
  const more = lanes.some((lane) => lane.head !== null);
  return { events, nextCursor: more ? encodeCursor(stream, query, positionsOf(lanes, query)) : null };
};

/** Where a reader that has taken everything up to now stands, for `tail`. */
export const readOn = async (
  backend: Backend,
  stream: string,
  query: EventQuery,
  positions: readonly (number | null)[] | null,
): Promise<{ events: Event[]; positions: (number | null)[]; more: boolean }> => {
  const lanes = await openLanes(backend, stream, query, positions);
  const events = await takeMerged(lanes, stream, query);
  return { events, positions: positionsOf(lanes, query), more: lanes.some((lane) => lane.head !== null) };
};

const openLanes = async (
  backend: Backend,
  stream: string,
  query: EventQuery,
  positions: readonly (number | null)[] | null,
): Promise<Lane[]> => {
  const matches = queryMatcher(query);
  const ends = query.order === "desc" && positions === null ? await backend.watermarks(stream) : null;
  const lanes = query.partitions.map((partition) => {
    const end = ends === null ? null : (ends[partition]?.highWatermark ?? 0) + 1;
    return new Lane(backend, stream, query, partition, positions?.[partition] ?? end, matches);
  });
  await Promise.all(lanes.map((lane) => lane.advance()));
  return lanes;
};

const takeMerged = async (lanes: readonly Lane[], stream: string, query: EventQuery): Promise<Event[]> => {
  const events: Event[] = [];
  while (events.length < query.limit) {
    const next = pickNext(lanes, query.order);
    if (next?.head == null) break;
    events.push(toEvent(stream, next.head));
    await next.advance();
  }
  return events;
};

const pickNext = (lanes: readonly Lane[], order: "asc" | "desc"): Lane | null => {
  let best: Lane | null = null;
  for (const lane of lanes) {
    if (lane.head === null) continue;
    if (best?.head == null) best = lane;
    else if (order === "asc" ? lane.head.timestampMs < best.head.timestampMs : lane.head.timestampMs > best.head.timestampMs)
      best = lane;
  }
  return best;
};

const positionsOf = (lanes: readonly Lane[], query: EventQuery): (number | null)[] => {
  const positions = new Array<number | null>(query.after.length).fill(null);
  for (const lane of lanes) positions[lane.partition] = lane.position;
  return positions;
};

/** One partition being read. */
class Lane {
  readonly partition: number;
  /** The next match, or null at the end. */
  head: EventRecord | null = null;
  readonly #backend: Backend;
  readonly #stream: string;
  readonly #query: EventQuery;
  readonly #matches: Matcher;
  #buffer: readonly EventRecord[] = [];
  #index = 0;
  /** Ascending: the last sequence passed. Descending: the lowest one passed. Null: none yet. */
  #passed: number | null;
  #ended = false;

  constructor(backend: Backend, stream: string, query: EventQuery, partition: number, position: number | null, matches: Matcher) {
    this.partition = partition;
    this.#backend = backend;
    this.#stream = stream;
    this.#query = query;
    this.#matches = matches;
    this.#passed = position;
  }

  /** Where a later read goes on. */
  get position(): number | null {
    return this.#passed;
  }

  /** Passes the head and finds the next match. */
  async advance(): Promise<void> {
    if (this.head !== null) this.#passed = this.head.sequence;
    this.head = null;
    while (this.head === null && !this.#ended) {
      const record = this.#buffer[this.#index++];
      if (record === undefined) await this.#fill();
      else if (this.#matches(this.#stream, record)) this.head = record;
      else this.#passed = record.sequence;
    }
  }

  async #fill(): Promise<void> {
    const { order } = this.#query;
    const limit = Math.min(PAGE, this.#query.filter === null ? this.#query.limit + 1 : PAGE);
    const after = this.#query.after[this.partition] ?? 0;
    const until = this.#query.until[this.partition] ?? Number.MAX_SAFE_INTEGER;
    const bounds =
      order === "asc"
        ? { after: Math.max(after, this.#passed ?? 0), until }
        : { after, until: this.#passed === null ? until : Math.min(until, this.#passed - 1) };
    if (bounds.until <= bounds.after) {
      this.#ended = true;
      return;
    }
    this.#buffer = await this.#backend.read({
      stream: this.#stream,
      partition: this.partition,
      ...bounds,
      order,
      limit,
      maxBytes: LIMITS.fetchBytes,
    });
    this.#index = 0;
    this.#ended = this.#buffer.length === 0;
  }
}
