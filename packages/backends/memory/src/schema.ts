/** What is kept, as plain maps and arrays. */
import type { EventRecord, GroupRecord, StreamRecord, Watermark } from "@rheo/core";
import { GroupProgress } from "./progress-store.ts";

/** One partition of the log. */
export class PartitionLog {
  readonly #partition: number;
  #records: EventRecord[] = [];
  /** Sequence of the first record. */
  #first = 1;

  constructor(partition: number) {
    this.#partition = partition;
  }

  get highWatermark(): number {
    return this.#first + this.#records.length - 1;
  }

  get firstSequence(): number {
    return this.#first;
  }

  watermark(): Watermark {
    return { partition: this.#partition, firstSequence: this.#first, highWatermark: this.highWatermark };
  }

  push(record: EventRecord): void {
    this.#records.push(record);
  }

  get(sequence: number): EventRecord | undefined {
    return this.#records[sequence - this.#first];
  }

  /** Records in (after, until], the first or the last `limit` of them. */
  slice(after: number, until: number, limit: number, fromEnd: boolean): EventRecord[] {
    const start = Math.max(0, after + 1 - this.#first);
    const end = Math.max(0, Math.min(this.#records.length, until + 1 - this.#first));
    if (fromEnd) return this.#records.slice(Math.max(start, end - limit), Math.max(start, end)).reverse();
    return this.#records.slice(start, Math.min(end, start + limit));
  }

  /** The first sequence whose timestamp is at or after `timeMs`; the high watermark + 1 if there is none. */
  sequenceAtTime(timeMs: number): number {
    const index = this.#records.findIndex((record) => record.timestampMs >= timeMs);
    return index === -1 ? this.highWatermark + 1 : this.#first + index;
  }

  /** Removes everything up to `sequence`; returns what went. */
  removeUpTo(sequence: number): EventRecord[] {
    const removed = this.#records.splice(0, Math.max(0, sequence + 1 - this.#first));
    this.#first += removed.length;
    return removed;
  }
}

export interface Stream {
  readonly record: StreamRecord;
  readonly logs: readonly PartitionLog[];
  readonly ids: Map<string, EventRecord>;
  readonly groups: Map<string, GroupProgress>;
}

export interface Store {
  readonly streams: Map<string, Stream>;
  /** Tokens of deleted groups are at or below this; new groups start above it (F1). */
  tokenFloor: number;
}

export const newStore = (): Store => ({ streams: new Map(), tokenFloor: 0 });

export const newStream = (name: string, partitions: number, nowMs: number): Stream => ({
  record: { name, partitions, createdAtMs: nowMs },
  logs: Array.from({ length: partitions }, (_, partition) => new PartitionLog(partition)),
  ids: new Map(),
  groups: new Map(),
});

export const newGroup = (stream: Stream, record: GroupRecord, tokenFloor: number): GroupProgress =>
  new GroupProgress(record, stream.logs, tokenFloor);

/** Keeps the tokens of a group that goes from ever being given again. */
export const raiseFloor = (store: Store, group: GroupProgress): void => {
  store.tokenFloor = Math.max(store.tokenFloor, group.highestToken());
};
