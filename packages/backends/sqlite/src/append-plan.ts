/** What appending would write, decided in memory before anything is written (L1, L4–L6). */
import {
  type AppendAnswer,
  type AppendedEvent,
  type AppendRequest,
  type EventRecord,
  type NewEvent,
  RheoError,
} from "@rheo/core";
import { isSameEvent } from "@rheo/core/internal";
import type { PartitionRow, StreamRow } from "./tables/streams.ts";

/** An event with everything that its row needs. */
export interface PlannedEvent {
  readonly streamId: number;
  readonly record: EventRecord;
  readonly bytes: number;
  /** Greatest timestamp of the partition up to here. */
  readonly latestMs: number;
}

export interface Plan {
  readonly answers: readonly AppendAnswer[];
  readonly events: readonly PlannedEvent[];
  /** The rows of the partitions as they will be. */
  readonly partitions: readonly { readonly streamId: number; readonly row: PartitionRow }[];
}

/** What the plan needs to know of the store. */
export interface StoreView {
  stream(name: string): StreamRow | null;
  partition(streamId: number, partition: number): PartitionRow;
  /** The stored event of an id, as far as it is known. */
  stored(streamId: number, id: string): EventRecord | null;
  readonly nowMs: number;
}

export const planAppend = (requests: readonly AppendRequest[], view: StoreView): Plan => {
  const plan = new Planner(view);
  const answers = requests.map((request) => plan.add(request));
  return { answers, events: plan.events, partitions: [...plan.partitions.values()] };
};

class Planner {
  readonly events: PlannedEvent[] = [];
  readonly partitions = new Map<string, { readonly streamId: number; readonly row: PartitionRow }>();
  readonly #ids = new Map<string, EventRecord>();
  readonly #view: StoreView;

  constructor(view: StoreView) {
    this.#view = view;
  }

  /** Plans one request; nothing of one that is refused is kept. */
  add(request: AppendRequest): AppendAnswer {
    const stream = this.#view.stream(request.stream);
    if (stream === null) return { kind: "stream_not_found" };
    if (stream.record.partitions !== request.partitions) return { kind: "rerouted", partitions: stream.record.partitions };
    const draft = new Draft(stream, this.#view, this);
    const answers: AppendedEvent[] = [];
    for (const [index, event] of request.events.entries()) {
      const answer = draft.add(event, index);
      if ("kind" in answer) return answer;
      answers.push(answer);
    }
    this.#keep(draft);
    return { kind: "appended", events: answers };
  }

  idOf(streamId: number, id: string): EventRecord | null {
    return this.#ids.get(`${streamId}/${id}`) ?? null;
  }

  partitionOf(streamId: number, partition: number): PartitionRow {
    return this.partitions.get(`${streamId}/${partition}`)?.row ?? this.#view.partition(streamId, partition);
  }

  #keep(draft: Draft): void {
    const { streamId } = draft.stream;
    for (const event of draft.events) this.events.push(event);
    for (const [id, record] of draft.ids) this.#ids.set(`${streamId}/${id}`, record);
    for (const [partition, row] of draft.partitions) this.partitions.set(`${streamId}/${partition}`, { streamId, row });
  }
}

/** One request that may still be refused. */
class Draft {
  readonly stream: StreamRow;
  readonly events: PlannedEvent[] = [];
  readonly ids = new Map<string, EventRecord>();
  readonly partitions = new Map<number, PartitionRow>();
  readonly #view: StoreView;
  readonly #kept: Planner;

  constructor(stream: StreamRow, view: StoreView, kept: Planner) {
    this.stream = stream;
    this.#view = view;
    this.#kept = kept;
  }

  add(event: NewEvent, index: number): AppendedEvent | Extract<AppendAnswer, { kind: "id_conflict" | "sequence_conflict" }> {
    const { streamId } = this.stream;
    const stored = this.ids.get(event.id) ?? this.#kept.idOf(streamId, event.id) ?? this.#view.stored(streamId, event.id);
    if (stored !== null) {
      if (!isSameEvent(stored, event)) return { kind: "id_conflict", index, stored };
      return { sequence: stored.sequence, timestampMs: stored.timestampMs, duplicate: stored };
    }
    const row = this.partitions.get(event.partition) ?? this.#kept.partitionOf(streamId, event.partition);
    const { highWatermark } = row;
    if (event.expectedSequence !== null && event.expectedSequence !== highWatermark)
      return { kind: "sequence_conflict", index, highWatermark };
    return this.#write(event, row);
  }

  #write(event: NewEvent, row: PartitionRow): AppendedEvent {
    if (row.highWatermark >= Number.MAX_SAFE_INTEGER) throw usedUp(this.stream.record.name, event.partition);
    const sequence = row.highWatermark + 1;
    const timestampMs = event.timestampMs ?? this.#view.nowMs;
    const latestMs = row.latestMs === null ? timestampMs : Math.max(row.latestMs, timestampMs);
    const { id, partition, type, key, metadata, payload, bytes } = event;
    const record: EventRecord = { id, partition, sequence, timestampMs, type, key, metadata, payload };
    this.events.push({ streamId: this.stream.streamId, record, bytes, latestMs });
    this.ids.set(id, record);
    this.partitions.set(partition, {
      ...row,
      highWatermark: sequence,
      latestMs,
      largestBytes: Math.max(row.largestBytes, bytes),
    });
    return { sequence, timestampMs, duplicate: null };
  }
}

const usedUp = (stream: string, partition: number): RheoError =>
  new RheoError(
    "unavailable",
    `Partition ${partition} of "${stream}" has used up its sequences: the last is ${Number.MAX_SAFE_INTEGER}. Append to another partition or stream. Nothing was written.`,
    { stream, partition },
  );
