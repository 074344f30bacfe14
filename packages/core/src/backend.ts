/**
 * The port: what a store must do for Rheo. This file is the contract; the suite in `@rheo/testing` is its proof.
 *
 * - Plain data in and out; batch first. Everything that can be decided above (validation, routing, ids, coalescing, retry
 *   delays) has been decided: a backend may trust its input's shape.
 * - Each method is one atomic step: all of it or nothing, also when the process dies inside it.
 * - Time is the store's own, unless `BackendContext.clock` is given; then it is that clock's (F6). Durations are handed
 *   down, never instants.
 * - A missing stream is `stream_not_found`, then a missing group `group_not_found` (G5), both thrown.
 * - Failures are `RheoError`s: `unavailable` if nothing was applied, `outcome_unknown` if that cannot be known, with the
 *   driver's exception as `cause`. `closed` after `close`.
 * - Cost: no method may get slower with history, with settled events or with the backlog. An idle poll writes nothing.
 */
import type { Capabilities } from "./capabilities.ts";
import type { Clock } from "./clock.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { StaleReason } from "./errors.ts";
import type { EventRecord } from "./event.ts";
import type { Filter } from "./filter.ts";
import type { ResolvedGroupOptions, ResolvedStart } from "./group.ts";
import type { EventQuery } from "./query.ts";

/** The port: what a store must do for core. Rules are named by their numbers; `describeBackend` of `@rheo/testing` tests them. */
export interface Backend {
  /** Short name of the kind of store, such as "sqlite". */
  readonly name: string;
  readonly capabilities: Capabilities;

  /**
   * Connects and, if `migrate`, brings the schema up to date (several processes may do so at once).
   * @throws schema_outdated - the store's schema is newer than this code, or older and `migrate` is false
   * @throws unavailable - the store cannot be reached, or is not ours
   */
  open(context: BackendContext): Promise<void>;
  /** Idempotent. Leaves no handle open. */
  close(): Promise<void>;
  /** One cheap round trip. */
  ping(): Promise<void>;
  /** What may be wrong with this store, each with what to do about it. Reads only. Optional: absent where there is nothing to say. */
  diagnose?(): Promise<Diagnosis[]>;
  /** Brings the schema up to date; several processes may do so at once. */
  migrate(): Promise<void>;

  // Log

  /** Creates the stream, or returns the one of that name with `created: false`. */
  createStream(name: string, partitions: number): Promise<{ stream: StreamRecord; created: boolean }>;
  /** Null when there is none. */
  getStream(name: string): Promise<StreamRecord | null>;
  /** Streams whose name is greater than `after`, by name (code point order). */
  listStreams(page: NamePage): Promise<StreamRecord[]>;
  /** Removes the stream, its events and its groups. False when there was none. */
  deleteStream(name: string): Promise<boolean>;
  /** One entry per partition, in order. */
  watermarks(stream: string): Promise<Watermark[]>;
  /**
   * Appends each request atomically, in order, independent of the others: one answer per request (L1, L4–L6). All of them may share one
   * write. With `transaction` they become visible when the caller's transaction commits (T8).
   */
  append(requests: readonly AppendRequest[], transaction?: unknown): Promise<AppendAnswer[]>;
  /** A slice of one partition. */
  read(request: ReadRequest): Promise<EventRecord[]>;
  /**
   * A slice of one partition, filtered where the events are. Optional: without it every event of a query is read, and filtered by core.
   * It may let through more than the filter does, never less: core looks again.
   */
  search?(request: SearchRequest): Promise<SearchAnswer>;
  /** The events of those ids, in order; null where there is none. */
  readIds(stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]>;
  /** Makes queries of one stream by the value at a path fast. Idempotent. Optional: absent where nothing is indexed by content. */
  createIndex?(stream: string, path: string): Promise<void>;
  /** False when there was none. Present where {@link createIndex} is, as is `listIndexes`. */
  dropIndex?(stream: string, path: string): Promise<boolean>;
  /** Paths, in order. */
  listIndexes?(stream: string): Promise<string[]>;
  /** Removes a prefix of each partition (L10), or as much of it as one short step may: then the answer says `more`. */
  trim(request: TrimRequest): Promise<TrimStep>;

  // Groups

  /** Creates the group at its start, atomically with reading where that is (G1), or returns the existing one. */
  createGroup(
    stream: string,
    name: string,
    options: ResolvedGroupOptions,
    start: ResolvedStart,
  ): Promise<{ group: GroupRecord; created: boolean }>;
  /** @throws stream_not_found, group_not_found */
  getGroup(stream: string, name: string): Promise<GroupRecord>;
  /** By name. @throws stream_not_found */
  listGroups(stream: string, page: NamePage): Promise<GroupRecord[]>;
  /** Replaces the options given; `paused` too. */
  updateGroup(stream: string, name: string, change: { options?: ResolvedGroupOptions; paused?: boolean }): Promise<GroupRecord>;
  /** Removes the group with all its progress. False when there was none. Tokens of a later group of that name are still greater (F1). */
  deleteGroup(stream: string, name: string): Promise<boolean>;

