/**
 * The records of one group inside one transaction, as the arithmetic of `@rheo/core` reads and writes them. What each record
 * looks like as a row is in `tables/`.
 */
import type { EventRecord, GroupRecord, Watermark } from "@rheo/core";
import type { PartitionState, progress } from "@rheo/core/internal";
import { integer } from "./columns.ts";
import { type Surveyed, surveyGroup } from "./survey.ts";
import * as deadLetters from "./tables/dead-letters.ts";
import { readHeaders, readSequences, readSlice, sequenceAtTime } from "./tables/events.ts";
import * as exceptions from "./tables/exceptions.ts";
import type { GroupRow } from "./tables/groups.ts";
import * as leases from "./tables/leases.ts";
import { membersOf, type Touches, touchMember } from "./tables/members.ts";
import * as revocations from "./tables/revocations.ts";
import { partitionAt } from "./tables/streams.ts";
import type { Unit } from "./transaction.ts";

type ProgressStore = progress.ProgressStore;

const HEAD = "SELECT cursor, token, reset_token, skipped, start FROM rheo_heads WHERE group_id = ? AND partition = ?";
const PUT_HEAD = `INSERT INTO rheo_heads (group_id, partition, cursor, token, reset_token, skipped, start) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (group_id, partition) DO UPDATE SET cursor = excluded.cursor, token = excluded.token, reset_token = excluded.reset_token, skipped = excluded.skipped, start = excluded.start`;
// cost: the member's leases, found among those of the group
const HELD_RANGES =
  "SELECT partition, token, alone, takeovers, leased_at_ms FROM rheo_leases WHERE group_id = ? AND consumer_id = ? AND expires_at_ms > ?";
const HELD_EXCEPTIONS =
  "SELECT partition, token, alone, takeovers, leased_at_ms FROM rheo_exceptions WHERE group_id = ? AND consumer_id = ? AND state = 'leased' AND due_at_ms > ?";

const CLEARED = ["rheo_leases", "rheo_exceptions", "rheo_dead_letters", "rheo_revocations"] as const;
const WITH_SEQUENCE = ["rheo_exceptions", "rheo_dead_letters"] as const;

export class SqliteProgressStore implements ProgressStore {
  readonly group: GroupRecord;
  readonly partitions: number;
  readonly #unit: Unit;
  readonly #touches: Touches;
  readonly #groupId: number;
  readonly #row: GroupRow;
  /** What the transaction has seen; all writes to these go through here. */
  readonly #heads = new Map<number, progress.Head>();
  readonly #largestBytes = new Map<number, number>();
  readonly #partitions = new Map<number, PartitionState>();
  /** Partitions known to have no exceptions. Null: not surveyed. */
  #exceptional: Set<number> | null = null;

  constructor(unit: Unit, row: GroupRow, touches: Touches) {
    this.group = row.record;
    this.partitions = row.partitions;
    this.#row = row;
    this.#groupId = row.groupId;
    this.#unit = unit;
    this.#touches = touches;
  }

