/**
 * The instance: the public face of a store. Each call is checked and carried out in `calls/`, one file per chapter; events on
 * their way in are the appender's, out the reader's.
 */
import { Appender } from "./appender.ts";
import type { Backend, TrimAnswer } from "./backend.ts";
import { type AnyStream, Context } from "./calls/context.ts";
import { exchange, renew, resolveOutcome } from "./calls/exchange.ts";
import * as groups from "./calls/groups.ts";
import * as leases from "./calls/leases.ts";
import * as log from "./calls/log.ts";
import type { EventHistory } from "./calls/operations.ts";
import * as operations from "./calls/operations.ts";
import * as reopening from "./calls/reopening.ts";
import type { Count, EventLineage } from "./calls/search.ts";
import * as search from "./calls/search.ts";
import type { Capabilities } from "./capabilities.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Diagnosis, diagnose } from "./diagnosis.ts";
import { RheoError } from "./errors.ts";
import type { Event, EventInput, Json } from "./event.ts";
import { createEvents, type RheoEvents } from "./events.ts";
import type { Filter } from "./filter.ts";
import { type CreateGroupOptions, DEFAULT_GROUP, type GroupOptions, type GroupStart, parseGroupOptions } from "./group.ts";
import { uuidv7Source } from "./ids.ts";
import { attachInternals } from "./internals.ts";
import type { Lease, LeaseRef, Renewal, SettleAnswer } from "./lease.ts";
import { LIMITS } from "./limits.ts";
import { parseName } from "./names.ts";
import { backendFromUrl } from "./open.ts";
import { parseBoolean, parseNumber, parseOptions } from "./options.ts";
import { ack, type Outcome, release } from "./outcome.ts";
import type { Query } from "./query.ts";
import type { StreamRef } from "./schema.ts";
import type { DeadLetterInfo, Group, GroupInfo, Lag, LeaseInfo, PartitionHolder, StreamInfo } from "./views.ts";
import { Waiting } from "./waiting.ts";

/** Options of `Rheo.open`. */
export interface RheoOptions {
  readonly backend: Backend;
  /** Tells instances apart in `rheo.events`; default "main". */
  readonly name?: string;
  /** Replaces the store's time; for tests (F6). */
  readonly clock?: Clock;
  /** Options of groups that do not say otherwise. */
  readonly defaults?: Omit<GroupOptions, "filter">;
  /** Default true: bring the store's schema up to date. */
  readonly migrate?: boolean;
  /** Bytes of one event, at most 16 MiB; default 1 MiB (L8). */
  readonly maxEventBytes?: number;
  /** In [0, 1); spreads retries. Default Math.random. */
  readonly random?: () => number;
}

/** Options of an append. */
export interface AppendOptions {
  /** The caller's own open transaction: the append commits with it (T8). */
  readonly transaction?: unknown;
  readonly signal?: AbortSignal;
}

/** How much to lease, for whom, and for how long (G3). */
export interface FetchOptions {
  /** 1–10,000; default 10. */
  readonly limit?: number;
  /** Names the member; default: one name per instance. */
  readonly consumerId?: string;
  readonly leaseMs?: number;
  readonly partitions?: readonly number[];
  /** Default 8 MiB; at least one event is given. */
  readonly maxBytes?: number;
  /**
   * In a group with an `ordering`: how many events of one key (or of the partition) may be leased at once, as a run, 1–10,000; default 1.
   * Whoever takes runs keeps their order itself: it handles and settles a run by sequence, and after the first that is not acked releases
   * the rest (G9).
   */
  readonly runLimit?: number;
  /** Wait up to this long for something to fetch; default 0. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

/** Options of a settle. */
export interface SettleOptions {
  /** The caller's own open transaction: the settle commits or rolls back with it (T8). */
  readonly transaction?: unknown;
}

/** From where a group gets events once more: after a sequence, from a time, or by a query (T7). */
export type ReplayScope = ({ readonly fromSequence: number } | { readonly from: Date } | { readonly query: Query }) & {
  readonly partitions?: readonly number[];
  /** Only counts; changes nothing. Default false. */
  readonly dryRun?: boolean;
};

/** Which dead letters: by event id, by filter, or all of them. */
export type DeadLetterSelection = { readonly eventIds: readonly string[] } | { readonly where: Filter } | { readonly all: true };

/** Which prefix of a stream may go: by sequence, by time, or all but the last so many of each partition (L10). */
export type TrimOptions = ({ readonly beforeSequence: number } | { readonly before: Date } | { readonly keepLast: number }) & {
  readonly partitions?: readonly number[];
  /** Pass the frontiers of slow groups; default false. */
  readonly force?: boolean;
  /** Only count what would go, and change nothing; default false. */
  readonly dryRun?: boolean;
};

/** One open store. Several may live in one process; nothing is global. */
export class Rheo implements AsyncDisposable {
  /** Everything that happens, typed; see {@link RheoEvents}. */
  readonly events: RheoEvents;
  readonly #context: Context;
  readonly #unsubscribe: () => void;
  #closing: Promise<void> | null = null;

