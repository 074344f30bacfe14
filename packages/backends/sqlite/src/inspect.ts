/** Looking at progress: nothing here writes (P4). Each throws stream_not_found, group_not_found. */
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
import { compileFilter, type Matcher, progress } from "@rheo/core/internal";
import type { Memory } from "./memory.ts";
import { SqliteProgressStore } from "./progress-store.ts";
import { placeOfDeadLetter } from "./tables/dead-letters.ts";
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

  /** By (partition, sequence). @throws cursor_not_found */
  deadLetters({ after, limit, where }: DeadLetterRequest): DeadLetterRecord[] {
    const matches = where === null ? null : compileFilter(where);
    const found: DeadLetterRecord[] = [];
    const start = after === null ? { partition: 0, sequence: 0 } : this.#placeOf(after);
    for (let { partition, sequence } = start; partition < this.#group.partitions; partition++, sequence = 0) {
      for (const letter of this.#lettersOf(partition, sequence, matches)) {
        found.push(letter);
        if (found.length >= limit) return found;
      }
    }
    return found;
  }

  *#lettersOf(partition: number, after: number, matches: Matcher | null): Generator<DeadLetterRecord> {
    for (let last = after; ; ) {
      const page = this.#store.deadLetters(partition, last, LETTERS_PAGE);
      for (const letter of page) {
        // one at a time: a page of the largest events would be gigabytes
        const [event] = this.#store.eventsAt(partition, [letter.sequence], 1);
        if (matches !== null && (event === undefined || !matches(this.#group.record.stream, event))) continue;
        yield { ...letter, partition, event: event ?? null };
      }
      const end = page[page.length - 1];
      if (end === undefined || page.length < LETTERS_PAGE) return;
      last = end.sequence;
    }
  }

  #placeOf(id: string): { partition: number; sequence: number } {
    const { sql } = this.#unit;
    const place = readIds(sql, this.#group.streamId, [id]).get(id) ?? placeOfDeadLetter(sql, this.#group.groupId, id);
    if (place !== null) return place;
    const { stream } = this.#group.record;
    throw new RheoError(
      "cursor_not_found",
      `There is no event "${id}" in stream "${stream}" to go on after. Start again without "after".`,
      { stream, id },
    );
  }
}

/** Dead letters read at a time. */
const LETTERS_PAGE = 200;
