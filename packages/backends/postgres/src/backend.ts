/** The port over a PostgreSQL database: opens and closes it, and gives each operation its statement and its wake-ups. */
import { randomBytes } from "node:crypto";
import type {
  AppendAnswer,
  AppendRequest,
  Backend,
  BackendContext,
  Capabilities,
  Clock,
  DeadLetterRecord,
  DeadLetterRequest,
  DeliveryState,
  Diagnosis,
  EventRecord,
  ExchangeAnswer,
  ExchangeRequest,
  GroupRecord,
  GroupStats,
  Holder,
  LeaseRecord,
  NamePage,
  PartitionProgress,
  ReadRequest,
  RedriveRequest,
  RenewAnswer,
  RenewRequest,
  ReplayRequest,
  ResolvedGroupOptions,
  ResolvedStart,
  SearchAnswer,
  SearchRequest,
  StreamRecord,
  TrimRequest,
  TrimStep,
  WakeListener,
  Watermark,
} from "@rheo/core";
import { progress, systemClock } from "@rheo/core/internal";
import type { Answer } from "./answers.ts";
import { APPEND, type AppendResult, addsEvents, Columns } from "./append.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { Commits } from "./commits.ts";
import { Database, jsonOf, type Statement, type Value } from "./database.ts";
import { diagnose } from "./diagnose.ts";
import { closed } from "./errors.ts";
import { EXCHANGE, type Exchanged, exchangeValues, toExchanged } from "./fetch.ts";
import * as groups from "./groups.ts";
import { claimable, IdleGroups } from "./idle-groups.ts";
import * as inspect from "./inspect.ts";
import { Listener } from "./listener.ts";
import type { ResolvedOptions } from "./options.ts";
import * as log from "./read.ts";
import { RENEW, renewValues, toRenewAnswer } from "./renew.ts";
import { type Reopened, redrive, replay, reset } from "./replay.ts";
import { migrate, openSchema } from "./schema.ts";
import * as indexed from "./search.ts";
import { SETTLE_WITHIN, type SettledRuns, toResults, toSettlements } from "./settle.ts";
import { IDS_SENT } from "./sql/append.sql.ts";
import { adapt, cellOf } from "./transaction.ts";
import { trim } from "./trim.ts";
import { Wake } from "./wake.ts";

const PING: Statement = { text: "SELECT 1", writes: false };
/** Notifying twice does no harm. */
const NOTIFY: Statement = { text: "SELECT pg_notify($1, $2)", writes: false };
const STATUSES: Statement = {
  text: "SELECT x, pg_xact_status(x::xid8) FROM jsonb_array_elements_text($1::jsonb) x",
  writes: false,
};

/** How often a fetch that found everything held by others waits for one of them, before it gives nothing. */
const MAX_WAITS = 8;

/** What is there while the backend is open. */
interface Opened {
  readonly database: Database;
  readonly wake: Wake;
  readonly commits: Commits;
  readonly listener: Listener | null;
}

export class PostgresBackend implements Backend {
  readonly name = "postgres";
  readonly capabilities: Capabilities;
  readonly #options: ResolvedOptions;
  readonly #random: () => number;
  /** Tells our notifications from those of others. */
  readonly #self = randomBytes(6).toString("hex");
  readonly #turns = new progress.Turns();
  readonly #wake: Wake;
  readonly #idle = new IdleGroups((requests) => claimable(this.#database, requests, this.#nowMs));
  #clock: Clock | null = null;
  /** Instances that have this backend open. */
  #openers = 0;
  #opening: Promise<Opened> | null = null;
  #opened: Opened | null = null;

  constructor(options: ResolvedOptions, random: () => number) {
    this.#options = options;
    this.#random = random;
    this.#wake = new Wake((ids) => this.#notify(ids));
    this.#wake.subscribe(({ stream }) => this.#idle.hear(stream));
    this.capabilities = capabilitiesOf(options.notify, options.pipelines);
  }