  /**
   * Opens a store: by its backend, or by URL (`memory:`, `sqlite:./events.db`, …), which loads the backend's package.
   * @throws invalid_option, invalid_name, unsupported - the package is not installed
   * @throws unavailable, schema_outdated - see the backend
   */
  static async open(options: RheoOptions | string, more: Omit<RheoOptions, "backend"> = {}): Promise<Rheo> {
    const given: unknown = typeof options === "string" ? { ...more, backend: await backendFromUrl(options) } : options;
    const raw = parseOptions("Rheo.open", given, OPEN_NAMES);
    const backend = parseBackend(raw.backend);
    const clock = parseClock(raw.clock);
    const parsed = {
      backend,
      name: parseName("instance", raw.name ?? "main"),
      clock: clock ?? systemClock,
      defaults: parseGroupOptions(raw.defaults, DEFAULT_GROUP),
      maxEventBytes: parseNumber("maxEventBytes", raw.maxEventBytes, {
        min: 1,
        max: Math.min(LIMITS.maxEventBytes, backend.capabilities.maxEventBytes),
        fallback: LIMITS.eventBytes,
      }),
      random: parseRandom(raw.random),
    };
    await backend.open({ clock, migrate: parseBoolean("migrate", raw.migrate, true) });
    return new Rheo(parsed);
  }

  private constructor(
    parts: Pick<Context, "name" | "backend" | "clock" | "defaults" | "random"> & { readonly maxEventBytes: number },
  ) {
    const { name, backend, clock, defaults, random, maxEventBytes } = parts;
    const { events, emit, hears } = createEvents(name, () => clock.now());
    const nextId = uuidv7Source();
    const appender = new Appender({ backend, clock, nextId, maxEventBytes, emit });
    const waiting = new Waiting(clock);
    const consumerId = `${name.slice(0, 60)}-${nextId(clock.now()).slice(-12)}`;
    const context = new Context({ name, backend, clock, random, emit, hears, defaults, appender, waiting, consumerId });
    this.events = events;
    this.#context = context;
    this.#unsubscribe = backend.subscribe(() => waiting.wake());
    attachInternals(this, {
      backend,
      clock,
      random,
      emit,
      hears,
      group: (stream, group) => context.groupOf(stream, group),
      partitionsOf: (stream) => appender.partitionsOf(stream),
      exchange: (request) => exchange(context, request),
      renew: (request) => renew(context, request),
      resolveOutcome: (outcome, group, attempt) => resolveOutcome(outcome, group.options, attempt, random),
    });
  }

  get name(): string {
    return this.#context.name;
  }

  get capabilities(): Capabilities {
    return this.#context.backend.capabilities;
  }

  /** One cheap round trip to the store. @throws unavailable */
  async ping(): Promise<void> {
    this.#context.check();
    await this.#context.backend.ping();
  }

