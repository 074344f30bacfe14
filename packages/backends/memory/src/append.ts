import {
  type AppendAnswer,
  type AppendedEvent,
  type AppendRequest,
  type Event,
  type EventRecord,
  type NewEvent,
  RheoError,
} from "@rheo/core";
import { sameJson } from "@rheo/core/internal";
import type { Store, Stream } from "./schema.ts";

/** Appends each request by itself: first all of it is checked, then all of it is written. */
export const append = (store: Store, requests: readonly AppendRequest[], nowMs: number): AppendAnswer[] =>
  requests.map((request) => appendOne(store, request, nowMs));

const appendOne = (store: Store, request: AppendRequest, nowMs: number): AppendAnswer => {
  const stream = store.streams.get(request.stream);
  if (stream === undefined) return { kind: "stream_not_found" };
  if (stream.record.partitions !== request.partitions) return { kind: "rerouted", partitions: stream.record.partitions };
  const plan = check(stream, request.events);
  if (!Array.isArray(plan)) return plan;
  return { kind: "appended", events: plan.map((step) => write(stream, step, nowMs)) };
};

/** What to do for one event: write it, or point at the one that is there (perhaps only after this request's writes). */
interface Step {
  readonly event: NewEvent;
  readonly duplicateOf: EventRecord | NewEvent | null;
}

const check = (stream: Stream, events: readonly NewEvent[]): Step[] | Exclude<AppendAnswer, { kind: "appended" }> => {
  const fresh = new Map<string, NewEvent>();
  const added = new Map<number, number>();
  const steps: Step[] = [];
  for (const [index, event] of events.entries()) {
    const stored = stream.ids.get(event.id) ?? fresh.get(event.id) ?? null;
    const log = stream.logs[event.partition];
    if (log === undefined) throw new RangeError(`no partition ${event.partition}`);
    const highWatermark = log.highWatermark + (added.get(event.partition) ?? 0);
    if (stored !== null) {
      if (!isSame(stored, event)) return { kind: "id_conflict", index, stored: toRecord(stored, highWatermark + 1) };
    } else if (event.expectedSequence !== null && event.expectedSequence !== highWatermark) {
      return { kind: "sequence_conflict", index, highWatermark };
    } else {
      if (highWatermark >= Number.MAX_SAFE_INTEGER)
        throw new RheoError("unavailable", `Partition ${event.partition} of "${stream.record.name}" has used up its sequences.`);
      fresh.set(event.id, event);
      added.set(event.partition, (added.get(event.partition) ?? 0) + 1);
    }
    steps.push({ event, duplicateOf: stored });
  }
  return steps;
};

const isSame = (stored: EventRecord | NewEvent, event: NewEvent): boolean =>
  stored.type === event.type &&
  stored.key === event.key &&
  isSameText(stored.payload, event.payload) &&
  isSameText(stored.metadata, event.metadata);

const isSameText = (a: string, b: string): boolean => a === b || sameJson(JSON.parse(a), JSON.parse(b));

const write = (stream: Stream, { event, duplicateOf }: Step, nowMs: number): AppendedEvent => {
  if (duplicateOf !== null) {
    const duplicate = stream.ids.get(event.id);
    if (duplicate === undefined) throw new Error("a duplicate without its original");
    return { sequence: duplicate.sequence, timestampMs: duplicate.timestampMs, duplicate };
  }
  const log = stream.logs[event.partition];
  if (log === undefined) throw new RangeError(`no partition ${event.partition}`);
  const timestampMs = event.timestampMs ?? nowMs;
  const record = toRecord({ ...event, timestampMs }, log.highWatermark + 1);
  record.event = share(stream.record.name, record, event);
  log.push(record);
  stream.ids.set(record.id, record);
  return { sequence: record.sequence, timestampMs, duplicate: null };
};

const toRecord = (event: EventRecord | NewEvent, sequence: number): EventRecord => ({
  id: event.id,
  partition: event.partition,
  sequence: "sequence" in event ? event.sequence : sequence,
  timestampMs: event.timestampMs ?? 0,
  type: event.type,
  key: event.key,
  metadata: event.metadata,
  payload: event.payload,
});

/** The one frozen value that every reader in this process is handed. */
const share = (stream: string, record: EventRecord, { values }: NewEvent): Event =>
  Object.freeze({
    id: record.id,
    stream,
    partition: record.partition,
    sequence: record.sequence,
    timestamp: new Date(record.timestampMs),
    type: record.type,
    key: record.key,
    metadata: values.metadata as Event["metadata"], // frozen by the caller of the port
    payload: values.payload as Event["payload"],
  });
