/**
 * The records of one group inside one transaction, as the arithmetic of `@rheo/core` reads and writes them. Heads are written when the
 * operation is over: {@link LmdbProgressStore.finish}.
 */
import type { EventRecord, GroupRecord, Watermark } from "@rheo/core";
import {
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

import type { GroupState } from "./catalog.ts";
import type { Environment } from "./environment.ts";
import type { PartState } from "./part-state.ts";
import { surveyGroup } from "./survey.ts";
import * as deadLetters from "./tables/dead-letters.ts";
import { type Log, readForward, readSequences, sequenceAtTime } from "./tables/events.ts";
import * as exceptions from "./tables/exceptions.ts";
import { putHead } from "./tables/heads.ts";
import * as leases from "./tables/leases.ts";
import { deleteMember, putMember } from "./tables/members.ts";
import { KIND, kindKey, type Part } from "./tables/progress-keys.ts";
import * as revocations from "./tables/revocations.ts";

/** A member is written at most this often, in ms. */
const TOUCH_EVERY_MS = 1_000;

/** A member that holds nothing is forgotten after this, in ms, or after two lease lengths if they are longer. */
const MEMBER_KEPT_MS = 86_400_000;

/** Dead letters that are looked at together while they are cleared. */
const LETTERS_PAGE = 500;

export class LmdbProgressStore implements ProgressStore {
  readonly group: GroupRecord;
  readonly partitions: number;
  readonly #environment: Environment;
  readonly #state: GroupState;
  /** Partitions whose heads are to be written. */
  readonly #changed = new Set<number>();

  constructor(environment: Environment, state: GroupState) {
    this.#environment = environment;
    this.#state = state;
    this.group = state.record;
    this.partitions = state.partitions;
  }

  /** Writes what was put off. To be called once, last. */
  finish(): void {
    for (const partition of this.#changed) {
      const { head, counts } = this.#state.part(partition);
      putHead(this.#environment, this.#key(partition), head, counts);
    }
  }

  survey(nowMs: number, partitions: readonly number[] | null): Survey {
    return surveyGroup(this.#environment, this.#state, nowMs, partitions);
  }

  heldBy(consumerId: string, nowMs: number): readonly Held[] {
    const held: Held[] = [];
    for (let partition = 0; partition < this.partitions; partition++) {
      const part = this.#part(partition);
      for (const lease of part.leases)
        if (lease.consumerId === consumerId && lease.expiresAtMs > nowMs) held.push({ ...lease, partition });
      for (const exception of part.leased.values())
        if (exception.consumerId === consumerId && (exception.dueAtMs ?? 0) > nowMs) held.push({ ...exception, partition });
    }
    return held;
  }

  // Heads and leases

  head(partition: number): Head {
    return this.#part(partition).head;
  }

  putHead(partition: number, head: Head): void {
    this.#change(partition).head = head;
  }

  leases(partition: number): readonly RangeLease[] {
    return this.#part(partition).leases;
  }

  expiredLeases(partition: number, nowMs: number): readonly RangeLease[] {
    return this.leases(partition).filter((lease) => lease.expiresAtMs <= nowMs);
  }

  leasesOfToken(partition: number, token: number): readonly RangeLease[] {
    return this.#part(partition).leasesOfToken(token);
  }

  putLease(partition: number, lease: RangeLease): void {
    leases.putLease(this.#environment, this.#key(partition), lease);
    this.#part(partition).addLease(lease);
  }

  deleteLease(partition: number, token: number, first: number): void {
    leases.deleteLease(this.#environment, this.#key(partition), token, first);
    this.#part(partition).dropLease(token, first);
  }

  // Exceptions

  exception(partition: number, sequence: number): Exception | null {
    return this.#hasNone(partition) ? null : exceptions.readException(this.#environment, this.#key(partition), sequence);
  }

  exceptions(partition: number): readonly Exception[] {
    return this.#hasNone(partition) ? [] : exceptions.readExceptions(this.#environment, this.#key(partition));
  }

  dueExceptions(partition: number, nowMs: number, limit: number): readonly Exception[] {
    return this.#hasNone(partition) ? [] : exceptions.dueExceptions(this.#environment, this.#key(partition), nowMs, limit);
  }

  exceptionCount(partition: number): number {
    return this.#part(partition).counts.exceptions;
  }

  firstException(partition: number): number | null {
    return this.#hasNone(partition) ? null : exceptions.firstException(this.#environment, this.#key(partition));
  }

  tallyExceptions(partition: number, nowMs: number): ExceptionTally {
    const { counts, leased } = this.#part(partition);
    const live = [...leased.values()].filter(({ dueAtMs }) => (dueAtMs ?? 0) > nowMs);
    return { retrying: counts.retrying, held: live.map(({ consumerId }) => ({ consumerId: consumerId ?? "", leases: 1 })) };
  }

  putException(partition: number, exception: Exception): void {
    const before = this.exception(partition, exception.sequence);
    exceptions.putException(this.#environment, this.#key(partition), exception, before);
    if (before !== null) this.#uncount(partition, before);
    const part = this.#change(partition);
    const { counts } = part;
    const retrying = counts.retrying + (exception.state === "retrying" ? 1 : 0);
    part.counts = { ...counts, exceptions: counts.exceptions + 1, retrying };
    if (exception.state === "leased") part.addLeased(exception);
    if (exception.dueAtMs !== null) part.dueBoundMs = Math.min(part.dueBoundMs, exception.dueAtMs);
  }

  deleteException(partition: number, sequence: number): void {
    const before = this.exception(partition, sequence);
    if (before === null) return;
    exceptions.deleteException(this.#environment, this.#key(partition), before);
    this.#uncount(partition, before);
  }

  #uncount(partition: number, { sequence, state }: Exception): void {
    const part = this.#change(partition);
    const { counts } = part;
    part.counts = {
      ...counts,
      exceptions: counts.exceptions - 1,
      retrying: counts.retrying - (state === "retrying" ? 1 : 0),
    };
    part.dropLeased(sequence);
  }

  // Dead letters

  deadLetter(partition: number, sequence: number): DeadLetter | null {
    if (this.deadLetterCount(partition) === 0) return null;
    return deadLetters.readDeadLetter(this.#environment, this.#key(partition), sequence);
  }

  deadLetters(partition: number, after: number, limit: number): readonly DeadLetter[] {
    if (this.deadLetterCount(partition) === 0) return [];
    return deadLetters.deadLettersAfter(this.#environment, this.#key(partition), after, limit);
  }

  deadLetterCount(partition: number): number {
    return this.#part(partition).counts.deadLetters;
  }

  placeOfDeadLetter(eventId: string): { readonly partition: number; readonly sequence: number } | null {
    return deadLetters.placeOfLetter(this.#environment, this.#state.groupId, eventId);
  }

  putDeadLetter(partition: number, letter: DeadLetter): void {
    this.deleteDeadLetter(partition, letter.sequence);
    deadLetters.putDeadLetter(this.#environment, this.#key(partition), letter);
    const part = this.#change(partition);
    part.counts = { ...part.counts, deadLetters: part.counts.deadLetters + 1 };
  }

  deleteDeadLetter(partition: number, sequence: number): void {
    const letter = this.deadLetter(partition, sequence);
    if (letter === null) return;
    deadLetters.deleteDeadLetter(this.#environment, this.#key(partition), letter);
    const part = this.#change(partition);
    part.counts = { ...part.counts, deadLetters: part.counts.deadLetters - 1 };
  }

  // Revocations

  revocationsOfToken(partition: number, token: number): readonly Revocation[] {
    return this.#part(partition).revocations.filter((revocation) => revocation.token === token);
  }

  addRevocation(partition: number, revocation: Revocation): void {
    const kept = this.#part(partition).revocations;
    const same = kept.findIndex(({ token, first }) => token === revocation.token && first === revocation.first);
    if (same !== -1) kept.splice(same, 1);
    kept.push(revocation);
    kept.sort((a, b) => a.token - b.token || a.first - b.first);
    revocations.putRevocation(this.#environment, this.#key(partition), revocation);
    for (const dropped of kept.splice(0, Math.max(0, kept.length - progress.REVOCATIONS_KEPT)))
      revocations.deleteRevocation(this.#environment, this.#key(partition), dropped);
  }

  oldestRevocation(partition: number): number {
    const kept = this.#part(partition).revocations;
    return kept.length < progress.REVOCATIONS_KEPT ? 0 : (kept[0]?.token ?? 0);
  }

  // Clearing

  clear(partition: number): void {
    for (const lease of this.leases(partition)) this.deleteLease(partition, lease.token, lease.first);
    this.clearAbove(partition, 0);
    const key = this.#key(partition);
    this.#environment.removeAll(kindKey(key, KIND.revocation));
    this.#part(partition).revocations.length = 0;
  }

  clearAbove(partition: number, sequence: number): void {
    if (!this.#hasNone(partition))
      for (const exception of this.exceptions(partition))
        if (exception.sequence > sequence) this.deleteException(partition, exception.sequence);
    for (;;) {
      const page = this.deadLetters(partition, sequence, LETTERS_PAGE);
      for (const letter of page) this.deleteDeadLetter(partition, letter.sequence);
      if (page.length < LETTERS_PAGE) return;
    }
  }

  // The log

  watermark(partition: number): Watermark {
    const { firstSequence, highWatermark } = this.#state.stream.partition(partition);
    return { partition, firstSequence, highWatermark };
  }

  events(partition: number, after: number, limit: number, maxBytes: number): readonly EventRecord[] {
    return readForward(this.#environment, this.#log(partition), { after, until: Number.MAX_SAFE_INTEGER, limit, maxBytes });
  }

  eventsAt(partition: number, sequences: readonly number[], maxBytes: number): readonly EventRecord[] {
    return readSequences(this.#environment, this.#log(partition), sequences, maxBytes);
  }

  headersAt(partition: number, sequences: readonly number[]): readonly EventHeader[] {
    return readSequences(this.#environment, this.#log(partition), sequences, Number.POSITIVE_INFINITY);
  }

  sequenceAtTime(partition: number, timeMs: number): number {
    return sequenceAtTime(this.#environment, this.#log(partition), timeMs);
  }

  // Members

  touchMember(consumerId: string, nowMs: number): void {
    const { members, groupId } = this.#state;
    const lastMs = members.get(consumerId);
    if (lastMs !== undefined && nowMs >= lastMs && nowMs - lastMs < TOUCH_EVERY_MS) return;
    // new names come with restarts, so that is when old ones are cleared away
    if (lastMs === undefined) this.#forgetMembers(nowMs - Math.max(MEMBER_KEPT_MS, 2 * this.group.options.leaseMs));
    putMember(this.#environment, groupId, consumerId, nowMs);
    members.set(consumerId, nowMs);
  }

  members(): readonly { readonly consumerId: string; readonly lastSeenAtMs: number }[] {
    return [...this.#state.members].map(([consumerId, lastSeenAtMs]) => ({ consumerId, lastSeenAtMs }));
  }

  #forgetMembers(beforeMs: number): void {
    const { members, groupId } = this.#state;
    const old = [...members].filter(([, lastSeenAtMs]) => lastSeenAtMs < beforeMs).map(([consumerId]) => consumerId);
    if (old.length === 0) return;
    const holders = this.#holders();
    for (const consumerId of old) {
      if (holders.has(consumerId)) continue;
      deleteMember(this.#environment, groupId, consumerId);
      members.delete(consumerId);
    }
  }

  /** Members that hold anything, expired or not. */
  #holders(): ReadonlySet<string | null> {
    const found = new Set<string | null>();
    for (let partition = 0; partition < this.partitions; partition++) {
      for (const { consumerId } of this.#part(partition).leases) found.add(consumerId);
      for (const { consumerId } of this.#part(partition).leased.values()) found.add(consumerId);
    }
    return found;
  }

  #part(partition: number): PartState {
    return this.#state.part(partition);
  }

  /** A partition whose head is to be written. */
  #change(partition: number): PartState {
    this.#environment.hasChanged = true;
    this.#changed.add(partition);
    return this.#part(partition);
  }

  #key(partition: number): Part {
    return { groupId: this.#state.groupId, partition };
  }

  #hasNone(partition: number): boolean {
    return this.#part(partition).counts.exceptions === 0;
  }

  #log(partition: number): Log {
    const { firstSequence, highWatermark } = this.#state.stream.partition(partition);
    return { streamId: this.#state.stream.streamId, partition, firstSequence, highWatermark };
  }
}
