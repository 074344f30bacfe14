/** The port over one SQLite connection: opens and closes it, and gives each operation its transaction. */
import type {
  AppendAnswer,
  AppendRequest,
  Backend,
  BackendContext,
  Capabilities,
  DeadLetterRecord,
  DeadLetterRequest,
  DeliveryState,
  Diagnosis,
  EventRecord,
  ExchangeAnswer,
  ExchangeRequest,
  FetchRequest,
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
import { append, streamsWithNew } from "./append.ts";
import { fileCapabilities, memoryCapabilities } from "./capabilities.ts";
import { isInMemory, storeName } from "./connect.ts";
import { diagnose } from "./diagnose.ts";
import { closed } from "./errors.ts";
import { exchange, NOTHING_FETCHED, prospectOf } from "./fetch.ts";
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from "./groups.ts";
import { Inspection } from "./inspect.ts";
import { Memory } from "./memory.ts";
import type { ResolvedOptions } from "./options.ts";
import { getStream, listStreams, read, readIds, watermarks } from "./read.ts";
import { renew } from "./renew.ts";
import { redrive, replay, reset } from "./replay.ts";
import * as indexed from "./search.ts";
import { Store } from "./store.ts";
import { createStream, deleteStream } from "./streams.ts";
import type { Unit } from "./transaction.ts";
import { trim } from "./trim.ts";
import { Wake } from "./wake.ts";

export class SqliteBackend implements Backend {
  readonly name = "sqlite";
  readonly capabilities: Capabilities;
  readonly #options: ResolvedOptions;
  readonly #memory = new Memory();
  readonly #wake: Wake;
  /** Instances that have this backend open. */
  #openers = 0;
  #opening: Promise<Store> | null = null;
  #store: Store | null = null;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    const lookout = { look: () => this.#store?.dataVersion(), file: () => this.#store?.logFile ?? null };
    this.#wake = new Wake(isInMemory(options.source) ? null : lookout);
    this.capabilities = isInMemory(options.source) ? memoryCapabilities : fileCapabilities;
  }

  async open(context: BackendContext): Promise<void> {
    this.#openers += 1;
    const opening = this.#opening ?? Store.open(this.#options, context);
    this.#opening = opening;
    try {
      const store = await opening;
      if (this.#opening !== opening) throw closed(storeName(this.#options.source));
      this.#store = store;
    } catch (error) {
      this.#openers = Math.max(0, this.#openers - 1);
      if (this.#opening === opening) this.#opening = null;
      throw error;
    }
    this.#wake.start();
  }

  async close(): Promise<void> {
    this.#openers = Math.max(0, this.#openers - 1);
    if (this.#openers > 0 || this.#opening === null) return;
    const opening = this.#opening;
    this.#opening = null;
    this.#store = null;
    this.#wake.stop();
    // one that could not be opened was told so by open()
    const store = await opening.catch(() => null);
    await store?.close();
  }

  async ping(): Promise<void> {
    await this.#read(({ sql }) => sql.get("SELECT 1 FROM rheo_meta"));
  }

  async diagnose(): Promise<Diagnosis[]> {
    return this.#opened().session.outside((sql) => diagnose(sql, this.#options));
  }

  async migrate(): Promise<void> {
    await this.#opened().migrate();
  }

  // Log

  createStream(name: string, partitions: number): Promise<{ stream: StreamRecord; created: boolean }> {
    return this.#write(name, (unit) => createStream(unit, name, partitions));
  }

  getStream(name: string): Promise<StreamRecord | null> {
    return this.#read((unit) => getStream(unit, name));
  }

  listStreams(page: NamePage): Promise<StreamRecord[]> {
    return this.#read((unit) => listStreams(unit, page));
  }

  deleteStream(name: string): Promise<boolean> {
    return this.#write(name, (unit) => deleteStream(unit, name, this.#memory));
  }

  watermarks(stream: string): Promise<Watermark[]> {
    return this.#read((unit) => watermarks(unit, stream));
  }

  async append(requests: readonly AppendRequest[], transaction?: unknown): Promise<AppendAnswer[]> {
    const store = this.#opened();
    if (transaction !== undefined) {
      const { result, connection } = await store.within(transaction, (unit) => append(unit, requests));
      for (const stream of streamsWithNew(requests, result)) this.#wake.tellAfter(connection, stream);
      return [...result];
    }
    const answers = await store.session.write((unit) => append(unit, requests));
    for (const stream of streamsWithNew(requests, answers)) this.#wake.tell(stream);
    return [...answers];
  }

  read(request: ReadRequest): Promise<EventRecord[]> {
    return this.#read((unit) => read(unit, request));
  }

  search(request: SearchRequest): Promise<SearchAnswer> {
    return this.#read((unit) => indexed.search(unit, request));
  }

  createIndex(stream: string, path: string): Promise<void> {
    return this.#write(stream, (unit) => indexed.createIndex(unit, stream, path));
  }

  dropIndex(stream: string, path: string): Promise<boolean> {
    return this.#write(stream, (unit) => indexed.dropIndex(unit, stream, path));
  }

  listIndexes(stream: string): Promise<string[]> {
    return this.#read((unit) => indexed.listIndexes(unit, stream));
  }

  readIds(stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> {
    return this.#read((unit) => readIds(unit, stream, ids));
  }

  trim(request: TrimRequest): Promise<TrimStep> {
    return this.#write(request.stream, (unit) => trim(unit, request, this.#memory));
  }

  // Groups

  createGroup(
    stream: string,
    name: string,
    options: ResolvedGroupOptions,
    start: ResolvedStart,
  ): Promise<{ group: GroupRecord; created: boolean }> {
    return this.#write(stream, (unit) => createGroup(unit, stream, name, options, start, this.#memory));
  }

  getGroup(stream: string, name: string): Promise<GroupRecord> {
    return this.#read((unit) => getGroup(unit, stream, name));
  }

  listGroups(stream: string, page: NamePage): Promise<GroupRecord[]> {
    return this.#read((unit) => listGroups(unit, stream, page));
  }

  updateGroup(stream: string, name: string, change: { options?: ResolvedGroupOptions; paused?: boolean }): Promise<GroupRecord> {
    return this.#write(stream, (unit) => updateGroup(unit, stream, name, change));
  }

  deleteGroup(stream: string, name: string): Promise<boolean> {
    return this.#write(stream, (unit) => deleteGroup(unit, stream, name, this.#memory));
  }

  // Delivery

  async exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
    const store = this.#opened();
    const { stream, group, settlements, fetch } = request;
    if (request.transaction !== undefined) {
      const { result, connection } = await store.within(request.transaction, (unit) =>
        exchange(unit, request, this.#memory, () => undefined),
      );
      this.#wake.tellAfter(connection, stream);
      return result;
    }
    if (fetch !== null && settlements.length === 0 && !(await this.#mayFind(store, stream, group, fetch))) return NOTHING_FETCHED;
    return store.session.write((unit) => exchange(unit, request, this.#memory, () => this.#wake.tell(stream)));
  }

  async renew(request: RenewRequest): Promise<RenewAnswer> {
    return this.#opened().session.write((unit) => renew(unit, request, this.#memory));
  }

  // Re-opening

  replay(request: ReplayRequest): Promise<number> {
    return this.#write(request.stream, (unit) => replay(unit, request, this.#memory));
  }

  reset(stream: string, group: string, start: ResolvedStart): Promise<number> {
    return this.#write(stream, (unit) => reset(unit, stream, group, start, this.#memory));
  }

  redrive(request: RedriveRequest): Promise<number> {
    return this.#write(request.stream, (unit) => redrive(unit, request, this.#memory));
  }

  // Inspection

  progress(stream: string, group: string): Promise<PartitionProgress[]> {
    return this.#inspect(stream, group, (found) => found.progress());
  }

  groupStats(stream: string, group: string): Promise<GroupStats> {
    return this.#inspect(stream, group, (found) => found.stats());
  }

  holders(stream: string, group: string): Promise<Holder[]> {
    return this.#inspect(stream, group, (found) => found.holders());
  }

  leases(stream: string, group: string, limit: number): Promise<LeaseRecord[]> {
    return this.#inspect(stream, group, (found) => found.leases(limit));
  }

  deadLetters(request: DeadLetterRequest): Promise<DeadLetterRecord[]> {
    return this.#inspect(request.stream, request.group, (found) => found.deadLetters(request));
  }

  delivery(stream: string, group: string, partition: number, sequence: number): Promise<DeliveryState> {
    return this.#inspect(stream, group, (found) => found.delivery(partition, sequence));
  }

  subscribe(listener: WakeListener): () => void {
    return this.#wake.subscribe(listener);
  }

  hearsAll(): boolean {
    return true;
  }

  // Common

  #opened(): Store {
    if (this.#store === null) throw closed(storeName(this.#options.source));
    return this.#store;
  }

  async #read<Result>(work: (unit: Unit) => Result): Promise<Result> {
    return this.#opened().session.read(work);
  }

  /** Whether a fetch that settles nothing, as idle groups poll, may be given something. @throws stream_not_found, group_not_found */
  async #mayFind({ session, quiet }: Store, stream: string, group: string, fetch: FetchRequest): Promise<boolean> {
    if (await session.outside((sql) => quiet.has(sql, stream, group))) return false;
    const prospect = await session.read((unit) => {
      const found = prospectOf(unit, stream, group, fetch);
      if (found === "none_until_written") quiet.add(stream, group);
      return found;
    });
    return prospect === "some";
  }

  #inspect<Result>(stream: string, group: string, work: (found: Inspection) => Result): Promise<Result> {
    return this.#read((unit) => work(new Inspection(unit, stream, group, this.#memory)));
  }

  /** A write after which members of the stream may find something, or find it gone. */
  async #write<Result>(stream: string, work: (unit: Unit) => Result): Promise<Result> {
    const result = await this.#opened().session.write(work);
    this.#wake.tell(stream);
    return result;
  }
}