  survey(nowMs: number, partitions: readonly number[] | null): progress.Survey {
    const surveyed: Surveyed = surveyGroup(this.#unit.sql, this.#row, nowMs, partitions);
    for (const { partition, head, largestBytes } of surveyed.heads) {
      this.#heads.set(partition, head);
      this.#largestBytes.set(partition, largestBytes);
    }
    this.#exceptional = new Set(surveyed.exceptional);
    return surveyed.survey;
  }

  heldBy(consumerId: string, nowMs: number): readonly progress.Held[] {
    const rows = [
      ...this.#unit.sql.all(HELD_RANGES, this.#groupId, consumerId, nowMs),
      ...this.#unit.sql.all(HELD_EXCEPTIONS, this.#groupId, consumerId, nowMs),
    ];
    return rows.map((row) => ({
      partition: integer(row[0]),
      token: integer(row[1]),
      alone: leases.toAlone(row[2]),
      takeovers: integer(row[3]),
      leasedAtMs: integer(row[4]),
    }));
  }

  head(partition: number): progress.Head {
    const known = this.#heads.get(partition);
    if (known !== undefined) return known;
    const [cursor, token, resetToken, skipped, start] = this.#unit.sql.get(HEAD, this.#groupId, partition) ?? [];
    const head = {
      cursor: integer(cursor),
      token: integer(token),
      resetToken: integer(resetToken),
      skipped: integer(skipped),
      start: integer(start),
    };
    this.#heads.set(partition, head);
    return head;
  }

  putHead(partition: number, head: progress.Head): void {
    this.#unit.sql.run(PUT_HEAD, this.#groupId, partition, head.cursor, head.token, head.resetToken, head.skipped, head.start);
    this.#heads.set(partition, head);
  }

  leases(partition: number): readonly progress.RangeLease[] {
    return leases.leasesOf(this.#unit.sql, this.#groupId, partition);
  }

  expiredLeases(partition: number, nowMs: number): readonly progress.RangeLease[] {
    return leases.expiredLeases(this.#unit.sql, this.#groupId, partition, nowMs);
  }

  leasesOfToken(partition: number, token: number): readonly progress.RangeLease[] {
    return leases.leasesOfToken(this.#unit.sql, this.#groupId, partition, token);
  }

  putLease(partition: number, lease: progress.RangeLease): void {
    leases.putLease(this.#unit.sql, this.#groupId, partition, lease);
  }

  deleteLease(partition: number, token: number, first: number): void {
    leases.deleteLease(this.#unit.sql, this.#groupId, partition, token, first);
  }

  exception(partition: number, sequence: number): progress.Exception | null {
    return this.#hasNone(partition) ? null : exceptions.exceptionAt(this.#unit.sql, this.#groupId, partition, sequence);
  }

  exceptions(partition: number): readonly progress.Exception[] {
    return this.#hasNone(partition) ? [] : exceptions.exceptionsOf(this.#unit.sql, this.#groupId, partition);
  }

  dueExceptions(partition: number, nowMs: number, limit: number): readonly progress.Exception[] {
    return this.#hasNone(partition) ? [] : exceptions.dueExceptions(this.#unit.sql, this.#groupId, partition, nowMs, limit);
  }

  exceptionCount(partition: number): number {
    return this.#hasNone(partition) ? 0 : exceptions.countExceptions(this.#unit.sql, this.#groupId, partition);
  }

  firstException(partition: number): number | null {
    return this.#hasNone(partition) ? null : exceptions.firstException(this.#unit.sql, this.#groupId, partition);
  }

  tallyExceptions(partition: number, nowMs: number): progress.ExceptionTally {
    if (this.#hasNone(partition)) return { retrying: 0, held: [] };
    return exceptions.tallyExceptions(this.#unit.sql, this.#groupId, partition, nowMs);
  }

  putException(partition: number, exception: progress.Exception): void {
    this.#exceptional?.add(partition);
    exceptions.putException(this.#unit.sql, this.#groupId, partition, exception);
  }

  deleteException(partition: number, sequence: number): void {
    exceptions.deleteException(this.#unit.sql, this.#groupId, partition, sequence);
  }

  deadLetter(partition: number, sequence: number): progress.DeadLetter | null {
    return deadLetters.deadLetterAt(this.#unit.sql, this.#groupId, partition, sequence);
  }

  deadLetters(partition: number, after: number, limit: number): readonly progress.DeadLetter[] {
    return deadLetters.deadLettersOf(this.#unit.sql, this.#groupId, partition, after, limit);
  }

  deadLetterCount(partition: number): number {
    return deadLetters.countDeadLetters(this.#unit.sql, this.#groupId, partition);
  }

  placeOfDeadLetter(eventId: string): { partition: number; sequence: number } | null {
    return deadLetters.placeOfDeadLetter(this.#unit.sql, this.#groupId, eventId);
  }

  putDeadLetter(partition: number, letter: progress.DeadLetter): void {
    deadLetters.putDeadLetter(this.#unit.sql, this.#groupId, partition, letter);
  }

  deleteDeadLetter(partition: number, sequence: number): void {
    deadLetters.deleteDeadLetter(this.#unit.sql, this.#groupId, partition, sequence);
  }

  revocationsOfToken(partition: number, token: number): readonly progress.Revocation[] {
    return revocations.revocationsOfToken(this.#unit.sql, this.#groupId, partition, token);
  }

  addRevocation(partition: number, revocation: progress.Revocation): void {
    revocations.addRevocation(this.#unit.sql, this.#groupId, partition, revocation);
  }

  oldestRevocation(partition: number): number {
    return revocations.oldestRevocation(this.#unit.sql, this.#groupId, partition);
  }

  clear(partition: number): void {
    for (const table of CLEARED)
      this.#unit.sql.run(`DELETE FROM ${table} WHERE group_id = ? AND partition = ?`, this.#groupId, partition);
  }

  clearAbove(partition: number, sequence: number): void {
    for (const table of WITH_SEQUENCE) {
      this.#unit.sql.run(
        `DELETE FROM ${table} WHERE group_id = ? AND partition = ? AND sequence > ?`,
        this.#groupId,
        partition,
        sequence,
      );
    }
  }

  watermark(partition: number): Watermark {
    const { firstSequence, highWatermark } = this.#partition(partition);
    return { partition, firstSequence, highWatermark };
  }

  events(partition: number, after: number, limit: number, maxBytes: number): readonly EventRecord[] {
    const { streamId } = this.#row;
    const largestBytes = this.#largest(partition);
    return readSlice(this.#unit.sql, {
      streamId,
      partition,
      after,
      until: Number.MAX_SAFE_INTEGER,
      order: "asc",
      limit,
      maxBytes,
      largestBytes,
    });
  }

  eventsAt(partition: number, sequences: readonly number[], maxBytes: number): readonly EventRecord[] {
    const bounds = { maxBytes, largestBytes: this.#largest(partition) };
    return readSequences(this.#unit.sql, this.#row.streamId, partition, sequences, bounds);
  }

  headersAt(partition: number, sequences: readonly number[]): readonly progress.EventHeader[] {
    return readHeaders(this.#unit.sql, this.#row.streamId, partition, sequences);
  }

  sequenceAtTime(partition: number, timeMs: number): number {
    return sequenceAtTime(this.#unit.sql, this.#row.streamId, partition, this.#partition(partition), timeMs);
  }

  touchMember(consumerId: string, nowMs: number): void {
    touchMember({ ...this.#unit, nowMs }, this.#touches, this.#groupId, this.group.options.leaseMs, consumerId);
  }

  members(): readonly { readonly consumerId: string; readonly lastSeenAtMs: number }[] {
    return membersOf(this.#unit.sql, this.#groupId);
  }

  #largest(partition: number): number {
    return this.#largestBytes.get(partition) ?? this.#partition(partition).largestBytes;
  }

  #hasNone(partition: number): boolean {
    return this.#exceptional !== null && !this.#exceptional.has(partition);
  }

  /** Neither changes while progress is being worked on. */
  #partition(partition: number): PartitionState {
    const known = this.#partitions.get(partition) ?? partitionAt(this.#unit.sql, this.#row.streamId, partition);
    this.#partitions.set(partition, known);
    return known;
  }
}
