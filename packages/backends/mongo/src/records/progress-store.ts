/** The records of one group, as the arithmetic of `@rheo/core` reads and writes them: over what was loaded. What was not is thrown as {@link Missing}. */
import type { EventRecord, GroupRecord, Watermark } from "@rheo/core";
import {
  type Candidate,
  type DeadLetter,
  type EventHeader,
  type Exception,
  type ExceptionTally,
  type Head,
  type Held,
  type ProgressStore,
  progress,
  type RangeLease,
  type Revocation,
  type Survey,
} from "@rheo/core/internal";
import type { GroupRecords } from "./group-records.ts";
import * as log from "./log.ts";
import { Missing } from "./missing.ts";
import type { PartitionRecords } from "./partition-records.ts";

/** Records loaded together when one of them is asked for: those beside it mostly follow. */
const NEIGHBOURS = 100;
/** Exceptions looked at to see whether any is due. */
const DUE_PAGE = 100;
const ALL = Number.POSITIVE_INFINITY;

export class MongoProgressStore implements ProgressStore {
  readonly group: GroupRecord;
  readonly partitions: number;
  readonly #records: GroupRecords;

  constructor(records: GroupRecords) {
    this.#records = records;
    this.group = records.isFiltered ? withEmptyFilter(records.group.record) : records.group.record;
    this.partitions = records.group.partitions;
  }

  // Looking for work

  survey(nowMs: number, partitions: readonly number[] | null): Survey {
    this.#requireDue(nowMs, partitions);
    const wanted = partitions === null ? null : new Set(partitions);
    const candidates: Candidate[] = [];
    let inflight = 0;
    let alone = false;
    for (const [partition, part] of this.#records.partitions.entries()) {
      const expired = part.leases.some((lease) => lease.expiresAtMs <= nowMs);
      for (const lease of part.leases) if (lease.expiresAtMs > nowMs) inflight += lease.open;
      alone ||= part.leases.some((lease) => lease.alone > 0);
      if (wanted !== null && !wanted.has(partition)) continue;
      const backlog = part.state.highWatermark > part.head.cursor;
      const due = this.dueExceptions(partition, nowMs, 1).length > 0;
      const exceptions = part.counts.exceptions > 0;
      if (backlog || expired || due || exceptions) candidates.push({ partition, backlog, due, expired, exceptions });
    }
    for (const { exception } of this.#leasedExceptions()) {
      if ((exception.dueAtMs ?? 0) > nowMs) inflight += 1;
      alone ||= exception.alone > 0;
    }
    return { candidates, inflight, alone };
  }

