/**
 * The records in which progress is kept, and the view of a store that the arithmetic in this folder works on.
 *
 * For each (group, partition): a head with a cursor; range leases, one per fetched batch; exceptions, one per delivery that
 * left the happy path; dead letters. What is at or below the cursor and in none of them is settled. The frontier is derived
 * from these and kept nowhere.
 */
import type { GroupRecord, Watermark } from "../backend.ts";
import type { StaleReason } from "../errors.ts";
import type { EventRecord } from "../event.ts";

export interface Head {
  /** Every delivery up to here has been offered, or was before the group's start. */
  readonly cursor: number;
  /** The last token given out; only rises (F1). */
  readonly token: number;
  /** Tokens up to this one were made stale by a reset. */
  readonly resetToken: number;
  /** Where the group began here, or began anew: what is at or below was never offered to it. */
  readonly start: number;
  /** Deliveries that a forced trim took away unsettled (L10). */
  readonly skipped: number;
}

/**
 * Whether a delivery on its last attempt but one, or its last, is alone in its member, so that its expiry proves something (T5).
 * 0: no. 1: it happened to be all that its member held; the next fetch of the member clears it. 2: granted to an idle member, which
 * is given nothing else meanwhile.
 */
export type Alone = 0 | 1 | 2;

/** A batch leased in one fetch: the open positions of first..last. Identified by (token, first). */
export interface RangeLease {
  readonly token: number;
  readonly first: number;
  readonly last: number;
  /** Positions that are not, or no longer, part of the lease, as bits from `first`; null: none. */
  readonly closed: Uint8Array | null;
  /** Number of open positions, at least 1. */
  readonly open: number;
  readonly attempt: number;
  /** How often an expired lease on these was taken over: above 0 they are crash suspects. */
  readonly takeovers: number;
  readonly alone: Alone;
  readonly consumerId: string;
  readonly leasedAtMs: number;
  readonly expiresAtMs: number;
  /** When they first ran out, or null. */
  readonly firstFailedAtMs: number | null;
}

/** One open delivery that left the happy path. Identified by its sequence. */
export interface Exception {
  readonly sequence: number;
  readonly state: "pending" | "retrying" | "leased" | "parked";
  /** Starts so far, the running one included. */
  readonly attempt: number;
  readonly takeovers: number;
  /** The token of its current or last lease; 0 when there was none. */
  readonly token: number;
  readonly alone: Alone;
  /** The current or last holder. */
  readonly consumerId: string | null;
  readonly leasedAtMs: number;
  /** When it can be claimed: 0 when pending, the end of the delay, the expiry of the lease; null when parked. */
  readonly dueAtMs: number | null;
  /** The event's key, where the group keeps order. */
  readonly key: string | null;
  readonly reason: string | null;
  readonly stack: string | null;
  readonly firstFailedAtMs: number | null;
  readonly failedAtMs: number | null;
}

export interface DeadLetter {
  readonly sequence: number;
  readonly eventId: string;
  readonly attempts: number;
  readonly reason: string;
  readonly stack: string | null;
  readonly consumerId: string;
  readonly firstFailedAtMs: number;
  readonly deadAtMs: number;
}

/** Remembers why positions of a lease were taken away, so that a late settle learns it (F2, F7). One per (token, first). */
export interface Revocation {
  readonly token: number;
  readonly first: number;
  readonly last: number;
  /** Positions not revoked, as bits from `first`; null: none. */
  readonly closed: Uint8Array | null;
  readonly why: Extract<StaleReason, "reclaimed" | "reset">;
}

/** Revocations kept per group and partition. */
export const REVOCATIONS_KEPT = 256;

/** What a look at one partition found; each flag saves the queries that it makes needless. */
export interface Candidate {
  readonly partition: number;
  /** Events above the cursor. */
  readonly backlog: boolean;
  /** Exceptions due by now. */
  readonly due: boolean;
  /** Range leases expired by now. */
  readonly expired: boolean;
  /** Any exceptions at all. */
  readonly exceptions: boolean;
}

export interface Survey {
  /** Partitions with anything to look at, in order. Those that have nothing may be left out. */
  readonly candidates: readonly Candidate[];
  /** Unexpired leases of the group, over all partitions. */
  readonly inflight: number;
  /** Whether any lease of the group has `alone` above 0. */
  readonly alone: boolean;
}

