/** Replay, reset and redrive: deliveries that were offered become pending again (T1, T7). */
import type { RedriveRequest, ReplayRequest } from "../backend.ts";
import { RheoError } from "../errors.ts";
import { compileFilter } from "../filter.ts";
import type { ResolvedStart } from "../group.ts";
import { LIMITS } from "../limits.ts";
import { queryMatcher } from "../query.ts";
import { holds, openSequences, withoutSequences } from "./ranges.ts";
import type { ProgressStore } from "./records.ts";
import { replaceLease, revoke, unstarted } from "./writes.ts";

const PAGE = 1_000;

/** The cursor of a group that starts, or starts again, in a partition (G1). */
export const startCursor = (
  store: Pick<ProgressStore, "watermark" | "sequenceAtTime">,
  partition: number,
  start: ResolvedStart,
): number => {
  const { firstSequence, highWatermark } = store.watermark(partition);
  switch (start.kind) {
    case "earliest":
      return firstSequence - 1;
    case "latest":
      return highWatermark;
    case "after":
      return Math.min(highWatermark, Math.max(firstSequence - 1, start.after[partition] ?? 0));
    case "time":
      return Math.max(firstSequence, store.sequenceAtTime(partition, start.timeMs)) - 1;
    default:
      return start satisfies never;
  }
};

export const replay = (store: ProgressStore, request: ReplayRequest): number => {
  const partitions = request.partitions ?? Array.from({ length: store.partitions }, (_, partition) => partition);
  const { scope } = request;
  if (scope.kind === "query") {
    const wanted = partitions.filter((partition) => scope.query.partitions.includes(partition));
    return wanted.reduce((sum, partition) => sum + replayQuery(store, partition, scope, request.dryRun), 0);
  }
  if (scope.kind === "after" && partitions.every((partition) => scope.after > store.watermark(partition).highWatermark)) {
    throw new RheoError(
      "nothing_to_replay",
      `No partition of "${request.stream}" has a sequence ${scope.after}: there is nothing after it to replay for "${request.group}".`,
      { stream: request.stream, group: request.group },
    );
  }
  return partitions.reduce((sum, partition) => {
    const after = scope.kind === "after" ? scope.after : store.sequenceAtTime(partition, scope.timeMs) - 1;
    const first = Math.max(after, firstOffered(store, partition) - 1);
    return sum + (request.dryRun ? countRewound(store, partition, first) : rewind(store, partition, first));
  }, 0);
};

/** The first retained sequence that was ever offered to the group: it began there or later. */
const firstOffered = (store: ProgressStore, partition: number): number =>
  Math.max(store.watermark(partition).firstSequence, store.head(partition).start + 1);

/** What {@link rewind} would re-open. */
const countRewound = (store: ProgressStore, partition: number, after: number): number => {
  const { cursor } = store.head(partition);
  return after >= cursor ? 0 : countOffered(store, partition, after, cursor);
};

/** Moves the cursor back: one write however many deliveries that re-opens. */
const rewind = (store: ProgressStore, partition: number, after: number): number => {
  const head = store.head(partition);
  if (after >= head.cursor) return 0;
  for (const lease of store.leases(partition)) {
    const taken = openSequences(lease).filter((sequence) => sequence > after);
    if (taken.length === 0) continue;
    replaceLease(store, partition, lease, withoutSequences(lease, taken));
    revoke(store, partition, lease.token, taken, "reset");
  }
  for (const exception of store.exceptions(partition)) {
    if (exception.sequence > after && exception.state === "leased")
      revoke(store, partition, exception.token, [exception.sequence], "reset");
  }
  store.clearAbove(partition, after);
  store.putHead(partition, { ...store.head(partition), cursor: after });
  return countOffered(store, partition, after, head.cursor);
};

/** Deliveries in (after, until]: those that the group's filter lets through. */
const countOffered = (store: ProgressStore, partition: number, after: number, until: number): number => {
  const { filter } = store.group.options;
  if (filter === null) return until - after;
  const matches = compileFilter(filter);
  let count = 0;
  for (const event of offered(store, partition, after, until)) if (matches(store.group.stream, event)) count += 1;
  return count;
};

