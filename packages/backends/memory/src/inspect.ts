import {
  type DeadLetterRecord,
  type DeadLetterRequest,
  type DeliveryState,
  type GroupStats,
  type Holder,
  type LeaseRecord,
  type PartitionProgress,
  RheoError,
} from "@rheo/core";
import { compileFilter, progress } from "@rheo/core/internal";
import type { GroupProgress } from "./progress-store.ts";
import { findGroup, findStream } from "./read.ts";
import type { Store, Stream } from "./schema.ts";

export const groupProgress = (store: Store, stream: string, group: string): PartitionProgress[] =>
  progress.groupProgress(findGroup(store, stream, group));

export const groupStats = (store: Store, stream: string, group: string, nowMs: number): GroupStats =>
  progress.groupStats(findGroup(store, stream, group), nowMs);

export const holders = (store: Store, stream: string, group: string, nowMs: number): Holder[] =>
  progress.holders(findGroup(store, stream, group), nowMs);

export const leases = (store: Store, stream: string, group: string, limit: number): LeaseRecord[] =>
  progress.leaseRecords(findGroup(store, stream, group), limit);

export const delivery = (
  store: Store,
  stream: string,
  group: string,
  partition: number,
  sequence: number,
  nowMs: number,
): DeliveryState => progress.deliveryState(findGroup(store, stream, group), partition, sequence, nowMs);

export const deadLetters = (store: Store, request: DeadLetterRequest): DeadLetterRecord[] => {
  const group = findGroup(store, request.stream, request.group);
  const stream = findStream(store, request.stream);
  const from = request.after === null ? { partition: 0, sequence: 0 } : cursorOf(stream, group, request.after);
  const matches = request.where === null ? null : compileFilter(request.where);
  const found: DeadLetterRecord[] = [];
  for (let { partition, sequence } = from; partition < group.partitions; partition++, sequence = 0) {
    for (const letter of group.deadLetters(partition, sequence, Number.MAX_SAFE_INTEGER)) {
      const event = stream.logs[partition]?.get(letter.sequence) ?? null;
      if (matches !== null && (event === null || !matches(request.stream, event))) continue;
      found.push({ ...letter, partition, event });
      if (found.length >= request.limit) return found;
    }
  }
  return found;
};

const cursorOf = (stream: Stream, group: GroupProgress, id: string): { partition: number; sequence: number } => {
  const place = stream.ids.get(id) ?? group.placeOfDeadLetter(id);
  if (place !== null) return place;
  throw new RheoError(
    "cursor_not_found",
    `There is no event "${id}" in stream "${stream.record.name}" to go on after. Start again without "after".`,
    { stream: stream.record.name, id },
  );
};