  /** Asks for what is due in all partitions at once. */
  #requireDue(nowMs: number, partitions: readonly number[] | null): void {
    const unknown = this.#records.partitions.flatMap((part, partition) =>
      part.due === null && !part.exceptions.isWhole && (part.stored.dueAtMs ?? ALL) <= nowMs ? [partition] : [],
    );
    const wanted = partitions === null ? unknown : unknown.filter((partition) => partitions.includes(partition));
    if (wanted.length > 0) throw new Missing({ kind: "due", partitions: wanted, limit: DUE_PAGE });
  }

  heldBy(consumerId: string, nowMs: number): readonly Held[] {
    this.#records.counted.add(consumerId);
    const held: Held[] = [];
    for (const [partition, part] of this.#records.partitions.entries()) {
      for (const lease of part.leases)
        if (lease.consumerId === consumerId && lease.expiresAtMs > nowMs) held.push({ ...lease, partition });
    }
    for (const { partition, exception } of this.#leasedExceptions()) {
      if (exception.consumerId === consumerId && (exception.dueAtMs ?? 0) > nowMs) held.push({ ...exception, partition });
    }
    return held;
  }

  #leasedExceptions(): { readonly partition: number; readonly exception: Exception }[] {
    if (!this.#records.hasLeasedExceptions) throw new Missing({ kind: "leasedExceptions" });
    return this.#records.partitions.flatMap((part, partition) => {
      if (part.counts.leased === 0) return [];
      const leased = [...part.exceptions.current()].filter(({ state }) => state === "leased");
      return leased.map((exception) => ({ partition, exception }));
    });
  }

  // Heads and leases

  head(partition: number): Head {
    return this.#part(partition).head;
  }

  putHead(partition: number, head: Head): void {
    this.#part(partition).head = head;
  }

  leases(partition: number): readonly RangeLease[] {
    return this.#part(partition).leases;
  }

  expiredLeases(partition: number, nowMs: number): readonly RangeLease[] {
    return this.leases(partition).filter((lease) => lease.expiresAtMs <= nowMs);
  }

  leasesOfToken(partition: number, token: number): readonly RangeLease[] {
    return this.leases(partition).filter((lease) => lease.token === token);
  }

  putLease(partition: number, lease: RangeLease): void {
    this.#part(partition).putLease(lease);
  }

  deleteLease(partition: number, token: number, first: number): void {
    this.#part(partition).deleteLease(token, first);
  }

  // Exceptions

  exception(partition: number, sequence: number): Exception | null {
    const part = this.#part(partition);
    const found = part.exceptions.get(sequence);
    if (found !== undefined) return found;
    const expected = part.expected.filter((other) => part.exceptions.get(other) === undefined);
    const sequences = expected.includes(sequence) ? expected : [sequence, ...expected];
    throw new Missing({ kind: "exceptionsAt", partition, sequences: sequences.sort((a, b) => a - b) });
  }

  exceptions(partition: number): readonly Exception[] {
    return this.#exceptionsAfter(partition, 0, ALL);
  }

  #exceptionsAfter(partition: number, after: number, limit: number): readonly Exception[] {
    const found = this.#part(partition).exceptions.after(after, limit);
    if (typeof found === "number") throw new Missing({ kind: "exceptions", partition, after: found, limit });
    return found;
  }

  dueExceptions(partition: number, nowMs: number, limit: number): readonly Exception[] {
    const { exceptions, counts, stored, due } = this.#part(partition);
    if (counts.exceptions === 0 || limit <= 0) return [];
    const isDue = (exception: Exception): boolean => exception.dueAtMs !== null && exception.dueAtMs <= nowMs;
    const changed = [...exceptions.changes.values()].filter((exception) => exception !== null).filter(isDue);
    const storedMayBeDue = !exceptions.isWhole && (stored.dueAtMs ?? ALL) <= nowMs && exceptions.clearedAbove === null;
    if (!storedMayBeDue) {
      const all = exceptions.isWhole ? [...exceptions.current()].filter(isDue) : changed;
      return all.sort(byDue).slice(0, limit);
    }
    if (due === null) throw new Missing({ kind: "due", partitions: [partition], limit });
    const kept = due.sequences.filter((sequence) => !exceptions.changes.has(sequence));
    const found = kept.flatMap((sequence) => exceptions.get(sequence) ?? []).filter(isDue);
    const mayBeMore = due.nextMs !== null && due.nextMs <= nowMs;
    if (mayBeMore && found.length + changed.length < limit)
      throw new Missing({ kind: "due", partitions: [partition], limit: Math.max(limit, due.limit) + exceptions.changes.size });
    return [...found, ...changed].sort(byDue).slice(0, limit);
  }

  exceptionCount(partition: number): number {
    return this.#part(partition).counts.exceptions;
  }

  firstException(partition: number): number | null {
    return this.#exceptionsAfter(partition, 0, 1)[0]?.sequence ?? null;
  }

  tallyExceptions(partition: number, nowMs: number): ExceptionTally {
    const part = this.#part(partition);
    if (part.counts.exceptions === 0) return { retrying: 0, held: [] };
    if (part.retrying === null) throw new Missing({ kind: "retrying", partition });
    const held = this.#leasedExceptions().filter(
      ({ partition: at, exception }) => at === partition && (exception.dueAtMs ?? 0) > nowMs,
    );
    return {
      retrying: part.retrying,
      held: held.map(({ exception }) => ({ consumerId: exception.consumerId ?? "", leases: 1 })),
    };
  }

  putException(partition: number, exception: Exception): void {
    const { exceptions, counts } = this.#part(partition);
    // what is open in a range or dead is no exception, so one that was not looked for is new
    const before = exceptions.get(exception.sequence) ?? null;
    if (before === null) counts.exceptions += 1;
    counts.leased += Number(exception.state === "leased") - Number(before?.state === "leased");
    exceptions.put(exception);
  }

  deleteException(partition: number, sequence: number): void {
    const before = this.exception(partition, sequence);
    if (before === null) return;
    const { exceptions, counts } = this.#part(partition);
    counts.exceptions -= 1;
    if (before.state === "leased") counts.leased -= 1;
    exceptions.delete(sequence);
  }

  // Dead letters and revocations

  deadLetter(partition: number, sequence: number): DeadLetter | null {
    const found = this.#part(partition).deadLetters.get(sequence);
    if (found === undefined) throw new Missing({ kind: "deadLetters", partition, after: sequence - 1, limit: NEIGHBOURS });
    return found;
  }

  deadLetters(partition: number, after: number, limit: number): readonly DeadLetter[] {
    const found = this.#part(partition).deadLetters.after(after, limit);
    if (typeof found === "number") throw new Missing({ kind: "deadLetters", partition, after: found, limit });
    return found;
  }

  deadLetterCount(partition: number): number {
    return this.#part(partition).counts.deadLetters;
  }

  placeOfDeadLetter(eventId: string): { readonly partition: number; readonly sequence: number } | null {
    const found = this.#records.deadLetterOf.get(eventId);
    if (found === undefined) throw new Missing({ kind: "deadLetterOf", eventId });
    return found !== null && this.deadLetter(found.partition, found.sequence) === null ? null : found;
  }

  putDeadLetter(partition: number, letter: DeadLetter): void {
    const { deadLetters, counts } = this.#part(partition);
    // one that was open is not dead, so one that was not looked for is new
    if ((deadLetters.get(letter.sequence) ?? null) === null) counts.deadLetters += 1;
    deadLetters.put(letter);
  }

  deleteDeadLetter(partition: number, sequence: number): void {
    if (this.deadLetter(partition, sequence) === null) return;
    const { deadLetters, counts } = this.#part(partition);
    counts.deadLetters -= 1;
    deadLetters.delete(sequence);
  }

  revocationsOfToken(partition: number, token: number): readonly Revocation[] {
    return this.#revocations(partition).filter((revocation) => revocation.token === token);
  }

  addRevocation(partition: number, revocation: Revocation): void {
    const part = this.#part(partition);
    if (part.counts.revocations >= progress.REVOCATIONS_KEPT) this.#dropRevocation(partition);
    part.addedRevocations.push(revocation);
    part.counts.revocations += 1;
  }

  #dropRevocation(partition: number): void {
    const part = this.#part(partition);
    const [lowest] = [...this.#revocations(partition)].sort((a, b) => a.token - b.token || a.first - b.first);
    if (lowest === undefined) return;
    const added = part.addedRevocations.indexOf(lowest);
    if (added === -1) part.droppedRevocations.push(lowest);
    else part.addedRevocations.splice(added, 1);
    part.counts.revocations -= 1;
  }

  oldestRevocation(partition: number): number {
    if (this.#part(partition).counts.revocations < progress.REVOCATIONS_KEPT) return 0;
    return this.#revocations(partition).reduce((least, { token }) => Math.min(least, token), ALL);
  }

  #revocations(partition: number): readonly Revocation[] {
    const { revocations, isCleared, addedRevocations, droppedRevocations } = this.#part(partition);
    if (isCleared) return addedRevocations;
    if (revocations === null) throw new Missing({ kind: "revocations", partition });
    return [...revocations.filter((revocation) => !droppedRevocations.includes(revocation)), ...addedRevocations];
  }

  clear(partition: number): void {
    this.#part(partition).clear();
  }

  clearAbove(partition: number, sequence: number): void {
    const part = this.#part(partition);
    const goneExceptions = this.#exceptionsAfter(partition, sequence, ALL);
    const goneLetters = this.#countDeadLettersAbove(part, partition, sequence);
    part.counts.exceptions -= goneExceptions.length;
    part.counts.leased -= goneExceptions.filter(({ state }) => state === "leased").length;
    part.counts.deadLetters -= goneLetters;
    part.exceptions.clearAbove(sequence);
    part.deadLetters.clearAbove(sequence);
  }

  #countDeadLettersAbove({ counts, deadLetters, deadLettersAbove }: PartitionRecords, partition: number, after: number): number {
    if (counts.deadLetters === 0) return 0;
    const known = deadLetters.after(after, ALL);
    if (typeof known !== "number") return known.length;
    const counted = deadLettersAbove.get(after);
    if (counted === undefined) throw new Missing({ kind: "deadLettersAbove", partition, after });
    return counted;
  }

  // The log

  watermark(partition: number): Watermark {
    const { firstSequence, highWatermark } = this.#part(partition).state;
    return { partition, firstSequence, highWatermark };
  }

  events(partition: number, after: number, limit: number, maxBytes: number): readonly EventRecord[] {
    return log.events(this.#part(partition), after, limit, maxBytes);
  }

  eventsAt(partition: number, sequences: readonly number[], maxBytes: number): readonly EventRecord[] {
    return log.eventsAt(this.#part(partition), sequences, maxBytes);
  }

  headersAt(partition: number, sequences: readonly number[]): readonly EventHeader[] {
    return log.headersAt(this.#part(partition), sequences);
  }

  sequenceAtTime(partition: number, timeMs: number): number {
    const found = this.#part(partition).atTime.get(timeMs);
    if (found === undefined) throw new Missing({ kind: "sequenceAtTime", partition, timeMs });
    return found;
  }

  /** Where an event of the stream stands; null when there is none. */
  placeOfEvent(eventId: string): { readonly partition: number; readonly sequence: number } | null {
    const found = this.#records.placeOfEvent.get(eventId);
    if (found === undefined) throw new Missing({ kind: "placeOfEvent", eventId });
    return found;
  }

  // Members

  touchMember(consumerId: string): void {
    this.#records.touched = consumerId;
  }

  members(): readonly { readonly consumerId: string; readonly lastSeenAtMs: number }[] {
    if (this.#records.members === null) throw new Missing({ kind: "members" });
    return this.#records.members;
  }

  #part(partition: number): PartitionRecords {
    return this.#records.at(partition);
  }
}

const withEmptyFilter = (group: GroupRecord): GroupRecord =>
  group.options.filter === null ? group : { ...group, options: { ...group.options, filter: {} } };

const byDue = (a: Exception, b: Exception): number => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0) || a.sequence - b.sequence;
