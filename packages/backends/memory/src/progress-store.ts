/** The records of one group in maps and arrays, with the bounds that let an idle fetch see at once that there is nothing. */
import type { EventRecord, GroupRecord, Watermark } from "@rheo/core";
import {
  type Candidate,
  type DeadLetter,
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
import type { PartitionLog } from "./schema.ts";
import { Sorted } from "./sorted.ts";

const NEVER = Number.POSITIVE_INFINITY;

class Partition {
  head: Head;
  readonly leases = new Map<number, RangeLease[]>();
  readonly exceptions = new Sorted<Exception>();
  readonly deadLetters = new Sorted<DeadLetter>();
  readonly revocations: Revocation[] = [];
  /** Open positions of all leases. */
  open = 0;
  /** Not later than the earliest expiry. */
  expiryBoundMs = NEVER;
  /** Not later than the earliest due exception. */
  dueBoundMs = NEVER;

  constructor(cursor: number, token: number) {
    this.head = { cursor, token, resetToken: token, start: cursor, skipped: 0 }; // tokens of a deleted group of this name are at or below it
  }

  *allLeases(): Generator<RangeLease> {
    for (const leases of this.leases.values()) yield* leases;
  }
}

export class GroupProgress implements ProgressStore {
  group: GroupRecord;
  readonly turn: progress.Turn = progress.newTurn();
  readonly partitions: number;
  readonly #logs: readonly PartitionLog[];
  readonly #parts: Partition[];
  readonly #members = new Map<string, number>();
  #alone = 0;

  constructor(group: GroupRecord, logs: readonly PartitionLog[], tokenFloor: number) {
    this.group = group;
    this.partitions = logs.length;
    this.#logs = logs;
    this.#parts = logs.map(() => new Partition(0, tokenFloor));
  }

  highestToken(): number {
    return this.#parts.reduce((highest, part) => Math.max(highest, part.head.token), 0);
  }

  // Looking for work

  survey(nowMs: number, partitions: readonly number[] | null): Survey {
    const candidates: Candidate[] = [];
    let inflight = 0;
    for (const [partition, part] of this.#parts.entries()) {
      inflight += this.#inflight(part, nowMs);
      if (partitions !== null && !partitions.includes(partition)) continue;
      const candidate = this.#candidate(partition, part, nowMs);
      if (candidate !== null) candidates.push(candidate);
    }
    return { candidates, inflight, alone: this.#alone > 0 };
  }

  #candidate(partition: number, part: Partition, nowMs: number): Candidate | null {
    const backlog = part.head.cursor < this.#log(partition).highWatermark;
    const due = part.dueBoundMs <= nowMs && this.#tightenDue(part) <= nowMs;
    const expired = part.expiryBoundMs <= nowMs && this.#tightenExpiry(part) <= nowMs;
    const exceptions = part.exceptions.size > 0;
    return backlog || due || expired || exceptions ? { partition, backlog, due, expired, exceptions } : null;
  }

  #inflight(part: Partition, nowMs: number): number {
    let inflight = part.open;
    if (part.expiryBoundMs <= nowMs) for (const lease of part.allLeases()) if (lease.expiresAtMs <= nowMs) inflight -= lease.open;
    for (const exception of part.exceptions.values())
      if (exception.state === "leased" && (exception.dueAtMs ?? 0) > nowMs) inflight += 1;
    return inflight;
  }

  #tightenDue(part: Partition): number {
    part.dueBoundMs = NEVER;
    for (const { dueAtMs } of part.exceptions.values())
      if (dueAtMs !== null && dueAtMs < part.dueBoundMs) part.dueBoundMs = dueAtMs;
    return part.dueBoundMs;
  }

  #tightenExpiry(part: Partition): number {
    part.expiryBoundMs = NEVER;
    for (const { expiresAtMs } of part.allLeases()) if (expiresAtMs < part.expiryBoundMs) part.expiryBoundMs = expiresAtMs;
    return part.expiryBoundMs;
  }

  heldBy(consumerId: string, nowMs: number): Held[] {
    const held: Held[] = [];
    for (const [partition, part] of this.#parts.entries()) {
      for (const lease of part.allLeases())
        if (lease.consumerId === consumerId && lease.expiresAtMs > nowMs) held.push({ ...lease, partition });
      for (const exception of part.exceptions.values()) {
        if (exception.state === "leased" && exception.consumerId === consumerId && (exception.dueAtMs ?? 0) > nowMs)
          held.push({ ...exception, partition });
      }
    }
    return held;
  }

  // Heads and leases

  head(partition: number): Head {
    return this.#part(partition).head;
  }

  putHead(partition: number, head: Head): void {
    this.#part(partition).head = head;
  }

  leases(partition: number): readonly RangeLease[] {
    return [...this.#part(partition).allLeases()].sort((a, b) => a.first - b.first);
  }

  expiredLeases(partition: number, nowMs: number): readonly RangeLease[] {
    return this.leases(partition).filter((lease) => lease.expiresAtMs <= nowMs);
  }

  leasesOfToken(partition: number, token: number): readonly RangeLease[] {
    return this.#part(partition).leases.get(token) ?? [];
  }

  putLease(partition: number, lease: RangeLease): void {
    this.deleteLease(partition, lease.token, lease.first);
    const part = this.#part(partition);
    part.leases.set(lease.token, [...(part.leases.get(lease.token) ?? []), lease]);
    part.open += lease.open;
    part.expiryBoundMs = Math.min(part.expiryBoundMs, lease.expiresAtMs);
    if (lease.alone > 0) this.#alone += 1;
  }

  deleteLease(partition: number, token: number, first: number): void {
    const part = this.#part(partition);
    const leases = part.leases.get(token);
    const lease = leases?.find((found) => found.first === first);
    if (leases === undefined || lease === undefined) return;
    if (leases.length === 1) part.leases.delete(token);
    else
      part.leases.set(
        token,
        leases.filter((found) => found !== lease),
      );
    part.open -= lease.open;
    if (lease.alone > 0) this.#alone -= 1;
  }

  // Exceptions

  exception(partition: number, sequence: number): Exception | null {
    return this.#part(partition).exceptions.get(sequence);
  }

  exceptions(partition: number): readonly Exception[] {
    return [...this.#part(partition).exceptions.values()];
  }

  dueExceptions(partition: number, nowMs: number, limit: number): readonly Exception[] {
    const due = this.#part(partition)
      .exceptions.values()
      .filter(({ dueAtMs }) => dueAtMs !== null && dueAtMs <= nowMs);
    return due.sort((a, b) => (a.dueAtMs ?? 0) - (b.dueAtMs ?? 0) || a.sequence - b.sequence).slice(0, limit);
  }

  exceptionCount(partition: number): number {
    return this.#part(partition).exceptions.size;
  }

  firstException(partition: number): number | null {
    return this.#part(partition).exceptions.first?.sequence ?? null;
  }

  tallyExceptions(partition: number, nowMs: number): ExceptionTally {
    const held: { consumerId: string; leases: number }[] = [];
    let retrying = 0;
    for (const { state, consumerId, dueAtMs } of this.#part(partition).exceptions.values()) {
      if (state === "retrying") retrying += 1;
      if (state === "leased" && (dueAtMs ?? 0) > nowMs) held.push({ consumerId: consumerId ?? "", leases: 1 });
    }
    return { retrying, held };
  }

  putException(partition: number, exception: Exception): void {
    this.deleteException(partition, exception.sequence);
    const part = this.#part(partition);
    part.exceptions.put(exception);
    part.dueBoundMs = Math.min(part.dueBoundMs, exception.dueAtMs ?? NEVER);
    if (exception.alone > 0) this.#alone += 1;
  }

  deleteException(partition: number, sequence: number): void {
    const { exceptions } = this.#part(partition);
    const exception = exceptions.get(sequence);
    if (exception === null) return;
    exceptions.delete(sequence);
    if (exception.alone > 0) this.#alone -= 1;
  }

  // Dead letters and revocations

  deadLetter(partition: number, sequence: number): DeadLetter | null {
    return this.#part(partition).deadLetters.get(sequence);
  }

  deadLetters(partition: number, after: number, limit: number): readonly DeadLetter[] {
    return this.#part(partition).deadLetters.after(after, limit);
  }

  deadLetterCount(partition: number): number {
    return this.#part(partition).deadLetters.size;
  }

  placeOfDeadLetter(eventId: string): { partition: number; sequence: number } | null {
    for (const [partition, { deadLetters }] of this.#parts.entries()) {
      const letter = deadLetters.values().find((found) => found.eventId === eventId);
      if (letter !== undefined) return { partition, sequence: letter.sequence };
    }
    return null;
  }

  putDeadLetter(partition: number, letter: DeadLetter): void {
    this.#part(partition).deadLetters.put(letter);
  }

  deleteDeadLetter(partition: number, sequence: number): void {
    this.#part(partition).deadLetters.delete(sequence);
  }

  revocationsOfToken(partition: number, token: number): readonly Revocation[] {
    return this.#part(partition).revocations.filter((revocation) => revocation.token === token);
  }

  addRevocation(partition: number, revocation: Revocation): void {
    const { revocations } = this.#part(partition);
    revocations.push(revocation);
    revocations.sort((a, b) => a.token - b.token);
    revocations.splice(0, Math.max(0, revocations.length - progress.REVOCATIONS_KEPT));
  }

  oldestRevocation(partition: number): number {
    const { revocations } = this.#part(partition);
    return revocations.length < progress.REVOCATIONS_KEPT ? 0 : (revocations[0]?.token ?? 0);
  }

  clear(partition: number): void {
    for (const lease of this.leases(partition)) this.deleteLease(partition, lease.token, lease.first);
    this.clearAbove(partition, 0);
    this.#part(partition).revocations.length = 0;
  }

  clearAbove(partition: number, sequence: number): void {
    for (const exception of this.exceptions(partition))
      if (exception.sequence > sequence) this.deleteException(partition, exception.sequence);
    this.#part(partition).deadLetters.deleteAbove(sequence);
  }

  // The log

  watermark(partition: number): Watermark {
    return this.#log(partition).watermark();
  }

  events(partition: number, after: number, limit: number, maxBytes: number): readonly EventRecord[] {
    return cutToBytes(this.#log(partition).slice(after, NEVER, limit, false), maxBytes);
  }

  eventsAt(partition: number, sequences: readonly number[], maxBytes: number): readonly EventRecord[] {
    return cutToBytes(this.headersAt(partition, sequences), maxBytes);
  }

  headersAt(partition: number, sequences: readonly number[]): EventRecord[] {
    const log = this.#log(partition);
    return sequences.flatMap((sequence) => log.get(sequence) ?? []);
  }

  sequenceAtTime(partition: number, timeMs: number): number {
    return this.#log(partition).sequenceAtTime(timeMs);
  }

  // Members

  touchMember(consumerId: string, nowMs: number): void {
    this.#members.set(consumerId, nowMs);
    if (this.#members.size > MEMBERS_KEPT) this.#members.delete(this.#oldestMember());
  }

  members(): readonly { readonly consumerId: string; readonly lastSeenAtMs: number }[] {
    return [...this.#members].map(([consumerId, lastSeenAtMs]) => ({ consumerId, lastSeenAtMs }));
  }

  #oldestMember(): string {
    const [oldest] = [...this.#members].sort(([, a], [, b]) => a - b);
    return oldest?.[0] ?? "";
  }

  #part(partition: number): Partition {
    const part = this.#parts[partition];
    if (part === undefined) throw new RangeError(`no partition ${partition}`);
    return part;
  }

  #log(partition: number): PartitionLog {
    const log = this.#logs[partition];
    if (log === undefined) throw new RangeError(`no partition ${partition}`);
    return log;
  }
}

/** Members remembered per group: enough for a large deployment through several restarts. */
const MEMBERS_KEPT = 1_000;

/** The longest prefix within `maxBytes`, at least one. */
export const cutToBytes = (records: EventRecord[], maxBytes: number): EventRecord[] => {
  let bytes = 0;
  for (const [index, record] of records.entries()) {
    bytes += record.bytes ?? 0;
    if (bytes > maxBytes && index > 0) return records.slice(0, index);
  }
  return records;
};
