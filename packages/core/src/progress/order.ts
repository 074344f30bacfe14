/**
 * Ordering (G9). A later event of a key (or of the whole partition) is free only when every earlier one is acked or dead, and
 * no two of a key are leased at a time.
 */
import type { EventRecord } from "../event.ts";
import type { Ordering } from "../group.ts";
import { LIMITS } from "../limits.ts";
import { openSequences } from "./ranges.ts";
import type { Exception, ProgressStore } from "./records.ts";

/** What ordering allows in one partition during one fetch. */
export interface OrderView {
  /** Whether an unsettled delivery may be leased. */
  isFree(sequence: number): boolean;
  /** Whether a new event of this key may be leased. */
  isNewFree(key: string | null): boolean;
  /** A new event was chosen: its key is taken. */
  occupy(event: EventRecord): void;
  /** Deliveries were leased. */
  take(sequences: readonly number[]): void;
  /** Whether events above the cursor may be offered at all. */
  readonly acceptsNew: boolean;
  /** How many of them. */
  readonly newLimit: number;
  /** Whether new events behind a busy key are parked, so that others can flow on. */
  readonly parks: boolean;
  /** Takes a place for one more parked event; false when there is none left (G8). */
  canPark(): boolean;
  /** The exceptions that time allows, by sequence; null: ask the store for the due ones. */
  readonly claimable: readonly Exception[] | null;
}

const nothing = (): void => undefined;

/** No order is kept. */
export const openOrder: OrderView = {
  isFree: () => true,
  isNewFree: () => true,
  occupy: nothing,
  take: nothing,
  acceptsNew: true,
  newLimit: Number.POSITIVE_INFINITY,
  parks: false,
  canPark: () => false,
  claimable: null,
};

interface Unsettled {
  readonly sequence: number;
  readonly key: string | null;
  readonly live: boolean;
}

/** The view of a partition whose group keeps the order of keys, or of everything. */
export const keyOrder = (
  store: ProgressStore,
  partition: number,
  ordering: Exclude<Ordering, "none">,
  nowMs: number,
  hasExceptions: boolean,
): OrderView => {
  const whole = ordering === "partition";
  const exceptions = hasExceptions ? store.exceptions(partition) : [];
  const unsettled = [
    ...leased(store, partition, whole, nowMs),
    ...exceptions.map((exception) => fromException(exception, nowMs)),
  ];
  unsettled.sort((a, b) => a.sequence - b.sequence);
  /** The lowest unsettled sequence of each key; "" stands for the partition where the whole of it is ordered. */
  const firstOf = new Map<string, number>();
  const busy = new Set<string>();
  const keyOf = new Map<number, string>();
  let parked = exceptions.filter((exception) => exception.state === "parked").length;
  for (const { sequence, key, live } of unsettled) {
    const lane = whole ? "" : key;
    if (lane === null) continue;
    keyOf.set(sequence, lane);
    if (!firstOf.has(lane)) firstOf.set(lane, sequence);
    if (live) busy.add(lane);
  }
  return {
    isFree: (sequence) => {
      const lane = keyOf.get(sequence);
      return lane === undefined || (firstOf.get(lane) === sequence && !busy.has(lane));
    },
    isNewFree: (key) => (whole ? !firstOf.has("") : key === null || !firstOf.has(key)),
    occupy: (event) => {
      const lane = whole ? "" : event.key;
      if (lane !== null) firstOf.set(lane, event.sequence);
    },
    take: (sequences) => {
      for (const sequence of sequences) {
        const lane = keyOf.get(sequence);
        if (lane !== undefined) busy.add(lane);
      }
    },
    acceptsNew: !whole || unsettled.length === 0,
    newLimit: whole ? 1 : Number.POSITIVE_INFINITY,
    parks: !whole,
    canPark: () => parked++ < LIMITS.parkedPerPartition,
    claimable: exceptions.filter((exception) => exception.dueAtMs === null || exception.dueAtMs <= nowMs),
  };
};

const fromException = (exception: Exception, nowMs: number): Unsettled => ({
  sequence: exception.sequence,
  key: exception.key,
  live: exception.state === "leased" && (exception.dueAtMs ?? 0) > nowMs,
});

const leased = (store: ProgressStore, partition: number, whole: boolean, nowMs: number): Unsettled[] =>
  store.leases(partition).flatMap((lease) => {
    const live = lease.expiresAtMs > nowMs;
    const sequences = openSequences(lease);
    if (whole) return sequences.map((sequence) => ({ sequence, key: null, live }));
    return store.headersAt(partition, sequences).map(({ sequence, key }) => ({ sequence, key, live }));
  });
