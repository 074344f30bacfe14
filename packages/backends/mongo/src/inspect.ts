/** Looking at progress, each in one snapshot: nothing here writes (P4). Each throws stream_not_found, group_not_found. */
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
import { compute, requireRecords, type Work } from "./operate.ts";
import type { Store } from "./store.ts";

const look = <Result>(store: Store, stream: string, group: string, work: Work<Result>): Promise<Result> =>
  store.write(async (unit) => compute(unit, await requireRecords(unit, stream, group), work));

export const groupProgress = (store: Store, stream: string, group: string): Promise<PartitionProgress[]> =>
  look(store, stream, group, progress.groupProgress);

export const groupStats = (store: Store, stream: string, group: string): Promise<GroupStats> =>
  look(store, stream, group, (records, { nowMs }) => progress.groupStats(records, nowMs));

export const holders = (store: Store, stream: string, group: string): Promise<Holder[]> =>
  look(store, stream, group, (records, { nowMs }) => progress.holders(records, nowMs));

export const leases = (store: Store, stream: string, group: string, limit: number): Promise<LeaseRecord[]> =>
  look(store, stream, group, (records) => progress.leaseRecords(records, limit));

/** @throws cursor_not_found */
export const deadLetters = (store: Store, request: DeadLetterRequest): Promise<DeadLetterRecord[]> =>
  look(store, request.stream, request.group, (records) =>
    progress.deadLetterRecords(records, request, (id) => records.placeOfEvent(id)),
  );

export const delivery = (
  store: Store,
  stream: string,
  group: string,
  partition: number,
  sequence: number,
): Promise<DeliveryState> =>
  look(store, stream, group, (records, { nowMs }) => progress.deliveryState(records, partition, sequence, nowMs));
