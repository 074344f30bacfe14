/** Reading progress: nothing here writes (P1–P4). */
import type {
  DeadLetterRecord,
  DeadLetterRequest,
  DeliveryState,
  GroupRecord,
  GroupStats,
  Holder,
  LeaseRecord,
  PartitionProgress,
} from "../backend.ts";
import { RheoError } from "../errors.ts";
import { compileFilter, type Matcher } from "../filter.ts";
import { hasBit } from "./bitmap.ts";
import { holds, openSequences } from "./ranges.ts";
import type { Exception, ProgressStore, RangeLease } from "./records.ts";

/**
 * The frontier, derived: one below the least open position of any lease and the least open exception, or the cursor if there is
 * neither.
 */
export const frontier = (store: ProgressStore, partition: number): number => {
  let lowest = store.head(partition).cursor + 1;
  for (const lease of store.leases(partition)) lowest = Math.min(lowest, firstOpen(lease));
  return Math.min(lowest, store.firstException(partition) ?? lowest) - 1;
};

const firstOpen = (lease: RangeLease): number => {
  for (let sequence = lease.first; sequence <= lease.last; sequence++) {
    if (!hasBit(lease.closed, sequence - lease.first)) return sequence;
  }
  return lease.last;
};

/** @throws unavailable - what was offered goes beyond the end of the stream: nothing below it would ever be offered, and lag would tell lies */
export const checkCursor = (
  { stream, name }: Pick<GroupRecord, "stream" | "name">,
  partition: number,
  cursor: number,
  highWatermark: number,
): void => {
  if (cursor <= highWatermark) return;
  throw new RheoError(
    "unavailable",
    `Group "${name}" has been offered ${stream}/${partition} up to ${cursor}, but that ends at ${highWatermark}: the store was written to by something else, or is damaged. ` +
      "Mend the high watermark if events are there beyond it; else reset the group.",
    { stream, group: name, partition },
  );
};

const partitionProgress = (store: ProgressStore, partition: number): PartitionProgress => {
  const watermark = store.watermark(partition);
  const { cursor, skipped } = store.head(partition);
  checkCursor(store.group, partition, cursor, watermark.highWatermark);
  return { ...watermark, frontier: Math.max(frontier(store, partition), watermark.firstSequence - 1), skipped };
};

export const groupProgress = (store: ProgressStore): PartitionProgress[] =>
  Array.from({ length: store.partitions }, (_, partition) => partitionProgress(store, partition));

/** A member that holds nothing is listed for this many lease lengths after it was last seen. */
const MEMBER_LEASES = 2;

export const groupStats = (store: ProgressStore, nowMs: number): GroupStats => {
  const held = new Map<string, number>();
  let retrying = 0;
  let deadLetters = 0;
  let oldestUnsettledAtMs: number | null = null;
  for (let partition = 0; partition < store.partitions; partition++) {
    for (const lease of store.leases(partition)) if (lease.expiresAtMs > nowMs) add(held, lease.consumerId, lease.open);
    const tally = store.tallyExceptions(partition, nowMs);
    retrying += tally.retrying;
    for (const { consumerId, leases } of tally.held) add(held, consumerId, leases);
    deadLetters += store.deadLetterCount(partition);
    const [oldest] = store.headersAt(partition, [frontier(store, partition) + 1]);
    if (oldest !== undefined) oldestUnsettledAtMs = Math.min(oldestUnsettledAtMs ?? oldest.timestampMs, oldest.timestampMs);
  }
  return { inflight: sum(held.values()), retrying, deadLetters, oldestUnsettledAtMs, members: members(store, held, nowMs) };
};

const members = (store: ProgressStore, held: ReadonlyMap<string, number>, nowMs: number): GroupStats["members"] => {
  const since = nowMs - MEMBER_LEASES * store.group.options.leaseMs;
  const seen = store.members().filter(({ consumerId, lastSeenAtMs }) => held.has(consumerId) || lastSeenAtMs > since);
  return seen.map(({ consumerId, lastSeenAtMs }) => ({ consumerId, lastSeenAtMs, leases: held.get(consumerId) ?? 0 }));
};

const add = (counts: Map<string, number>, name: string, count: number): void =>
  void counts.set(name, (counts.get(name) ?? 0) + count);

const sum = (counts: Iterable<number>): number => {
  let total = 0;
  for (const count of counts) total += count;
  return total;
};

/** What holds the frontier of each partition that has lag (P3). */
export const holders = (store: ProgressStore, nowMs: number): Holder[] =>
  groupProgress(store)
    .filter((progress) => progress.frontier < progress.highWatermark)
    .map(({ partition, highWatermark, frontier: last }) => ({
      partition,
      sequence: last + 1,
      highWatermark,
      delivery: deliveryState(store, partition, last + 1, nowMs),
    }));

