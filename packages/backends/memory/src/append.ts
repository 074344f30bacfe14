import { type AppendAnswer, type AppendRequest, type Event, type EventRecord, type NewEvent, RheoError } from "@rheo/core";
import { isSameEvent } from "@rheo/core/internal";
import type { Store, Stream } from "./schema.ts";

/** Appends each request by itself: first all of it is checked, then all of it is written. */
export const append = (store: Store, requests: readonly AppendRequest[], nowMs: number): AppendAnswer[] =>
  requests.map((request) => appendOne(store, request, nowMs));

const appendOne = (store: Store, request: AppendRequest, nowMs: number): AppendAnswer => {
  const stream = store.streams.get(request.stream);
  if (stream === undefined) return { kind: "stream_not_found" };
  if (stream.record.partitions !== request.partitions) return { kind: "rerouted", partitions: stream.record.partitions };
  const plan = planFor(stream, request.events, nowMs);
  if (!Array.isArray(plan)) return plan;
  for (const { record, isNew } of plan) if (isNew) write(stream, record);
  return {
    kind: "appended",
    events: plan.map(({ record, isNew }) => ({
      sequence: record.sequence,
      timestampMs: record.timestampMs,
      duplicate: isNew ? null : record,
    })),
  };
};

/** What stands for an event afterwards, and whether it is yet to be written. */
interface Step {
  readonly record: EventRecord;
  readonly isNew: boolean;
}

/** Everything that a request would write, or why it writes nothing. */
const planFor = (
  stream: Stream,
  events: readonly NewEvent[],
  nowMs: number,
): Step[] | Exclude<AppendAnswer, { kind: "appended" }> => {
  const fresh = new Map<string, EventRecord>();
  const watermarks = stream.logs.map((log) => log.highWatermark);
  const steps: Step[] = [];
  for (const [index, event] of events.entries()) {
    const known = stream.ids.get(event.id) ?? fresh.get(event.id);
    if (known !== undefined && !isSameEvent(known, event)) return { kind: "id_conflict", index, stored: known };
    const highWatermark = watermarks[event.partition] ?? 0;
    if (known === undefined && event.expectedSequence !== null && event.expectedSequence !== highWatermark) {
      return { kind: "sequence_conflict", index, highWatermark };
    }
    const record = known ?? toRecord(stream.record.name, event, nextSequence(stream, event.partition, highWatermark), nowMs);
    if (known === undefined) {
      fresh.set(event.id, record);
      watermarks[event.partition] = record.sequence;
    }
    steps.push({ record, isNew: known === undefined });
  }
  return steps;
};

const nextSequence = (stream: Stream, partition: number, highWatermark: number): number => {
  if (highWatermark < Number.MAX_SAFE_INTEGER) return highWatermark + 1;
  throw new RheoError("unavailable", `Partition ${partition} of "${stream.record.name}" has used up its sequences.`);
};

const write = (stream: Stream, record: EventRecord): void => {
  const log = stream.logs[record.partition];
  if (log === undefined) throw new RangeError(`no partition ${record.partition}`);
  log.push(record);
  stream.ids.set(record.id, record);
};

/** With the one frozen event that every reader in this process is handed. */
const toRecord = (stream: string, { values, ...given }: NewEvent, sequence: number, nowMs: number): EventRecord => {
  const { id, partition, type, key, metadata, payload, bytes } = given;
  const timestampMs = given.timestampMs ?? nowMs;
  const event: Event = Object.freeze({
    id,
    stream,
    partition,
    sequence,
    timestamp: new Date(timestampMs),
    type,
    key,
    metadata: values.metadata as Event["metadata"], // frozen by the caller of the port
    payload: values.payload as Event["payload"],
  });
  return { id, partition, sequence, timestampMs, type, key, metadata, payload, bytes, event };
};