function* offered(
  store: ProgressStore,
  partition: number,
  after: number,
  until: number,
): Generator<ReturnType<ProgressStore["events"]>[number]> {
  for (let last = after; last < until; ) {
    const page = store.events(partition, last, PAGE, LIMITS.fetchBytes);
    if (page.length === 0) return;
    for (const event of page) {
      if (event.sequence > until) return;
      yield event;
      last = event.sequence;
    }
  }
}

const replayQuery = (
  store: ProgressStore,
  partition: number,
  scope: Extract<ReplayRequest["scope"], { kind: "query" }>,
  dryRun: boolean,
): number => {
  const { query } = scope;
  const matches = queryMatcher(query);
  const passes = compileFilter(store.group.options.filter);
  const { stream } = store.group;
  const after = Math.max(query.after[partition] ?? 0, firstOffered(store, partition) - 1);
  const until = Math.min(query.until[partition] ?? 0, store.head(partition).cursor);
  let count = 0;
  for (const event of offered(store, partition, after, until)) {
    if (!matches(stream, event) || !passes(stream, event)) continue;
    if (!dryRun) reopen(store, partition, event.sequence, event.key);
    count += 1;
  }
  return count;
};

/** Makes one offered delivery pending with attempt 0, whatever it was; its lease is stale. */
const reopen = (store: ProgressStore, partition: number, sequence: number, key: string | null): void => {
  const lease = store.leases(partition).find((found) => holds(found, sequence));
  if (lease !== undefined) {
    replaceLease(store, partition, lease, withoutSequences(lease, [sequence]));
    revoke(store, partition, lease.token, [sequence], "reset");
  }
  const exception = store.exception(partition, sequence);
  if (exception?.state === "leased") revoke(store, partition, exception.token, [sequence], "reset");
  store.deleteDeadLetter(partition, sequence);
  store.putException(partition, unstarted(sequence, keyToKeep(store, key), "pending"));
};

/** Starts the group anew: leases are stale, dead letters gone. How many offered deliveries are open again. */
export const reset = (store: ProgressStore, start: ResolvedStart): number => {
  let count = 0;
  for (let partition = 0; partition < store.partitions; partition++) {
    const head = store.head(partition);
    const cursor = startCursor(store, partition, start);
    const { firstSequence } = store.watermark(partition);
    store.clear(partition);
    // one token is spent, so that every token given before is at or below the floor
    const token = head.token + 1;
    store.putHead(partition, { cursor, token, resetToken: token, start: cursor, skipped: 0 });
    if (cursor < head.cursor) count += countOffered(store, partition, Math.max(cursor, firstSequence - 1), head.cursor);
  }
  return count;
};

/** Dead letters become pending, or go for good; those whose event was trimmed can only be purged. */
export const redrive = (store: ProgressStore, { stream, select, purge }: RedriveRequest): number => {
  const matches = select.kind === "where" ? compileFilter(select.where) : null;
  let count = 0;
  for (const { partition, sequence } of select.kind === "ids" ? placesOf(store, select.ids) : allDeadLetters(store)) {
    const [header] = store.headersAt(partition, [sequence]);
    if (matches !== null && !store.eventsAt(partition, [sequence], 1).some((event) => matches(stream, event))) continue;
    if (header === undefined && !purge) continue;
    store.deleteDeadLetter(partition, sequence);
    if (!purge) store.putException(partition, unstarted(sequence, keyToKeep(store, header?.key ?? null), "pending"));
    count += 1;
  }
  return count;
};

interface Place {
  readonly partition: number;
  readonly sequence: number;
}

const placesOf = (store: ProgressStore, ids: readonly string[]): Place[] =>
  [...new Set(ids)].flatMap((id) => store.placeOfDeadLetter(id) ?? []);

function* allDeadLetters(store: ProgressStore): Generator<Place> {
  for (let partition = 0; partition < store.partitions; partition++) {
    for (let after = 0; ; ) {
      const page = store.deadLetters(partition, after, PAGE);
      for (const { sequence } of page) yield { partition, sequence };
      const last = page[page.length - 1];
      if (last === undefined || page.length < PAGE) break;
      after = last.sequence;
    }
  }
}

/** Exceptions carry the key only where the order of keys is kept. */
const keyToKeep = (store: ProgressStore, key: string | null): string | null =>
  store.group.options.ordering === "key" ? key : null;
