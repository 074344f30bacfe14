/** What is known of one group. Loaded piece by piece; an operation that begins again finds it all. */
import type { StoredGroup } from "../catalog.ts";
import type { PartitionRecords } from "./partition-records.ts";

export interface Member {
  readonly consumerId: string;
  readonly lastSeenAtMs: number;
}

export class GroupRecords {
  readonly group: StoredGroup;
  readonly nowMs: number;
  /** By partition. */
  readonly partitions: readonly PartitionRecords[];
  hasLeasedExceptions: boolean;
  members: readonly Member[] | null = null;
  readonly deadLetterOf: Map<string, { readonly partition: number; readonly sequence: number } | null> = new Map();
  readonly placeOfEvent: Map<string, { readonly partition: number; readonly sequence: number } | null> = new Map();

  /** The group's filter has been applied to what is in `matching`: for the arithmetic it lets everything through. */
  isFiltered = false;

  // what an operation has changed, or has looked at over all partitions

  touched: string | null = null;
  /** Whose leases were counted: no other operation may change these at the same time. */
  readonly counted: Set<string> = new Set();

  /** Everything in flight was counted, for a bound that holds over all partitions (G8). */
  isBounded = false;

  constructor(group: StoredGroup, nowMs: number, partitions: readonly PartitionRecords[]) {
    this.group = group;
    this.nowMs = nowMs;
    this.partitions = partitions;
    this.hasLeasedExceptions = partitions.every(({ stored }) => stored.leased === 0);
  }

  at(partition: number): PartitionRecords {
    const found = this.partitions[partition];
    if (found === undefined) throw new RangeError(`there is no partition ${partition}`);
    return found;
  }

  get isChanged(): boolean {
    return this.partitions.some(({ isChanged }) => isChanged);
  }

  forgetChanges(): void {
    for (const part of this.partitions) part.forgetChanges();
    this.touched = null;
    this.counted.clear();
    this.isBounded = false;
  }
}
