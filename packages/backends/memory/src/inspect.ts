import type {
  DeadLetterRecord,
  DeadLetterRequest,
  DeliveryState,
  GroupStats,
  Holder,
  LeaseRecord,
  PartitionProgress,
} from "@rheo/core";
import { progress } from "@rheo/core/internal";
import { findGroup, findStream } from "./read.ts";
import type { Store } from "./schema.ts";

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
  const { ids } = findStream(store, request.stream);
  return progress.deadLetterRecords(group, request, (id) => ids.get(id) ?? null);
};
