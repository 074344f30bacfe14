/** What appending would write, decided in memory before anything is written (L1, L4–L6). For backends that decide it in this process. */
import type { AppendAnswer, AppendedEvent, AppendRequest, NewEvent, StreamRecord, Watermark } from "./backend.ts";
import { RheoError } from "./errors.ts";
import type { EventRecord } from "./event.ts";
import { isSameEvent } from "./same-event.ts";

/** A stream as its store knows it. */
export interface StoredStream {
  readonly streamId: number;
  readonly record: StreamRecord;
}

/** A partition with what appending needs of it. */
export interface PartitionState extends Watermark {
  /** Greatest timestamp ever appended; null before the first. */
  readonly latestMs: number | null;
  /** UTF-8 bytes of the largest event ever appended. */
  readonly largestBytes: number;
}

/** An event with everything that its record needs. */
export interface PlannedEvent {
  readonly streamId: number;
  readonly record: EventRecord;
  readonly bytes: number;
  /** Greatest timestamp of the partition up to here. */
  readonly latestMs: number;
}

export interface AppendPlan {
  readonly answers: readonly AppendAnswer[];
  readonly events: readonly PlannedEvent[];
  /** The partitions as they will be. */
  readonly partitions: readonly PlannedPartition[];
}

/** A partition as it will be. */
interface PlannedPartition {
  readonly streamId: number;
  readonly state: PartitionState;
}

/** What the plan needs to know of the store. */
export interface AppendView {
  stream(name: string): StoredStream | null;
  partition(streamId: number, partition: number): PartitionState;
  /** The stored event of an id, as far as it is known. */
  stored(streamId: number, id: string): EventRecord | null;
  readonly nowMs: number;
}

export const planAppend = (requests: readonly AppendRequest[], view: AppendView): AppendPlan => {
  const plan = new Planner(view);
  const answers = requests.map((request) => plan.add(request));
  return { answers, events: plan.events, partitions: [...plan.partitions.values()] };
};

class Planner {
  readonly events: PlannedEvent[] = [];
  readonly partitions = new Map<string, PlannedPartition>();
  readonly #ids = new Map<string, EventRecord>();
  readonly #view: AppendView;

  constructor(view: AppendView) {
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

  partitionOf(streamId: number, partition: number): PartitionState {
    return this.partitions.get(`${streamId}/${partition}`)?.state ?? this.#view.partition(streamId, partition);
  }

  #keep(draft: Draft): void {
    const { streamId } = draft.stream;
    for (const event of draft.events) this.events.push(event);
    for (const [id, record] of draft.ids) this.#ids.set(`${streamId}/${id}`, record);
    for (const [partition, state] of draft.partitions) this.partitions.set(`${streamId}/${partition}`, { streamId, state });
  }
}

/** One request that may still be refused. */
class Draft {
  readonly stream: StoredStream;
  readonly events: PlannedEvent[] = [];
  readonly ids = new Map<string, EventRecord>();
  readonly partitions = new Map<number, PartitionState>();
  readonly #view: AppendView;
  readonly #kept: Planner;

  constructor(stream: StoredStream, view: AppendView, kept: Planner) {
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
    const state = this.partitions.get(event.partition) ?? this.#kept.partitionOf(streamId, event.partition);
    const { highWatermark } = state;
    if (event.expectedSequence !== null && event.expectedSequence !== highWatermark)
      return { kind: "sequence_conflict", index, highWatermark };
    return this.#write(event, state);
  }

  #write(event: NewEvent, state: PartitionState): AppendedEvent {
    if (state.highWatermark >= Number.MAX_SAFE_INTEGER) throw usedUp(this.stream.record.name, event.partition);
    const sequence = state.highWatermark + 1;
    const timestampMs = event.timestampMs ?? this.#view.nowMs;
    const latestMs = state.latestMs === null ? timestampMs : Math.max(state.latestMs, timestampMs);
    const { id, partition, type, key, metadata, payload, bytes } = event;
    const record: EventRecord = { id, partition, sequence, timestampMs, type, key, metadata, payload };
    this.events.push({ streamId: this.stream.streamId, record, bytes, latestMs });
    this.ids.set(id, record);
    this.partitions.set(partition, {
      ...state,
      highWatermark: sequence,
      latestMs,
      largestBytes: Math.max(state.largestBytes, bytes),
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