  /**
   * What may be wrong around this store: the connection, this process and what the store says of itself, each with what to do about it.
   * Takes a few round trips, and changes nothing.
   * @throws unavailable - the store went away meanwhile
   */
  async diagnose(): Promise<readonly Diagnosis[]> {
    this.#context.check();
    return diagnose(this.#context.backend, this.#context.clock, process.versions.node);
  }

  /** Brings the store's schema up to date; several processes may do so at once. */
  async migrate(): Promise<void> {
    this.#context.check();
    await this.#context.backend.migrate();
  }

  /** Ends waits, lets running appends finish, then closes the store. Idempotent; later calls throw `closed`. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { appender, backend, waiting } = this.#context;
    this.#context.closed = true;
    this.#unsubscribe();
    waiting.wake();
    await appender.idle();
    await backend.close();
  }

  // Log

  /**
   * Creates a stream. `partitions`: 1–1,024, default 1, fixed for ever.
   * @throws already_exists, invalid_name, invalid_option
   */
  createStream(stream: AnyStream, options: { readonly partitions?: number } = {}): Promise<StreamInfo> {
    return log.createStream(this.#context, stream, options);
  }

  /**
   * The stream, created if it is not there. One that is there with another number of partitions than asked for is refused.
   * @throws already_exists, invalid_name, invalid_option
   */
  ensureStream(stream: AnyStream, options: { readonly partitions?: number } = {}): Promise<StreamInfo> {
    return log.ensureStream(this.#context, stream, options);
  }

  /** Streams by name, at most `limit` (1–1,000, default 1,000), after the name `after`. */
  listStreams(
    options: Page = {},
  ): Promise<readonly { readonly name: string; readonly partitions: number; readonly createdAt: Date }[]> {
    return log.listStreams(this.#context, options);
  }

  /** @throws stream_not_found */
  streamInfo(stream: AnyStream): Promise<StreamInfo> {
    return log.streamInfo(this.#context, stream);
  }

  /** Removes the stream with its events and groups. @throws confirm_required, stream_not_found */
  deleteStream(stream: AnyStream, options: { readonly confirm: boolean }): Promise<void> {
    return log.deleteStream(this.#context, stream, options);
  }

  /**
   * Appends one event and returns it as stored. Calls made at the same time share one write.
   * @throws invalid_payload, event_too_large, id_conflict, sequence_conflict, stream_not_found, invalid_partition
   * @throws outcome_unknown - it may have been stored; append it again under the same id to find out (L4)
   */
  async append<Output = Json, Input = unknown>(
    stream: StreamRef<Output, Input>,
    event: EventInput<NoInfer<Input>>,
    options: AppendOptions = {},
  ): Promise<Event<Output>> {
    const [appended] = await log.appendMany(this.#context, stream, [event], options);
    return appended as Event<Output>; // one in, one out, of the schema's output
  }

  /**
   * Appends at most 10,000 events and 16 MiB, all or none; `details.index` of an error names the offender (L5).
   * @throws as {@link append}
   */
  async appendMany<Output = Json, Input = unknown>(
    stream: StreamRef<Output, Input>,
    events: readonly EventInput<NoInfer<Input>>[],
    options: AppendOptions = {},
  ): Promise<Event<Output>[]> {
    return (await log.appendMany(this.#context, stream, events, options)) as Event<Output>[]; // of the schema's output
  }

  /** The event of an id, or null. @throws stream_not_found */
  async getEvent<Output = Json>(stream: StreamRef<Output>, id: string): Promise<Event<Output> | null> {
    return (await log.getEvent(this.#context, stream, id)) as Event<Output> | null; // of the schema's output
  }

  /** Matching events, at most `limit`. @throws stream_not_found, invalid_query, invalid_option, invalid_partition */
  async query<Output = Json>(stream: StreamRef<Output>, query: Query = {}): Promise<Event<Output>[]> {
    return (await log.queryPage(this.#context, stream, query, "throw")).events as Event<Output>[]; // of the schema's output
  }

  /** One page, and the cursor of the next, which is good for the same query only. @throws as {@link Rheo.query} */
  async queryPage<Output = Json>(
    stream: StreamRef<Output>,
    query: Query & { readonly cursor?: string | null } = {},
  ): Promise<{ readonly events: Event<Output>[]; readonly nextCursor: string | null }> {
    const { events, nextCursor } = await log.queryPage(this.#context, stream, query);
    return { events: events as Event<Output>[], nextCursor }; // of the schema's output
  }

  /** Every match, page by page. */
  scan<Output = Json>(stream: StreamRef<Output>, query: Omit<Query, "limit"> = {}): AsyncGenerator<Event<Output>, void, void> {
    return log.scan(this.#context, stream, query) as AsyncGenerator<Event<Output>, void, void>; // of the schema's output
  }

  /** Every match, then each new one as it is appended, until the signal aborts or the instance closes; then it ends quietly. */
  tail<Output = Json>(
    stream: StreamRef<Output>,
    query: Omit<Query, "limit" | "order" | "to"> & { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Event<Output>, void, void> {
    return log.tail(this.#context, stream, query) as AsyncGenerator<Event<Output>, void, void>; // of the schema's output
  }

  /**
   * How many events match, counted up to `most` (1–10,000,000, default 10,000). Without a filter or a time it costs next to nothing.
   * @throws as {@link Rheo.query}
   */
  count(stream: AnyStream, query: Omit<Query, "limit" | "order"> & { readonly most?: number } = {}): Promise<Count> {
    return search.count(this.#context, stream, query);
  }

  /**
   * Makes queries of this stream by the value at a path fast, such as `"payload.currency"`, `"type"` or `"correlationId"`. Idempotent;
   * takes as long as reading the stream once. Appends go on meanwhile where the store allows it.
   * @throws unsupported - the store has no indexes by content
   * @throws stream_not_found, invalid_query
   */
  createIndex(stream: AnyStream, path: string): Promise<void> {
    return search.createIndex(this.#context, stream, path);
  }

  /** False when there was none. @throws unsupported, stream_not_found, invalid_query */
  dropIndex(stream: AnyStream, path: string): Promise<boolean> {
    return search.dropIndex(this.#context, stream, path);
  }

  /** Paths with an index. @throws stream_not_found */
  listIndexes(stream: AnyStream): Promise<readonly string[]> {
    return search.listIndexes(this.#context, stream);
  }

  /**
   * What led to an event and what followed from it, across streams: everything with its correlation id, as trees by causation id. Null
   * when there is no such event. `streams`: default all; `limit`: events gathered, 1–10,000, default 1,000.
   * @throws stream_not_found, invalid_option, invalid_name
   */
  lineageOf(
    stream: AnyStream,
    eventId: string,
    options: { readonly streams?: readonly string[]; readonly limit?: number } = {},
  ): Promise<EventLineage | null> {
    return search.lineageOf(this.#context, stream, eventId, options);
  }

  /**
   * Removes a prefix of each partition: never past the slowest group's frontier, unless `force` (L10). A large one goes in short steps,
   * each told by "stream.trimmed"; one that ends half way has removed what it told, and can be repeated.
   * @throws stream_not_found, invalid_option, invalid_partition
   */
  trim(stream: AnyStream, options: TrimOptions): Promise<TrimAnswer> {
    return log.trim(this.#context, stream, options);
  }

  // Groups

  /** @throws already_exists, stream_not_found, invalid_name, invalid_option, invalid_query */
  createGroup(stream: AnyStream, group: string, options: CreateGroupOptions = {}): Promise<Group> {
    return groups.createGroup(this.#context, stream, group, options);
  }

  /** The group, created if it is not there; one that is there is returned unchanged (G1). */
  ensureGroup(stream: AnyStream, group: string, options: CreateGroupOptions = {}): Promise<Group> {
    return groups.ensureGroup(this.#context, stream, group, options);
  }

  /**
   * Changes options of a group; those left out stay. A new filter holds for events not yet offered; `ordering` is fixed.
   * @throws stream_not_found, group_not_found, invalid_option, invalid_query
   */
  updateGroup(stream: AnyStream, group: string, options: GroupOptions): Promise<Group> {
    return groups.updateGroup(this.#context, stream, group, options);
  }

  /** Removes the group with its progress and dead letters. @throws confirm_required, stream_not_found, group_not_found */
  deleteGroup(stream: AnyStream, group: string, options: { readonly confirm: boolean }): Promise<void> {
    return groups.deleteGroup(this.#context, stream, group, options);
  }

  /** Fetches return nothing until `resumeGroup`; settles still work (G6). @throws stream_not_found, group_not_found */
  pauseGroup(stream: AnyStream, group: string): Promise<void> {
    return groups.setPaused(this.#context, stream, group, true);
  }

  /** @throws stream_not_found, group_not_found */
  resumeGroup(stream: AnyStream, group: string): Promise<void> {
    return groups.setPaused(this.#context, stream, group, false);
  }

  /** Groups of a stream by name, at most `limit` (1–1,000, default 1,000), after the name `after`. @throws stream_not_found */
  listGroups(stream: AnyStream, options: Page = {}): Promise<readonly Group[]> {
    return groups.listGroups(this.#context, stream, options);
  }

  // Leases and settling

  /**
   * Leases at most `limit` deliveries; an empty array when there is nothing (G3, G4).
   * @throws stream_not_found, group_not_found, invalid_option, invalid_partition, aborted
   */
  async fetch<Output = Json>(stream: StreamRef<Output>, group: string, options: FetchOptions = {}): Promise<Lease<Output>[]> {
    return (await leases.fetch(this.#context, stream, group, options)) as Lease<Output>[]; // of the schema's output
  }

  /** Done, for good. @throws stale_lease, outcome_unknown (then: again with the same lease, never nack) */
  ack(lease: LeaseRef, options: SettleOptions = {}): Promise<void> {
    return leases.settlePlainly(this.#context, lease, ack(), options);
  }

  /**
   * Failed for now: offered again after `delayMs` (default by the group's retry policy), or dead when attempts are used up (T3, T4).
   * @throws stale_lease
   */
  nack(
    lease: LeaseRef,
    options: SettleOptions & { readonly reason?: string | Error; readonly delayMs?: number } = {},
  ): Promise<{ readonly state: "retrying" | "dead" }> {
    return leases.nack(this.#context, lease, options);
  }

  /** Failed for good: a dead letter (T6). @throws stale_lease */
  reject(lease: LeaseRef, options: SettleOptions & { readonly reason?: string | Error } = {}): Promise<void> {
    return leases.reject(this.#context, lease, options);
  }

  /** Not started: back to pending, the attempt given back. @throws stale_lease */
  release(lease: LeaseRef, options: SettleOptions = {}): Promise<void> {
    return leases.settlePlainly(this.#context, lease, release(), options);
  }

  /** Settles many, one atomic step per group, answers in order; a stale lease is an answer here, not an error. */
  settle(
    items: readonly { readonly lease: LeaseRef; readonly outcome: Outcome }[],
    options: SettleOptions = {},
  ): Promise<SettleAnswer[]> {
    return leases.settle(this.#context, items, options);
  }

  /** Sets the expiry to now + length and returns the lease with it (F5). @throws stale_lease */
  renew<L extends LeaseRef>(lease: L, options: { readonly leaseMs?: number } = {}): Promise<L & { readonly expiresAt: Date }> {
    return leases.renewOne(this.#context, lease, options);
  }

  /** Renews many, one write per group, answers in order; a stale lease is an answer here, not an error. */
  renewMany(held: readonly LeaseRef[], options: { readonly leaseMs?: number } = {}): Promise<Renewal[]> {
    return leases.renewMany(this.#context, held, options);
  }

  // Re-opening

  /**
   * Re-opens what was already offered: from a sequence (exclusive), a time, or what a query matches; attempts start again (T7).
   * @throws nothing_to_replay - no partition reaches that sequence
   * @throws stream_not_found, group_not_found, invalid_option, invalid_query, invalid_partition
   */
  replay(stream: AnyStream, group: string, scope: ReplayScope): Promise<{ readonly reopened: number }> {
    return reopening.replay(this.#context, stream, group, scope);
  }

  /** Starts the group anew: dead letters cleared, leases stale. @throws confirm_required, stream_not_found, group_not_found */
  resetGroup(
    stream: AnyStream,
    group: string,
    options: { readonly confirm: boolean; readonly start?: GroupStart },
  ): Promise<{ readonly reopened: number }> {
    return reopening.resetGroup(this.#context, stream, group, options);
  }

  /** Dead letters back to pending, each once, attempts from 0 (T7). @throws stream_not_found, group_not_found, invalid_option, invalid_query */
  redrive(stream: AnyStream, group: string, selection: DeadLetterSelection): Promise<{ readonly reopened: number }> {
    return reopening.redrive(this.#context, stream, group, selection);
  }

  /** Removes dead letters for good; their events stay in the log. @throws confirm_required, stream_not_found, group_not_found */
  purgeDeadLetters(
    stream: AnyStream,
    group: string,
    selection: DeadLetterSelection & { readonly confirm: boolean },
  ): Promise<{ readonly purged: number }> {
    return reopening.purge(this.#context, stream, group, selection);
  }

  // Operations: nothing here changes anything (P4)

  /** @throws stream_not_found, group_not_found */
  lag(stream: AnyStream, group: string): Promise<Lag> {
    return operations.lag(this.#context, stream, group);
  }

  /** @throws stream_not_found, group_not_found */
  groupInfo(stream: AnyStream, group: string): Promise<GroupInfo> {
    return operations.groupInfo(this.#context, stream, group);
  }

  /** For each partition with lag, what holds its frontier (P3). @throws stream_not_found, group_not_found */
  explainLag(stream: AnyStream, group: string): Promise<readonly PartitionHolder[]> {
    return operations.explainLag(this.#context, stream, group);
  }

  /**
   * Dead letters by (partition, sequence), at most `limit` (1–1,000, default 100), after the event id `after`.
   * @throws cursor_not_found, stream_not_found, group_not_found, invalid_query
   */
  deadLetters(
    stream: AnyStream,
    group: string,
    options: { readonly limit?: number; readonly after?: string; readonly where?: Filter } = {},
  ): Promise<readonly DeadLetterInfo[]> {
    return operations.deadLetters(this.#context, stream, group, options);
  }

  /** Leases not yet settled, expired ones too, by (partition, sequence), at most `limit` (default 1,000). @throws stream_not_found, group_not_found */
  leases(stream: AnyStream, group: string, options: { readonly limit?: number } = {}): Promise<readonly LeaseInfo[]> {
    return operations.leases(this.#context, stream, group, options);
  }

  /** Where every group stands with one event; null when there is no such event. @throws stream_not_found */
  eventHistory(stream: AnyStream, eventId: string): Promise<EventHistory | null> {
    return operations.eventHistory(this.#context, stream, eventId);
  }

  /** Resolves when the group's lag is 0. @throws aborted, closed, stream_not_found, group_not_found */
  whenCaughtUp(stream: AnyStream, group: string, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return operations.whenCaughtUp(this.#context, stream, group, options);
  }
}

interface Page {
  readonly after?: string;
  readonly limit?: number;
}

const OPEN_NAMES = ["backend", "name", "clock", "defaults", "migrate", "maxEventBytes", "random"] as const;

const parseBackend = (value: unknown): Backend => {
  if (typeof value === "object" && value !== null && "capabilities" in value && "exchange" in value) return value as Backend; // by its two telling members
  throw new RheoError("invalid_option", 'backend is missing: pass one, such as memory() from "@rheo/memory", or a store URL.', {
    path: "backend",
  });
};

const parseClock = (value: unknown): Clock | null => {
  if (value === undefined) return null;
  if (typeof value === "object" && value !== null && "now" in value && "schedule" in value && "monotonic" in value)
    return value as Clock; // by its members
  throw new RheoError("invalid_option", "clock has now(), monotonic() and schedule(); FrozenClock is one.", { path: "clock" });
};

const parseRandom = (value: unknown): (() => number) => {
  if (value === undefined) return Math.random;
  if (typeof value === "function") return value as () => number; // called without arguments, for a number
  throw new RheoError("invalid_option", "random is a function that returns a number in [0, 1).", { path: "random" });
};