  // Delivery

  /**
   * Settles, then fetches, in one step; either part may be empty. Settlements of a group or stream that is gone answer
   * `gone`; a fetch from it throws. With `transaction` there is no fetch.
   */
  exchange(request: ExchangeRequest): Promise<ExchangeAnswer>;
  /** Sets the expiry of leases to now + length where the token is still the current one (F2, F3, F5). */
  renew(request: RenewRequest): Promise<RenewAnswer>;

  // Re-opening: each raises the token floor in the same step, so that leases taken before are stale

  /** Opens again what was offered and is in scope (T7); returns how many. */
  replay(request: ReplayRequest): Promise<number>;
  /** Starts the group anew, clears its dead letters, and makes its leases stale (T1); returns how many deliveries are open again. */
  reset(stream: string, group: string, start: ResolvedStart): Promise<number>;
  /** Dead letters back to pending with attempt 0 (T7), or, with `purge`, away for good. How many. */
  redrive(request: RedriveRequest): Promise<number>;

  // Inspection: never changes anything (P4)

  /** One entry per partition, in order. */
  progress(stream: string, group: string): Promise<PartitionProgress[]>;
  /** @throws stream_not_found, group_not_found */
  groupStats(stream: string, group: string): Promise<GroupStats>;
  /** What holds the frontier, for each partition with lag. */
  holders(stream: string, group: string): Promise<Holder[]>;
  /** Leases not yet settled, by (partition, sequence), expired ones too. */
  leases(stream: string, group: string, limit: number): Promise<LeaseRecord[]>;
  /** One page of them. @throws cursor_not_found */
  deadLetters(request: DeadLetterRequest): Promise<DeadLetterRecord[]>;
  /** Where one group stands with one event. */
  delivery(stream: string, group: string, partition: number, sequence: number): Promise<DeliveryState>;

  /** Calls `listener` soon after events were appended or deliveries became claimable. A hint. Returns how to stop. */
  subscribe(listener: WakeListener): () => void;

  /**
   * Whether, at this moment, whatever makes deliveries claimable or changes a group's options reaches those who subscribed, in whichever process
   * it is done; but for what time alone brings. Members that have been idle for long then poll less, and read options only when told. It may
   * have been wrong a moment ago: when it turns false or true, subscribers are told of any stream. Absent: never.
   */
  hearsAll?(): boolean;
}

/** What a store is told when it is opened. */
export interface BackendContext {
  /** A clock that replaces the store's time, or null. */
  readonly clock: Clock | null;
  readonly migrate: boolean;
}

/** Is called when something may have become fetchable; a stream of null means any. */
export type WakeListener = (wake: { readonly stream: string | null }) => void;

/** A page of names: those after `after`, in order. */
export interface NamePage {
  readonly after: string | null;
  readonly limit: number;
}

/** A stream as a store keeps it. */
export interface StreamRecord {
  readonly name: string;
  readonly partitions: number;
  readonly createdAtMs: number;
}

/** The ends of the log of a partition. */
export interface Watermark {
  readonly partition: number;
  /** First retained sequence; high watermark + 1 when nothing is retained. */
  readonly firstSequence: number;
  /** Last sequence, 0 when nothing was ever appended. */
  readonly highWatermark: number;
}

/** An event on its way in: checked, normalised and routed by core; payload and metadata are JSON text. */
export interface NewEvent {
  readonly partition: number;
  readonly id: string;
  /** Null: the store's time. */
  readonly timestampMs: number | null;
  readonly type: string | null;
  readonly key: string | null;
  readonly metadata: string;
  readonly payload: string;
  /** UTF-8 bytes of the whole event. */
  readonly bytes: number;
  readonly expectedSequence: number | null;
  /** The frozen values of `metadata` and `payload`, for a store in the same heap. */
  readonly values: { readonly metadata: unknown; readonly payload: unknown };
}

/** Events of one append, written all or not at all (L5). */
export interface AppendRequest {
  readonly stream: string;
  /** The partition count the events were routed with. If the stream has another, the answer is `rerouted`. */
  readonly partitions: number;
  readonly events: readonly NewEvent[];
}

/** What became of an append. */
export type AppendAnswer =
  /** In the order of the events. `duplicate`: the id was there already, and this is what is stored. */
  | { readonly kind: "appended"; readonly events: readonly AppendedEvent[] }
  /** Nothing of this request was written. `stored` is what the id already stands for. */
  | { readonly kind: "id_conflict"; readonly index: number; readonly stored: EventRecord }
  | { readonly kind: "sequence_conflict"; readonly index: number; readonly highWatermark: number }
  | { readonly kind: "stream_not_found" }
  | { readonly kind: "rerouted"; readonly partitions: number };

