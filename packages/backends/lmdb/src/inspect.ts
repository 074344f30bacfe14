/** Looking at progress: nothing here writes (P4). Each throws stream_not_found, group_not_found. */
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
import { LmdbProgressStore } from "./progress-store.ts";
import type { Unit } from "./session.ts";
import { placeOfId } from "./tables/ids.ts";

const storeOf = ({ environment, catalog }: Unit, stream: string, group: string): LmdbProgressStore =>
  new LmdbProgressStore(environment, catalog.requireGroup(stream, group));

export const groupProgress = (unit: Unit, stream: string, group: string): PartitionProgress[] =>
  progress.groupProgress(storeOf(unit, stream, group));

export const groupStats = (unit: Unit, stream: string, group: string): GroupStats =>
  progress.groupStats(storeOf(unit, stream, group), unit.nowMs);

export const holders = (unit: Unit, stream: string, group: string): Holder[] =>
  progress.holders(storeOf(unit, stream, group), unit.nowMs);

export const leases = (unit: Unit, stream: string, group: string, limit: number): LeaseRecord[] =>
  progress.leaseRecords(storeOf(unit, stream, group), limit);

export const delivery = (unit: Unit, stream: string, group: string, partition: number, sequence: number): DeliveryState =>
  progress.deliveryState(storeOf(unit, stream, group), partition, sequence, unit.nowMs);

/** @throws cursor_not_found */
export const deadLetters = (unit: Unit, request: DeadLetterRequest): DeadLetterRecord[] => {
  const { streamId } = unit.catalog.requireStream(request.stream);
  const store = storeOf(unit, request.stream, request.group);
  return progress.deadLetterRecords(store, request, (id) => placeOfId(unit.environment, streamId, id));
};