  async open(context: BackendContext): Promise<void> {
    this.#openers += 1;
    const opening = this.#opening ?? this.#connect(context);
    this.#opening = opening;
    try {
      const opened = await opening;
      if (this.#opening !== opening) throw closed();
      this.#opened = opened;
      this.#clock = context.clock;
    } catch (error) {
      this.#openers = Math.max(0, this.#openers - 1);
      if (this.#opening === opening) this.#opening = null;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#openers = Math.max(0, this.#openers - 1);
    if (this.#openers > 0 || this.#opening === null) return;
    const opening = this.#opening;
    this.#opening = null;
    this.#opened = null;
    // one that could not be opened was told so by open()
    const opened = await opening.catch(() => null);
    if (opened === null) return;
    opened.commits.stop();
    await opened.listener?.stop();
    await opened.wake.stop();
    await opened.database.connections.end();
  }

  async ping(): Promise<void> {
    await this.#database.run(PING);
  }

  diagnose(): Promise<Diagnosis[]> {
    return diagnose(this.#database, this.#options.schema, () => systemClock.now());
  }

  migrate(): Promise<void> {
    return migrate(this.#database, this.#options.schema);
  }

  // Log

  async createStream(name: string, partitions: number): Promise<{ stream: StreamRecord; created: boolean }> {
    const { stream, created, id } = await groups.createStream(this.#database, name, partitions, this.#nowMs);
    if (created) this.#tell(name, { stream: id });
    return { stream, created };
  }

  async getStream(name: string): Promise<StreamRecord | null> {
    return log.getStream(this.#database, name);
  }

  async listStreams(page: NamePage): Promise<StreamRecord[]> {
    return log.listStreams(this.#database, page);
  }

  async deleteStream(name: string): Promise<boolean> {
    const { deleted, answer } = await groups.deleteStream(this.#database, name);
    this.#tell(name, answer);
    return deleted;
  }

  async watermarks(stream: string): Promise<Watermark[]> {
    return log.watermarks(this.#database, stream);
  }

  async append(requests: readonly AppendRequest[], transaction?: unknown): Promise<AppendAnswer[]> {
    const columns = new Columns(requests);
    const carries = transaction === undefined && this.#options.notify && this.#wake.mayCarry();
    const values = columns.values(this.#nowMs, carries ? { channel: this.#options.schema.name, sender: this.#self } : null);
    const answer =
      transaction === undefined
        ? jsonOf(await this.#database.run(APPEND, values))
        : await this.#within(transaction, APPEND, values);
    const result = answer as unknown as AppendResult; // our own function wrote it
    const answers = columns.answers(result);
    const changed = new Set(requests.filter((_, index) => addsEvents(answers[index])).map(({ stream }) => stream));
    for (const stream of changed) {
      const id = result.streams?.[stream] ?? null;
      if (transaction === undefined) this.#wake.tell(stream, id, carries);
      else if (result.transaction !== null && id !== null) this.#open.commits.add(result.transaction, stream, id);
    }
    return answers;
  }

  async read(request: ReadRequest): Promise<EventRecord[]> {
    return log.read(this.#database, request);
  }

  async search(request: SearchRequest): Promise<SearchAnswer> {
    return indexed.search(this.#database, request);
  }

  async createIndex(stream: string, path: string): Promise<void> {
    await indexed.createIndex(this.#database, stream, path);
  }

  async dropIndex(stream: string, path: string): Promise<boolean> {
    return indexed.dropIndex(this.#database, stream, path);
  }

  async listIndexes(stream: string): Promise<string[]> {
    return indexed.listIndexes(this.#database, stream);
  }

  async readIds(stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> {
    return log.readIds(this.#database, stream, ids);
  }

  async trim(request: TrimRequest): Promise<TrimStep> {
    const { trimmed, answer } = await trim(this.#database, request);
    this.#tell(request.stream, answer);
    return trimmed;
  }

  // Groups

  async createGroup(
    stream: string,
    name: string,
    options: ResolvedGroupOptions,
    start: ResolvedStart,
  ): Promise<{ group: GroupRecord; created: boolean }> {
    const { group, created, answer } = await groups.createGroup(this.#database, stream, name, options, start, this.#nowMs);
    this.#tell(stream, answer);
    return { group, created };
  }

  async getGroup(stream: string, name: string): Promise<GroupRecord> {
    return groups.getGroup(this.#database, stream, name);
  }

  async listGroups(stream: string, page: NamePage): Promise<GroupRecord[]> {
    return groups.listGroups(this.#database, stream, page);
  }

  async updateGroup(
    stream: string,
    name: string,
    change: { options?: ResolvedGroupOptions; paused?: boolean },
  ): Promise<GroupRecord> {
    const { group, answer } = await groups.updateGroup(this.#database, stream, name, change);
    this.#tell(stream, answer);
    return group;
  }

  async deleteGroup(stream: string, name: string): Promise<boolean> {
    const { deleted, answer } = await groups.deleteGroup(this.#database, stream, name);
    this.#tell(stream, answer);
    return deleted;
  }

  // Delivery

  async exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
    const { stream, settlements } = request;
    if (request.transaction !== undefined) return this.#settleWithin(request);
    if (this.#idle.isPoll(request) && !(await this.#idle.mayFind(request)))
      return { settled: [], grants: [], more: false, died: [] };
    const { heard } = this.#idle;
    const first = await this.#exchangeOnce(request, null);
    if (progress.mayWake(settlements, first.ordering)) this.#wake.tell(stream, first.streamId);
    let fetched = first;
    for (let wait = 0; fetched.waitFor !== null && wait < MAX_WAITS; wait++) {
      fetched = await this.#exchangeOnce({ ...request, settlements: [] }, fetched.waitFor);
    }
    const { grants, more, died } = fetched.answer;
    if (request.fetch !== null) this.#idle.found(request, grants.length > 0 || more || died.length > 0, heard);
    return { settled: first.answer.settled, grants, more, died };
  }

  async #exchangeOnce(request: ExchangeRequest, waitFor: number | null): Promise<Exchanged> {
    const { stream, group } = request;
    const before = this.#turns.of(stream, group);
    const rows = await this.#database.run(EXCHANGE, exchangeValues(request, before, waitFor, this.#nowMs));
    const exchanged = toExchanged(request, rows, before);
    if (request.fetch !== null) this.#turns.put(stream, group, exchanged.turn);
    return exchanged;
  }

  async #settleWithin({ stream, group, settlements, transaction }: ExchangeRequest): Promise<ExchangeAnswer> {
    const nothing = { grants: [], more: false, died: [] };
    const values = [stream, group, toSettlements(settlements) ?? "[]", this.#nowMs];
    const answer = await this.#within(transaction, SETTLE_WITHIN, values);
    if (answer.missing !== undefined) return { settled: progress.allGone(settlements), ...nothing };
    const settled = answer.settled as SettledRuns; // our own function wrote it
    if (typeof answer.transaction === "string") this.#open.commits.add(answer.transaction, stream, Number(answer.stream));
    return { settled: toResults(settlements, settled), ...nothing };
  }

  async renew(request: RenewRequest): Promise<RenewAnswer> {
    return toRenewAnswer(request, jsonOf(await this.#database.run(RENEW, renewValues(request, this.#nowMs))));
  }

  // Re-opening

  async replay(request: ReplayRequest): Promise<number> {
    return this.#reopened(request.stream, await replay(this.#database, request));
  }

  async reset(stream: string, group: string, start: ResolvedStart): Promise<number> {
    return this.#reopened(stream, await reset(this.#database, stream, group, start));
  }

  async redrive(request: RedriveRequest): Promise<number> {
    return this.#reopened(request.stream, await redrive(this.#database, request));
  }

  #reopened(stream: string, { count, answer }: Reopened): number {
    this.#tell(stream, answer);
    return count;
  }

  // Inspection

  async progress(stream: string, group: string): Promise<PartitionProgress[]> {
    return inspect.progress(this.#database, stream, group);
  }

  async groupStats(stream: string, group: string): Promise<GroupStats> {
    return inspect.groupStats(this.#database, stream, group, this.#nowMs);
  }

  async holders(stream: string, group: string): Promise<Holder[]> {
    return inspect.holders(this.#database, stream, group, this.#nowMs);
  }

  async leases(stream: string, group: string, limit: number): Promise<LeaseRecord[]> {
    return inspect.leases(this.#database, stream, group, limit);
  }

  async deadLetters(request: DeadLetterRequest): Promise<DeadLetterRecord[]> {
    return inspect.deadLetters(this.#database, request);
  }

  async delivery(stream: string, group: string, partition: number, sequence: number): Promise<DeliveryState> {
    return inspect.delivery(this.#database, stream, group, partition, sequence, this.#nowMs);
  }

  subscribe(listener: WakeListener): () => void {
    return this.#wake.subscribe(listener);
  }

  hearsAll(): boolean {
    return this.#opened?.listener?.hears ?? false;
  }

  // Common

  get #open(): Opened {
    if (this.#opened === null) throw closed();
    return this.#opened;
  }

  get #database(): Database {
    return this.#open.database;
  }

  /** Null: the server's time. */
  get #nowMs(): number | null {
    return this.#clock?.now() ?? null;
  }

  async #connect(context: BackendContext): Promise<Opened> {
    const database = new Database(this.#options, this.#random, () => this.hearsAll());
    try {
      await openSchema(database, this.#options.schema, context.migrate);
    } catch (error) {
      await database.connections.end();
      throw error;
    }
    const commits = new Commits(
      (transactions) => statusesOf(database, transactions),
      (stream, id) => this.#wake.tell(stream, id),
    );
    const listener = this.#options.notify ? this.#listen(database) : null;
    listener?.start();
    return { database, wake: this.#wake, commits, listener };
  }

  #listen(database: Database): Listener {
    return new Listener({
      schema: this.#options.schema,
      connect: () => database.connections.separate(),
      random: this.#random,
      onMessage: (payload) => this.#hear(payload),
      onGap: () => this.#wake.hear(null),
      echo: () => this.#send(database, []),
    });
  }

  /** A payload is who sent it, and ids of streams; none: an echo. Whether it is our own. */
  #hear(payload: string): boolean {
    const [sender, ids = ""] = payload.split(":", 2);
    if (sender !== this.#self && ids !== "") this.#wake.hearOf(ids.split(",").map(Number));
    return sender === this.#self && ids === "";
  }

  async #notify(ids: readonly number[]): Promise<void> {
    if (!this.#options.notify || this.#opened === null) return;
    await this.#send(this.#opened.database, ids);
  }

  async #send(database: Database, ids: readonly number[]): Promise<void> {
    await database.run(NOTIFY, [this.#options.schema.name, `${this.#self}:${ids.slice(0, IDS_SENT).join(",")}`]);
  }

  #tell(stream: string, { stream: id }: Answer): void {
    this.#wake.tell(stream, id ?? null);
  }

  /** Runs a statement inside a transaction of the user's, whose errors are the user's as they are. */
  async #within(transaction: unknown, statement: Statement, values: readonly Value[]): Promise<Record<string, unknown>> {
    const text = this.#database.textOf(statement.text);
    const result = await adapt(transaction)(
      text,
      values.map((value) => (value === null ? null : String(value))),
    );
    return JSON.parse(cellOf(result)) as Record<string, unknown>; // our own functions return objects
  }
}

const statusesOf = async (database: Database, transactions: readonly string[]): Promise<ReadonlyMap<string, string>> =>
  new Map((await database.run(STATUSES, [JSON.stringify(transactions)])).map(([id, status]) => [id ?? "", status ?? ""]));
