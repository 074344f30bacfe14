/** What is known of one group in one partition, and what an operation has changed in it so far. */
import type { EventRecord } from "@rheo/core";
import type { DeadLetter, EventHeader, Exception, Head, PartitionState, RangeLease, Revocation } from "@rheo/core/internal";
import type { HeadDocument } from "../documents.ts";
import { Sequenced } from "./sequenced.ts";

/** The exceptions of a partition that are due first. */
export interface DueList {
  readonly limit: number;
  /** The longest due first; some may be in the future. */
  readonly sequences: readonly number[];
  /** None that is not in the list is due earlier; null: there is none. */
  readonly nextMs: number | null;
}

interface Counts {
  exceptions: number;
  leased: number;
  deadLetters: number;
  revocations: number;
}

export class PartitionRecords {
  readonly stored: HeadDocument;
  readonly state: PartitionState;
  readonly exceptions: Sequenced<Exception> = new Sequenced();
  readonly deadLetters: Sequenced<DeadLetter> = new Sequenced();
  /** By sequence; null: there is none. */
  readonly events: Map<number, EventRecord | null> = new Map();
  readonly headers: Map<number, EventHeader | null> = new Map();
  /** All of them, or null: not loaded. */
  revocations: readonly Revocation[] | null = null;
  due: DueList | null = null;
  retrying: number | null = null;
  readonly deadLettersAbove: Map<number, number> = new Map();
  readonly atTime: Map<number, number> = new Map();
  /** In place of all events: those that match what a replay looks for, without their content. By sequence. */
  matching: readonly EventRecord[] | null = null;
  /** Sequences that an operation is going to ask about. */
  expected: readonly number[] = [];

  // what was changed

  head: Head;
  counts: Counts;
  isCleared = false;
  /** Nothing is changed, but nobody else may change it meanwhile. */
  isFenced = false;
  readonly addedRevocations: Revocation[] = [];
  readonly droppedRevocations: Revocation[] = [];
  readonly #storedLeases: Map<string, RangeLease>;
  readonly #leaseChanges = new Map<string, RangeLease | null>();
  #sorted: readonly RangeLease[] | null = null;

  constructor(stored: HeadDocument, state: PartitionState, leases: readonly RangeLease[]) {
    this.stored = stored;
    this.state = state;
    this.head = headOf(stored);
    this.counts = countsOf(stored);
    this.#storedLeases = new Map(leases.map((lease) => [nameOf(lease), lease]));
    if (stored.exceptions === 0) this.exceptions.load([], 0, Number.POSITIVE_INFINITY);
    if (stored.deadLetters === 0) this.deadLetters.load([], 0, Number.POSITIVE_INFINITY);
    if (stored.revocations === 0) this.revocations = [];
  }

  /** By first sequence. */
  get leases(): readonly RangeLease[] {
    this.#sorted ??= this.#currentLeases().sort((a, b) => a.first - b.first);
    return this.#sorted;
  }

  #currentLeases(): RangeLease[] {
    const changed = [...this.#leaseChanges.values()].filter((lease) => lease !== null);
    if (this.isCleared) return changed;
    const kept = [...this.#storedLeases].filter(([name]) => !this.#leaseChanges.has(name));
    return [...kept.map(([, lease]) => lease), ...changed];
  }

  putLease(lease: RangeLease): void {
    this.#leaseChanges.set(nameOf(lease), lease);
    this.#sorted = null;
  }

  deleteLease(token: number, first: number): void {
    this.#leaseChanges.set(nameOf({ token, first }), null);
    this.#sorted = null;
  }

  get changedLeases(): readonly RangeLease[] {
    return [...this.#leaseChanges.values()].filter((lease) => lease !== null);
  }

  /** Stored ones that are gone, one by one. */
  get deletedLeases(): readonly RangeLease[] {
    if (this.isCleared) return [];
    return [...this.#leaseChanges].flatMap(([name, lease]) => (lease === null ? (this.#storedLeases.get(name) ?? []) : []));
  }

  clear(): void {
    this.isCleared = true;
    this.#leaseChanges.clear();
    this.#sorted = null;
    this.exceptions.clearAbove(0);
    this.deadLetters.clearAbove(0);
    this.addedRevocations.length = 0;
    this.droppedRevocations.length = 0;
    this.counts = { exceptions: 0, leased: 0, deadLetters: 0, revocations: 0 };
  }

  get isChanged(): boolean {
    return (
      this.isCleared ||
      this.isFenced ||
      this.#leaseChanges.size > 0 ||
      this.exceptions.changes.size > 0 ||
      this.exceptions.clearedAbove !== null ||
      this.deadLetters.changes.size > 0 ||
      this.deadLetters.clearedAbove !== null ||
      this.addedRevocations.length > 0 ||
      !isSameHead(this.head, this.stored)
    );
  }

  forgetChanges(): void {
    this.head = headOf(this.stored);
    this.counts = countsOf(this.stored);
    this.isCleared = false;
    this.isFenced = false;
    this.#leaseChanges.clear();
    this.#sorted = null;
    this.exceptions.forgetChanges();
    this.deadLetters.forgetChanges();
    this.addedRevocations.length = 0;
    this.droppedRevocations.length = 0;
  }
}

const nameOf = ({ token, first }: Pick<RangeLease, "token" | "first">): string => `${token}/${first}`;

const headOf = ({ cursor, token, resetToken, start, skipped }: HeadDocument): Head => ({
  cursor,
  token,
  resetToken,
  start,
  skipped,
});

const countsOf = ({ exceptions, leased, deadLetters, revocations }: HeadDocument): Counts => ({
  exceptions,
  leased,
  deadLetters,
  revocations,
});

const isSameHead = (a: Head, b: Head): boolean =>
  a.cursor === b.cursor && a.token === b.token && a.resetToken === b.resetToken && a.start === b.start && a.skipped === b.skipped;
