/**
 * Ordering (G9). Deliveries of a key (or of the whole partition) form a lane. Only the first unsettled one of a lane is free, and only
 * while none of the lane is leased; a fetch that takes runs may take those after it along, as long as it has taken all before.
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
  /** Whether it is, or will be once those before it in its run are leased. */
  isInRun(sequence: number): boolean;
  /** Whether a new event of this key may be leased. */
  isNewFree(key: string | null): boolean;
  /** A new event was chosen. */
  occupy(event: EventRecord): void;
  /** The new events that were chosen are leased: no more are added to their runs. */
  closeRuns(): void;
  /** Deliveries were leased, and nothing more of their lanes will be. */
  take(sequences: readonly number[]): void;
  /** The next of its run was leased. */
  advance(sequence: number): void;
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
  isInRun: () => true,
  isNewFree: () => true,
  occupy: nothing,
  closeRuns: nothing,
  take: nothing,
  advance: nothing,
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
  /** An exception that time allows: it may be part of a run. */
  readonly claimable: boolean;
}

interface Lane {
  /** Of its unsettled deliveries. */
  count: number;
  /** How many of these a run may have: the first ones, as far as all are claimable. */
  reachable: number;
  /** How many of them this fetch has leased. */
  next: number;
  /** One of it is leased already. */
  busy: boolean;
}

/** Where a delivery stands in its lane, from 0. */
interface Spot {
  readonly lane: Lane;
  readonly position: number;
}

export interface OrderOptions {
  readonly ordering: Exclude<Ordering, "none">;
  readonly nowMs: number;
  readonly hasExceptions: boolean;
  /** Deliveries of a lane that one fetch may take. */
  readonly runLimit: number;
}

/** The view of a partition whose group keeps the order of keys, or of everything. */
export const keyOrder = (store: ProgressStore, partition: number, options: OrderOptions): OrderView => {
  const { ordering, nowMs, hasExceptions, runLimit } = options;
  const whole = ordering === "partition";
  const exceptions = hasExceptions ? store.exceptions(partition) : [];
  const unsettled = [
    ...leased(store, partition, whole, nowMs),
    ...exceptions.map((exception) => fromException(exception, nowMs)),
  ].sort((a, b) => a.sequence - b.sequence);
  const laneOf = (key: string | null): string | null => (whole ? "" : key); // "" stands for the partition
  const { lanes, spots } = arrange(unsettled, laneOf, runLimit);
  const fresh = new Map<string, number>();
  let parked = exceptions.filter((exception) => exception.state === "parked").length;
  const isInRun = (sequence: number): boolean => {
    const spot = spots.get(sequence);
    return spot === undefined || (!spot.lane.busy && (spot.position === 0 || spot.position < spot.lane.reachable));
  };
  return {
    isFree: (sequence) => isInRun(sequence) && spots.get(sequence)?.position === spots.get(sequence)?.lane.next,
    isInRun,
    isNewFree: (key) => {
      const lane = laneOf(key);
      return lane === null || (!lanes.has(lane) && (fresh.get(lane) ?? 0) < runLimit);
    },
    occupy: (event) => {
      const lane = laneOf(event.key);
      if (lane !== null) fresh.set(lane, (fresh.get(lane) ?? 0) + 1);
    },
    closeRuns: () => {
      for (const lane of fresh.keys()) lanes.set(lane, { count: 0, reachable: 0, next: 0, busy: true });
      fresh.clear();
    },
    take: (sequences) => {
      for (const sequence of sequences) {
        const spot = spots.get(sequence);
        if (spot !== undefined) spot.lane.busy = true;
      }
    },
    advance: (sequence) => {
      const spot = spots.get(sequence);
      if (spot !== undefined) spot.lane.next += 1;
    },
    acceptsNew: !whole || unsettled.length === 0,
    newLimit: whole ? runLimit : Number.POSITIVE_INFINITY,
    parks: !whole,
    canPark: () => parked++ < LIMITS.parkedPerPartition,
    claimable: exceptions.filter((exception) => isClaimable(exception, nowMs)),
  };
};

const arrange = (
  unsettled: readonly Unsettled[],
  laneOf: (key: string | null) => string | null,
  runLimit: number,
): { lanes: Map<string, Lane>; spots: ReadonlyMap<number, Spot> } => {
  const lanes = new Map<string, Lane>();
  const spots = new Map<number, Spot>();
  for (const { sequence, key, live, claimable } of unsettled) {
    const name = laneOf(key);
    if (name === null) continue;
    const lane = lanes.get(name) ?? { count: 0, reachable: 0, next: 0, busy: false };
    lanes.set(name, lane);
    spots.set(sequence, { lane, position: lane.count });
    if (claimable && lane.reachable === lane.count && lane.count < runLimit) lane.reachable += 1;
    lane.count += 1;
    lane.busy ||= live;
  }
  return { lanes, spots };
};

const isClaimable = ({ dueAtMs }: Exception, nowMs: number): boolean => dueAtMs === null || dueAtMs <= nowMs;

const fromException = (exception: Exception, nowMs: number): Unsettled => ({
  sequence: exception.sequence,
  key: exception.key,
  live: exception.state === "leased" && (exception.dueAtMs ?? 0) > nowMs,
  claimable: isClaimable(exception, nowMs),
});

const leased = (store: ProgressStore, partition: number, whole: boolean, nowMs: number): Unsettled[] =>
  store.leases(partition).flatMap((lease) => {
    const live = lease.expiresAtMs > nowMs;
    const sequences = openSequences(lease);
    const claimable = false;
    if (whole) return sequences.map((sequence) => ({ sequence, key: null, live, claimable }));
    return store.headersAt(partition, sequences).map(({ sequence, key }) => ({ sequence, key, live, claimable }));
  });
