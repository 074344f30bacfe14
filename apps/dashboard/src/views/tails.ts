/**
 * The newest events of each stream that is watched: one reader for all who watch it. It asks only partitions that have grown, and of
 * those only so many, and of each only so much, however fast the stream is.
 */
import type { Clock, Rheo, StreamInfo } from "@rheo/core";
import { type EventLine, eventLine } from "./event-text.ts";
import type { TailView } from "./tail.ts";

/** Events that are shown. */
const SHOWN = 100;
/** Partitions that are read in one look. */
const MOST_PARTITIONS = 32;
/** Streams that are remembered. */
const MOST_STREAMS = 32;
/** A tail that nobody has watched for so long begins anew, in ms. */
const FORGOTTEN_MS = 15_000;

interface Tail {
  /** By partition, the last sequence that was seen. */
  positions: readonly number[];
  events: readonly EventLine[];
  seen: number;
  skipped: number;
  createdAtMs: number;
  readAtMs: number;
}

export class Tails {
  readonly #rheo: Rheo;
  readonly #clock: Clock;
  readonly #tails = new Map<string, Tail>();

  constructor(rheo: Rheo, clock: Clock) {
    this.#rheo = rheo;
    this.#clock = clock;
  }

  /** Looks for what is new. To be called by one at a time for one stream. @throws stream_not_found */
  async read(stream: string): Promise<TailView> {
    const info = await this.#rheo.streamInfo(stream);
    const known = this.#known(stream, info);
    const tail = known === null ? await this.#begin(info) : await this.#goOn(known, info);
    this.#remember(stream, tail);
    return { stream, events: tail.events, seen: tail.seen, skipped: tail.skipped };
  }

  #known(stream: string, info: StreamInfo): Tail | null {
    const tail = this.#tails.get(stream);
    if (tail === undefined || tail.createdAtMs !== info.createdAt.getTime()) return null;
    return this.#clock.monotonic() - tail.readAtMs < FORGOTTEN_MS ? tail : null;
  }

  #remember(stream: string, tail: Tail): void {
    this.#tails.delete(stream);
    this.#tails.set(stream, tail);
    const [oldest] = this.#tails.keys();
    if (this.#tails.size > MOST_STREAMS && oldest !== undefined) this.#tails.delete(oldest);
  }

  async #begin(info: StreamInfo): Promise<Tail> {
    const positions = info.partitions.map(({ highWatermark }) => highWatermark);
    const events = await this.#rheo.query(info.name, { untilSequence: byPartition(positions), order: "desc", limit: SHOWN });
    const readAtMs = this.#clock.monotonic();
    return { positions, events: events.map(eventLine), seen: 0, skipped: 0, createdAtMs: info.createdAt.getTime(), readAtMs };
  }

  async #goOn(tail: Tail, info: StreamInfo): Promise<Tail> {
    const ends = info.partitions.map(({ highWatermark }) => highWatermark);
    const grown = ends.flatMap((end, partition) => (end > (tail.positions[partition] ?? 0) ? [partition] : []));
    const count = grown.reduce((sum, partition) => sum + (ends[partition] ?? 0) - (tail.positions[partition] ?? 0), 0);
    const readAtMs = this.#clock.monotonic();
    if (count === 0) return { ...tail, readAtMs };
    const from = this.#floors(tail, ends, grown);
    const query = { afterSequence: byPartition(from), untilSequence: byPartition(ends), order: "desc", limit: SHOWN } as const;
    const fresh = (await this.#rheo.query(info.name, query)).map(eventLine);
    const events = [...fresh, ...tail.events].slice(0, SHOWN);
    return { ...tail, positions: ends, events, seen: tail.seen + count, skipped: tail.skipped + count - fresh.length, readAtMs };
  }

  /** After which sequence each partition is read: its end where it is not. */
  #floors(tail: Tail, ends: readonly number[], grown: readonly number[]): number[] {
    const read = new Set(grown.length <= MOST_PARTITIONS ? grown : this.#someOf(grown));
    const share = Math.ceil(SHOWN / read.size);
    return ends.map((end, partition) => (read.has(partition) ? Math.max(tail.positions[partition] ?? 0, end - share) : end));
  }

  /** Others each time, so that none is never seen. */
  #someOf(grown: readonly number[]): readonly number[] {
    const start = Math.floor(this.#clock.monotonic()) % grown.length;
    return [...grown.slice(start), ...grown.slice(0, start)].slice(0, MOST_PARTITIONS);
  }
}

const byPartition = (sequences: readonly number[]): Record<number, number> => Object.fromEntries(sequences.entries());
