/** The port over one LMDB environment: opens and closes it, and gives each operation its transaction. */
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
import { WakeListeners } from "@rheo/core/internal";
import { append, streamsWithNew } from "./append.ts";
import { capabilities } from "./capabilities.ts";
import { diagnose } from "./diagnose.ts";
import { closed } from "./errors.ts";
import { exchange, hasWork, NOTHING_FETCHED } from "./fetch.ts";
import { createGroup, deleteGroup, getGroup, listGroups, updateGroup } from "./groups.ts";
import { deadLetters, delivery, groupProgress, groupStats, holders, leases } from "./inspect.ts";
import type { ResolvedOptions } from "./options.ts";
import { getStream, listStreams, read, readIds, watermarks } from "./read.ts";
import { renew } from "./renew.ts";
import { redrive, replay, reset } from "./replay.ts";
import { migrate } from "./schema.ts";
import { search } from "./search.ts";
import type { Unit } from "./session.ts";
import { Store } from "./store.ts";
import { createStream, deleteStream } from "./streams.ts";
import { trim } from "./trim.ts";

export class LmdbBackend implements Backend {
  readonly name = "lmdb";
  readonly capabilities: Capabilities = capabilities;
  readonly #options: ResolvedOptions;
  readonly #wake = new WakeListeners();
  /** Instances that have this backend open. */
  #openers = 0;
  #opening: Promise<Store> | null = null;
  #store: Store | null = null;
  /** Until the lock of a store that is being closed is released. */
  #closing: Promise<void> = Promise.resolve();

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  async open(context: BackendContext): Promise<void> {
    this.#openers += 1;
    const opening = this.#opening ?? this.#closing.then(() => Store.open(this.#options, context));
    this.#opening = opening;
    try {
      const store = await opening;
      if (this.#opening !== opening) throw closed(this.#options.path);
      this.#store = store;
    } catch (error) {
      this.#openers = Math.max(0, this.#openers - 1);
      if (this.#opening === opening) this.#opening = null;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#openers = Math.max(0, this.#openers - 1);
    if (this.#openers > 0) return;
    const opening = this.#opening;
    this.#opening = null;
    this.#store = null;
    // one that could not be opened was told so by open()
    if (opening !== null) this.#closing = opening.catch(() => null).then((store) => store?.close());
    await this.#closing;
  }

  async ping(): Promise<void> {
    await this.#read(({ environment }) => environment.lastTransaction);
  }

  async diagnose(): Promise<Diagnosis[]> {
    return diagnose(this.#opened(), this.#options);
  }

  async migrate(): Promise<void> {
    await this.#opened().session.write(({ environment }) => migrate(environment));
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

  async deleteStream(name: string): Promise<boolean> {
    const { sweeper } = this.#opened();
    const deleted = await this.#write(name, (unit) => deleteStream(unit, name));
    sweeper.start();
    return deleted;
  }

  watermarks(stream: string): Promise<Watermark[]> {
    return this.#read((unit) => watermarks(unit, stream));
  }

  async append(requests: readonly AppendRequest[]): Promise<AppendAnswer[]> {
    const answers = await this.#opened().session.write((unit) => append(unit, requests));
    for (const stream of streamsWithNew(requests, answers)) this.#wake.tell(stream);
    return [...answers];
  }

  read(request: ReadRequest): Promise<EventRecord[]> {
    return this.#read((unit) => read(unit, request));
  }

  search(request: SearchRequest): Promise<SearchAnswer> {
    return this.#read((unit) => search(unit, request));
  }

  readIds(stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> {
    return this.#read((unit) => readIds(unit, stream, ids));
  }

  trim(request: TrimRequest): Promise<TrimStep> {
    return this.#write(request.stream, (unit) => trim(unit, request));
  }

  // Groups

  createGroup(
    stream: string,
    name: string,
    options: ResolvedGroupOptions,
    start: ResolvedStart,
  ): Promise<{ group: GroupRecord; created: boolean }> {
    return this.#write(stream, (unit) => createGroup(unit, stream, name, options, start));
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
    return this.#write(stream, (unit) => deleteGroup(unit, stream, name));
  }

  // Delivery

  async exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
    const { session } = this.#opened();
    const { stream, group, settlements, fetch } = request;
    if (fetch !== null && settlements.length === 0 && !(await session.read((unit) => hasWork(unit, stream, group, fetch))))
      return NOTHING_FETCHED;
    return session.write((unit) => exchange(unit, request, () => this.#wake.tell(stream)));
  }

  async renew(request: RenewRequest): Promise<RenewAnswer> {
    return this.#opened().session.write((unit) => renew(unit, request));
  }

  // Re-opening

  replay(request: ReplayRequest): Promise<number> {
    return this.#write(request.stream, (unit) => replay(unit, request));
  }

  reset(stream: string, group: string, start: ResolvedStart): Promise<number> {
    return this.#write(stream, (unit) => reset(unit, stream, group, start));
  }

  redrive(request: RedriveRequest): Promise<number> {
    return this.#write(request.stream, (unit) => redrive(unit, request));
  }

  // Inspection

  progress(stream: string, group: string): Promise<PartitionProgress[]> {
    return this.#read((unit) => groupProgress(unit, stream, group));
  }

  groupStats(stream: string, group: string): Promise<GroupStats> {
    return this.#read((unit) => groupStats(unit, stream, group));
  }

  holders(stream: string, group: string): Promise<Holder[]> {
    return this.#read((unit) => holders(unit, stream, group));
  }

  leases(stream: string, group: string, limit: number): Promise<LeaseRecord[]> {
    return this.#read((unit) => leases(unit, stream, group, limit));
  }

  deadLetters(request: DeadLetterRequest): Promise<DeadLetterRecord[]> {
    return this.#read((unit) => deadLetters(unit, request));
  }

  delivery(stream: string, group: string, partition: number, sequence: number): Promise<DeliveryState> {
    return this.#read((unit) => delivery(unit, stream, group, partition, sequence));
  }

  subscribe(listener: WakeListener): () => void {
    return this.#wake.add(listener);
  }

  /** Nobody else may open the store. */
  hearsAll(): boolean {
    return true;
  }

  // Common

  #opened(): Store {
    if (this.#store === null) throw closed(this.#options.path);
    return this.#store;
  }

  async #read<Result>(work: (unit: Unit) => Result): Promise<Result> {
    return this.#opened().session.read(work);
  }

  /** A write after which members of the stream may find something, or find it gone. */
  async #write<Result>(stream: string, work: (unit: Unit) => Result): Promise<Result> {
    const result = await this.#opened().session.write(work);
    this.#wake.tell(stream);
    return result;
  }
}