/** Where an event was written, or that its id was there already. */
export interface AppendedEvent {
  readonly sequence: number;
  readonly timestampMs: number;
  readonly duplicate: EventRecord | null;
}

/** A stretch of one partition to be read. */
export interface ReadRequest {
  readonly stream: string;
  readonly partition: number;
  /** Exclusive; 0 for the beginning. */
  readonly after: number;
  /** Inclusive; null for the end. */
  readonly until: number | null;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Stop before exceeding this, but give at least one. */
  readonly maxBytes: number;
}

/** A stretch of one partition to be looked through for events that match. */
export interface SearchRequest extends ReadRequest {
  readonly filter: Filter | null;
  /** Inclusive. */
  readonly fromMs: number | null;
  /** Exclusive. */
  readonly toMs: number | null;
  /** Events looked at, at most, so that one call stays short. */
  readonly examine: number;
}

/** What a search found, and how far it came. */
export interface SearchAnswer {
  readonly events: readonly EventRecord[];
  /** In the order asked for, the last sequence that was looked at: a later search goes on after it. Null: there was none. */
  readonly passed: number | null;
  /** Nothing is left within the bounds, for now. */
  readonly ended: boolean;
}

/** A prefix of each partition that may go (L10). */
export interface TrimRequest {
  readonly stream: string;
  readonly cut:
    | { readonly kind: "sequence"; readonly before: number }
    | { readonly kind: "time"; readonly beforeMs: number }
    | { readonly kind: "keep"; readonly last: number };
  readonly partitions: readonly number[] | null;
  /** Pass the frontiers of slow groups. */
  readonly force: boolean;
  /** Only counts, all of it at once, and changes nothing. */
  readonly dryRun: boolean;
}

/** How much a trim removed. */
export interface TrimAnswer {
  readonly removed: number;
  /** Events kept only because some group has not settled them. */
  readonly heldBack: number;
}

/** What one step of a trim removed, and whether there is more. */
export interface TrimStep extends TrimAnswer {
  /** Not all that may go has gone: ask again. */
  readonly more: boolean;
}

/** A group as a store keeps it, with every option resolved. */
export interface GroupRecord {
  readonly stream: string;
  readonly name: string;
  readonly options: ResolvedGroupOptions;
  readonly paused: boolean;
  readonly createdAtMs: number;
}

/** Settles the deliveries `sequences` (rising) of one partition under one token. */
export interface Settlement {
  readonly partition: number;
  readonly token: number;
  readonly sequences: readonly number[];
  readonly outcome: SettleOutcome;
}

/** An outcome with everything decided but whether a retry is the last. */
export type SettleOutcome =
  | { readonly kind: "ack" }
  | { readonly kind: "release" }
  | { readonly kind: "retry"; readonly delayMs: number; readonly reason: string; readonly stack: string | null }
  | { readonly kind: "reject"; readonly reason: string; readonly stack: string | null };

/** What a delivery has become by a settle. */
export type SettledState = "acked" | "retrying" | "dead" | "pending";

/** The answer to one settled sequence: its new state, or why its lease is stale (F2). */
export type SettleResult =
  | { readonly state: SettledState; readonly why?: undefined }
  | { readonly state: "stale"; readonly why: StaleReason };

/** What a member asks for (G3). */
export interface FetchRequest {
  readonly limit: number;
  readonly maxBytes: number;
  readonly consumerId: string;
  /** Null: the group's. */
  readonly leaseMs: number | null;
  /** Null: all. */
  readonly partitions: readonly number[] | null;
  /** In a group that keeps order, how many deliveries of a key (or of a partition) may be leased together, from 1 (G9). */
  readonly runLimit: number;
}

/** Settlements and a fetch, carried out in this order in one step. */
export interface ExchangeRequest {
  readonly stream: string;
  readonly group: string;
  readonly settlements: readonly Settlement[];
  readonly fetch: FetchRequest | null;
  readonly transaction?: unknown;
}

/** What became of the settlements, and what was leased. */
export interface ExchangeAnswer {
  /** One array per settlement, one result per sequence. */
  readonly settled: readonly (readonly SettleResult[])[];
  readonly grants: readonly Grant[];
  /** The fetch stopped at a bound of its own (events examined, G7), and another may find more at once. */
  readonly more: boolean;
  /** Deliveries that this fetch found out of attempts and dead-lettered (T5). */
  readonly died: readonly { readonly partition: number; readonly sequence: number; readonly reason: string }[];
}