/** What identifies and orders an event. */
export type EventHeader = Pick<EventRecord, "sequence" | "id" | "key" | "timestampMs">;

export interface ExceptionTally {
  readonly retrying: number;
  /** Unexpired leases by member. */
  readonly held: readonly { readonly consumerId: string; readonly leases: number }[];
}

/** A live lease of a member. */
export type Held = Pick<RangeLease, "token" | "alone" | "takeovers" | "leasedAtMs"> & { readonly partition: number };

/**
 * The records of one group, read and written inside one transaction that the store opens before and commits after, or
 * rolls back when anything throws. All synchronous.
 */
export interface ProgressStore {
  readonly group: GroupRecord;
  readonly partitions: number;

  survey(nowMs: number, partitions: readonly number[] | null): Survey;
  /** Unexpired leases that a member holds in this group. */
  heldBy(consumerId: string, nowMs: number): readonly Held[];

  head(partition: number): Head;
  putHead(partition: number, head: Head): void;

  /** By first sequence. */
  leases(partition: number): readonly RangeLease[];
  /** Leases whose expiry is at or before `nowMs`, by first sequence. */
  expiredLeases(partition: number, nowMs: number): readonly RangeLease[];
  leasesOfToken(partition: number, token: number): readonly RangeLease[];
  putLease(partition: number, lease: RangeLease): void;
  deleteLease(partition: number, token: number, first: number): void;

  exception(partition: number, sequence: number): Exception | null;
  /** By sequence. */
  exceptions(partition: number): readonly Exception[];
  /** At most `limit` of those due by `nowMs`, the longest due first. */
  dueExceptions(partition: number, nowMs: number, limit: number): readonly Exception[];
  exceptionCount(partition: number): number;
  /** The lowest sequence, or null. */
  firstException(partition: number): number | null;
  /** What they come to, without reading them one by one. */
  tallyExceptions(partition: number, nowMs: number): ExceptionTally;
  putException(partition: number, exception: Exception): void;
  deleteException(partition: number, sequence: number): void;

  deadLetter(partition: number, sequence: number): DeadLetter | null;
  /** By sequence, above `after`. */
  deadLetters(partition: number, after: number, limit: number): readonly DeadLetter[];
  deadLetterCount(partition: number): number;
  /** Where the dead letter of an event stands; null when there is none. */
  placeOfDeadLetter(eventId: string): { readonly partition: number; readonly sequence: number } | null;
  putDeadLetter(partition: number, letter: DeadLetter): void;
  deleteDeadLetter(partition: number, sequence: number): void;

  revocationsOfToken(partition: number, token: number): readonly Revocation[];
  /** Adds one and drops those with the lowest tokens beyond {@link REVOCATIONS_KEPT}. */
  addRevocation(partition: number, revocation: Revocation): void;
  /** Once {@link REVOCATIONS_KEPT} are held, the lowest token among them: older ones may have been dropped. Else 0. */
  oldestRevocation(partition: number): number;

  /** Removes leases, exceptions, dead letters and revocations of a partition, or only exceptions and dead letters above a sequence. */
  clear(partition: number): void;
  clearAbove(partition: number, sequence: number): void;

  watermark(partition: number): Watermark;
  /** Events above `after`, in order, at most `limit`, cut before they exceed `maxBytes` but at least one. */
  events(partition: number, after: number, limit: number, maxBytes: number): readonly EventRecord[];
  /** The events of these rising sequences that are retained, cut before they exceed `maxBytes` but at least one. */
  eventsAt(partition: number, sequences: readonly number[], maxBytes: number): readonly EventRecord[];
  /** The same without their content. */
  headersAt(partition: number, sequences: readonly number[]): readonly EventHeader[];
  /** The first retained sequence with a timestamp at or after `timeMs`; the high watermark + 1 if none. */
  sequenceAtTime(partition: number, timeMs: number): number;

  /** Notes that a member was here; may be left out while the last note is fresh. */
  touchMember(consumerId: string, nowMs: number): void;
  members(): readonly { readonly consumerId: string; readonly lastSeenAtMs: number }[];
}
