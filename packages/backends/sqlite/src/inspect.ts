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
import type { Memory } from "./memory.ts";
import { SqliteProgressStore } from "./progress-store.ts";
import { readIds } from "./tables/events.ts";
import { type GroupRow, requireGroup } from "./tables/groups.ts";
import type { Unit } from "./transaction.ts";

/** One group, in one snapshot. */
export class Inspection {
  readonly #unit: Unit;
  readonly #group: GroupRow;
  readonly #store: SqliteProgressStore;

  constructor(unit: Unit, stream: string, group: string, memory: Memory) {
    this.#unit = unit;
    this.#group = requireGroup(unit.sql, stream, group);
    this.#store = new SqliteProgressStore(unit, this.#group, memory.touches);
  }

  progress(): PartitionProgress[] {
    return progress.groupProgress(this.#store);
  }

  stats(): GroupStats {
    return progress.groupStats(this.#store, this.#unit.nowMs);
  }

  holders(): Holder[] {
    return progress.holders(this.#store, this.#unit.nowMs);
  }

  leases(limit: number): LeaseRecord[] {
    return progress.leaseRecords(this.#store, limit);
  }

  delivery(partition: number, sequence: number): DeliveryState {
    return progress.deliveryState(this.#store, partition, sequence, this.#unit.nowMs);
  }

  /** @throws cursor_not_found */
  deadLetters(request: DeadLetterRequest): DeadLetterRecord[] {
    const { sql } = this.#unit;
    return progress.deadLetterRecords(this.#store, request, (id) => readIds(sql, this.#group.streamId, [id]).get(id) ?? null);
  }
}
