/** Events above the cursor: past what the group's filter drops (G7) and what must wait behind its key (G9). */
import type { EventRecord } from "../event.ts";
import type { Matcher } from "../filter.ts";
import { LIMITS } from "../limits.ts";
import type { OrderView } from "./order.ts";
import { type Pass, sizeOf } from "./pass.ts";
import { rangeOf } from "./ranges.ts";
import { unstarted } from "./writes.ts";

/** Events read at a time where not all of them are leased. */
const SCAN_PAGE = 500;

/** `matches`: the group's filter, or null when it has none. */
export const takeNew = (pass: Pass, partition: number, order: OrderView, matches: Matcher | null): void => {
  const { store } = pass;
  if (!order.acceptsNew || store.exceptionCount(partition) >= LIMITS.exceptionsPerPartition) return;
  const place = pass.place(partition);
  if (matches === null && !order.parks) {
    const limit = Math.min(pass.left, order.newLimit);
    const events = pass.affordable(store.events(partition, place.cursor, limit, pass.bytesLeft));
    const cursor = events[events.length - 1]?.sequence ?? place.cursor;
    countMissing(pass, partition, events, cursor);
    return lease(pass, partition, events, cursor, order);
  }
  while (pass.isOpen && pass.scanLeft > 0) {
    const limit = Math.min(pass.scanLeft, Math.max(pass.left, SCAN_PAGE));
    const page = store.events(partition, place.cursor, limit, LIMITS.fetchBytes);
    pass.scanLeft -= page.length;
    const { leased, parked, cursor } = sift(pass, page, place.cursor, order, matches);
    countMissing(pass, partition, page, cursor);
    for (const event of parked) store.putException(partition, unstarted(event.sequence, event.key, "parked"));
    lease(pass, partition, leased, cursor, order);
    if (page.length === 0 || cursor !== page[page.length - 1]?.sequence) return;
  }
  if (pass.scanLeft <= 0) pass.more = true;
};

/** Sequences have no gaps (L1). Where a damaged store has one, its deliveries are told as skipped, and are not left out in silence. */
const countMissing = (pass: Pass, partition: number, page: readonly EventRecord[], cursor: number): void => {
  const place = pass.place(partition);
  const isWhole = cursor === page[page.length - 1]?.sequence;
  const found = isWhole ? page.length : page.filter(({ sequence }) => sequence <= cursor).length;
  if (cursor - place.cursor <= found) return;
  const from = Math.max(place.cursor, pass.store.watermark(partition).firstSequence - 1);
  place.missing += Math.max(0, cursor - from - found);
};

const lease = (pass: Pass, partition: number, events: readonly EventRecord[], cursor: number, order: OrderView): void => {
  pass.place(partition).cursor = cursor;
  if (events.length === 0) return;
  const sequences = events.map((event) => event.sequence);
  pass.store.putLease(partition, {
    ...rangeOf(sequences),
    token: pass.token(partition),
    attempt: 1,
    takeovers: 0,
    alone: 0,
    consumerId: pass.consumerId,
    leasedAtMs: pass.nowMs,
    expiresAtMs: pass.expiresAtMs,
    firstFailedAtMs: null,
  });
  order.closeRuns();
  pass.grant(partition, 1, events);
};

interface Sifted {
  readonly leased: readonly EventRecord[];
  readonly parked: readonly EventRecord[];
  /** The last event that was dealt with. */
  readonly cursor: number;
}

const sift = (pass: Pass, page: readonly EventRecord[], from: number, order: OrderView, matches: Matcher | null): Sifted => {
  const { stream } = pass.store.group;
  const leased: EventRecord[] = [];
  const parked: EventRecord[] = [];
  let cursor = from;
  let bytesLeft = pass.bytesLeft;
  for (const event of page) {
    if (matches === null || matches(stream, event)) {
      if (order.isNewFree(event.key)) {
        const full = leased.length >= Math.min(pass.left, order.newLimit);
        if (full || (sizeOf(event) > bytesLeft && leased.length + pass.granted > 0)) break;
        leased.push(event);
        order.occupy(event);
        bytesLeft -= sizeOf(event);
      } else if (order.parks && order.canPark()) parked.push(event);
      else break;
    }
    cursor = event.sequence;
  }
  return { leased, parked, cursor };
};