/** Deliveries of one partition leased together: one token, one attempt number, one expiry. */
export interface Grant {
  readonly partition: number;
  readonly token: number;
  readonly attempt: number;
  readonly leasedAtMs: number;
  readonly expiresAtMs: number;
  /** By sequence. */
  readonly events: readonly EventRecord[];
}

/** Leases of one member to be extended, by partition and token. */
export interface RenewRequest {
  readonly stream: string;
  readonly group: string;
  readonly consumerId: string;
  readonly items: readonly { readonly partition: number; readonly token: number; readonly sequences: readonly number[] }[];
  readonly leaseMs: number | null;
}

/** Until when the leases run now, and which of them are stale. */
export interface RenewAnswer {
  /** Now + length: the expiry of what was renewed, except for `kept`. */
  readonly expiresAtMs: number;
  /** Renewed deliveries that had a later expiry, which stays (F5), by place in the request. */
  readonly kept?: readonly { readonly item: number; readonly position: number; readonly expiresAtMs: number }[];
  /** One array per item, one entry per sequence: null when renewed. */
  readonly stale: readonly (readonly (StaleReason | null)[])[];
}

/** Which deliveries that were offered to open again (T7). */
export interface ReplayRequest {
  readonly stream: string;
  readonly group: string;
  readonly scope:
    | { readonly kind: "after"; readonly after: number }
    | { readonly kind: "time"; readonly timeMs: number }
    | { readonly kind: "query"; readonly query: EventQuery };
  readonly partitions: readonly number[] | null;
  /** Only counts, and changes nothing. */
  readonly dryRun: boolean;
}

/** Which dead letters to open again, or to purge (T7). */
export interface RedriveRequest {
  readonly stream: string;
  readonly group: string;
  readonly select:
    | { readonly kind: "ids"; readonly ids: readonly string[] }
    | { readonly kind: "where"; readonly where: Filter }
    | { readonly kind: "all" };
  readonly purge: boolean;
}

/** Where a group stands in a partition. */
export interface PartitionProgress extends Watermark {
  /** Everything up to here is acked or dead; never below firstSequence − 1, never above the high watermark. */
  readonly frontier: number;
  /** Undelivered events that a forced trim took away from this group, or that are missing from a damaged log. */
  readonly skipped: number;
}

/** Counts of a group over all its partitions. */
export interface GroupStats {
  readonly inflight: number;
  readonly retrying: number;
  readonly deadLetters: number;
  /** Timestamp of the oldest event not settled; null when caught up. */
  readonly oldestUnsettledAtMs: number | null;
  readonly members: readonly { readonly consumerId: string; readonly leases: number; readonly lastSeenAtMs: number }[];
}

/** Where one group stands with one event. */
export type DeliveryState =
  /** Not offered yet. */
  | { readonly state: "undelivered" }
  | { readonly state: "pending"; readonly attempt: number; readonly lastError: string | null }
  /** Waiting for an earlier event of its key (G9). */
  | { readonly state: "parked" }
  | {
      readonly state: "leased" | "expired";
      readonly attempt: number;
      readonly token: number;
      readonly consumerId: string;
      readonly leasedAtMs: number;
      readonly expiresAtMs: number;
      readonly lastError: string | null;
    }
  | {
      readonly state: "retrying";
      readonly attempt: number;
      readonly dueAtMs: number;
      readonly failedAtMs: number;
      readonly lastError: string | null;
    }
  | { readonly state: "dead"; readonly attempt: number; readonly deadAtMs: number; readonly lastError: string }
  /** Acked, or not matched by the group's filter, or before its start. */
  | { readonly state: "settled" };

/** What the frontier of a partition waits for (P3). */
export interface Holder {
  readonly partition: number;
  /** The first sequence that is not settled: frontier + 1. */
  readonly sequence: number;
  readonly highWatermark: number;
  readonly delivery: DeliveryState;
}

/** A live lease as a store knows it. */
export interface LeaseRecord {
  readonly partition: number;
  readonly sequence: number;
  readonly token: number;
  readonly attempt: number;
  readonly consumerId: string;
  readonly leasedAtMs: number;
  readonly expiresAtMs: number;
}

/** A page of dead letters. */
export interface DeadLetterRequest {
  readonly stream: string;
  readonly group: string;
  readonly limit: number;
  /** Id of the last one of the page before. */
  readonly after: string | null;
  readonly where: Filter | null;
}

/** A dead letter as a store keeps it (T6). */
export interface DeadLetterRecord {
  readonly eventId: string;
  readonly partition: number;
  readonly sequence: number;
  readonly attempts: number;
  readonly reason: string;
  readonly stack: string | null;
  readonly consumerId: string;
  readonly firstFailedAtMs: number;
  readonly deadAtMs: number;
  /** Null when the event was trimmed. */
  readonly event: EventRecord | null;
}