export const deliveryState = (store: ProgressStore, partition: number, sequence: number, nowMs: number): DeliveryState => {
  const lease = store.leases(partition).find((found) => holds(found, sequence));
  if (lease !== undefined) return leaseState(lease, lease.expiresAtMs, null, nowMs);
  const exception = store.exception(partition, sequence);
  if (exception !== null) return exceptionState(exception, nowMs);
  const letter = store.deadLetter(partition, sequence);
  if (letter !== null) return { state: "dead", attempt: letter.attempts, deadAtMs: letter.deadAtMs, lastError: letter.reason };
  return sequence > store.head(partition).cursor ? { state: "undelivered" } : { state: "settled" };
};

const exceptionState = (exception: Exception, nowMs: number): DeliveryState => {
  const { attempt, reason: lastError } = exception;
  const dueAtMs = exception.dueAtMs ?? 0;
  switch (exception.state) {
    case "leased":
      return leaseState(exception, dueAtMs, lastError, nowMs);
    case "retrying":
      return { state: "retrying", attempt, dueAtMs, failedAtMs: exception.failedAtMs ?? 0, lastError };
    case "pending":
      return { state: "pending", attempt, lastError };
    case "parked":
      return { state: "parked" };
    default:
      return exception.state satisfies never;
  }
};

const leaseState = (
  lease: { attempt: number; token: number; consumerId: string | null; leasedAtMs: number },
  expiresAtMs: number,
  lastError: string | null,
  nowMs: number,
): DeliveryState => ({
  state: expiresAtMs > nowMs ? "leased" : "expired",
  attempt: lease.attempt,
  token: lease.token,
  consumerId: lease.consumerId ?? "",
  leasedAtMs: lease.leasedAtMs,
  expiresAtMs,
  lastError,
});

/** Leases not yet settled, by (partition, sequence). */
export const leaseRecords = (store: ProgressStore, limit: number): LeaseRecord[] => {
  const found: LeaseRecord[] = [];
  for (let partition = 0; partition < store.partitions && found.length < limit; partition++) {
    const here = [...rangeRecords(store, partition), ...exceptionRecords(store, partition)];
    found.push(...here.sort((a, b) => a.sequence - b.sequence).slice(0, limit - found.length));
  }
  return found;
};

const rangeRecords = (store: ProgressStore, partition: number): LeaseRecord[] =>
  store
    .leases(partition)
    .flatMap((lease) => openSequences(lease).map((sequence) => record(partition, sequence, lease, lease.expiresAtMs)));

const exceptionRecords = (store: ProgressStore, partition: number): LeaseRecord[] =>
  store
    .exceptions(partition)
    .filter((exception) => exception.state === "leased")
    .map((exception) => record(partition, exception.sequence, exception, exception.dueAtMs ?? 0));

const record = (
  partition: number,
  sequence: number,
  lease: { token: number; attempt: number; consumerId: string | null; leasedAtMs: number },
  expiresAtMs: number,
): LeaseRecord => ({
  partition,
  sequence,
  token: lease.token,
  attempt: lease.attempt,
  consumerId: lease.consumerId ?? "",
  leasedAtMs: lease.leasedAtMs,
  expiresAtMs,
});

/** Dead letters read at a time. */
const LETTERS_PAGE = 200;

interface Place {
  readonly partition: number;
  readonly sequence: number;
}

/**
 * By (partition, sequence). `placeOfEvent`: where an event of the stream stands, or null.
 * @throws cursor_not_found
 */
export const deadLetterRecords = (
  store: ProgressStore,
  { after, limit, where }: DeadLetterRequest,
  placeOfEvent: (id: string) => Place | null,
): DeadLetterRecord[] => {
  const matches = where === null ? null : compileFilter(where);
  const found: DeadLetterRecord[] = [];
  const start = after === null ? { partition: 0, sequence: 0 } : placeToGoOnAfter(store, after, placeOfEvent);
  for (let { partition, sequence } = start; partition < store.partitions; partition++, sequence = 0) {
    for (const letter of lettersOf(store, partition, sequence, matches)) {
      found.push(letter);
      if (found.length >= limit) return found;
    }
  }
  return found;
};

function* lettersOf(
  store: ProgressStore,
  partition: number,
  after: number,
  matches: Matcher | null,
): Generator<DeadLetterRecord> {
  for (let last = after; ; ) {
    const page = store.deadLetters(partition, last, LETTERS_PAGE);
    for (const letter of page) {
      // one at a time: a page of the largest events would be gigabytes
      const [event] = store.eventsAt(partition, [letter.sequence], 1);
      if (matches !== null && (event === undefined || !matches(store.group.stream, event))) continue;
      yield { ...letter, partition, event: event ?? null };
    }
    const end = page[page.length - 1];
    if (end === undefined || page.length < LETTERS_PAGE) return;
    last = end.sequence;
  }
}

const placeToGoOnAfter = (store: ProgressStore, id: string, placeOfEvent: (id: string) => Place | null): Place => {
  const place = placeOfEvent(id) ?? store.placeOfDeadLetter(id);
  if (place !== null) return place;
  const { stream } = store.group;
  throw new RheoError(
    "cursor_not_found",
    `There is no event "${id}" in stream "${stream}" to go on after. Start again without "after".`,
    { stream, id },
  );
};
