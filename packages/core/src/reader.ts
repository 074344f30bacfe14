/**
 * Reading the log: each partition in sequence order, partitions merged by timestamp. A position per partition is all the state
 * there is, so that pages neither skip nor repeat, whatever is appended meanwhile.
 */
import type { Backend, Watermark } from "./backend.ts";
import { RheoError } from "./errors.ts";
import { type Event, type EventRecord, toEvent } from "./event.ts";
import type { Matcher } from "./filter.ts";
import { LIMITS } from "./limits.ts";
import { decodeCursor, type EventQuery, encodeCursor, queryMatcher } from "./query.ts";

/** Events read from a partition at a time. */
const PAGE = 256;
/** Events that a store is asked to look through in one call: few at first, more while few of them match. */
const EXAMINE_FIRST = 2_048;
const EXAMINE_MOST = 131_072;

/** A page of matches and where the next begins; null when nothing more matched. */
export interface Page {
  readonly events: Event[];
  readonly nextCursor: string | null;
}

/**
 * Reads one page from `cursor` on. Before an event that cannot be read a page ends (and the next throws), so that what is before it is had;
 * or, for who asks for no other page, it throws at once.
 */
export const readPage = async (
  backend: Backend,
  stream: string,
  query: EventQuery,
  cursor?: unknown,
  atDamage: "throw" | "stop" = "stop",
): Promise<Page> => {
  const lanes = await openLanes(
    backend,
    stream,
    query,
    cursor === undefined || cursor === null ? null : decodeCursor(stream, query, cursor),
  );
  const { events, damage } = await takeMerged(lanes, stream, query);
  if (damage !== null && atDamage === "throw") throw damage.cause;
  const more = damage !== null || lanes.some((lane) => lane.head !== null);
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
  const { events, damage } = await takeMerged(lanes, stream, query);
  return { events, positions: positionsOf(lanes, query), more: damage !== null || lanes.some((lane) => lane.head !== null) };
};

/** How many events match, counted up to `most`. */
export const countMatches = async (backend: Backend, stream: string, query: EventQuery, most: number): Promise<number> => {
  if (query.filter === null && query.fromMs === null && query.toMs === null)
    return countBounds(await backend.watermarks(stream), query);
  const matches = queryMatcher(query);
  let count = 0;
  for (const partition of query.partitions) {
    const lane = new Lane(backend, stream, query, partition, null, matches);
    for (await lane.advance(); lane.head !== null && count < most; await lane.advance()) count += 1;
    if (count >= most) return most;
  }
  return count;
};

/** Sequences have no gaps, so where nothing is filtered there is nothing to read. */
const countBounds = (watermarks: readonly Watermark[], query: EventQuery): number =>
  query.partitions.reduce((sum, partition) => {
    const { firstSequence = 1, highWatermark = 0 } = watermarks[partition] ?? {};
    const after = Math.max(query.after[partition] ?? 0, firstSequence - 1);
    return sum + Math.max(0, Math.min(query.until[partition] ?? highWatermark, highWatermark) - after);
  }, 0);

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

/** `damage`: what stopped it before an event that cannot be read. As the first of all it is thrown. */
const takeMerged = async (
  lanes: readonly Lane[],
  stream: string,
  query: EventQuery,
): Promise<{ readonly events: Event[]; readonly damage: { readonly cause: RheoError } | null }> => {
  const events: Event[] = [];
  try {
    while (events.length < query.limit) {
      const next = pickNext(lanes, query.order);
      if (next?.head == null) break;
      events.push(toEvent(stream, next.head));
      await next.advance();
    }
  } catch (cause) {
    if (events.length > 0 && RheoError.is(cause, "invalid_payload")) return { events, damage: { cause } };
    throw cause;
  }
  return { events, damage: null };
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
  /** Where the next read goes on once the buffer is used up; null: at its last event. */
  #resume: number | null = null;
  #examine = EXAMINE_FIRST;
  #isLast = false;
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
    if (this.#resume !== null) this.#passed = this.#resume;
    this.#resume = null;
    const bounds = this.#bounds();
    if (this.#isLast || bounds.until <= bounds.after) {
      this.#ended = true;
      return;
    }
    const { order, filter, fromMs, toMs } = this.#query;
    const request = { stream: this.#stream, partition: this.partition, ...bounds, order, maxBytes: LIMITS.fetchBytes };
    const isFiltered = filter !== null || fromMs !== null || toMs !== null;
    this.#index = 0;
    if (isFiltered && this.#backend.search !== undefined) {
      const answer = await this.#backend.search({ ...request, limit: PAGE, filter, fromMs, toMs, examine: this.#examine });
      this.#buffer = answer.events;
      this.#resume = answer.passed;
      this.#isLast = answer.ended;
      if (!answer.ended && answer.passed === null)
        throw new RheoError(
          "unavailable",
          `A search of partition ${this.partition} of "${this.#stream}" neither ends nor gets on: its log is damaged.`,
          { stream: this.#stream, partition: this.partition },
        );
      if (answer.events.length < PAGE) this.#examine = Math.min(EXAMINE_MOST, this.#examine * 4);
      return;
    }
    this.#buffer = await this.#backend.read({ ...request, limit: isFiltered ? PAGE : Math.min(PAGE, this.#query.limit + 1) });
    this.#ended = this.#buffer.length === 0;
  }

  /** What is left to look at: (after, until]. */
  #bounds(): { readonly after: number; readonly until: number } {
    const after = this.#query.after[this.partition] ?? 0;
    const until = this.#query.until[this.partition] ?? Number.MAX_SAFE_INTEGER;
    const passed = this.#passed;
    if (this.#query.order === "asc") return { after: Math.max(after, passed ?? 0), until };
    return { after, until: passed === null ? until : Math.min(until, passed - 1) };
  }
}
