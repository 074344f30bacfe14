/** The port over one MongoDB database: opens and closes it, and gives each operation its transaction. */
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
import { append, appendWithin, streamsWithNew } from "./append.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { findStream, requireGroup, streamsAfter } from "./catalog.ts";
import { diagnose } from "./diagnose.ts";
import { closed } from "./errors.ts";
import { exchange, settleWithin } from "./fetch.ts";
import { createGroup, deleteGroup, listGroups, updateGroup } from "./groups.ts";
import * as inspect from "./inspect.ts";
import type { ResolvedOptions } from "./options.ts";
import { read, readIds, watermarks } from "./read.ts";
import { renew } from "./renew.ts";
import { redrive, replay, reset } from "./replay.ts";
import { search } from "./search.ts";
import { Store } from "./store.ts";
import { createStream, deleteStream } from "./streams.ts";
import { trim } from "./trim.ts";
import { Wake } from "./wake.ts";
import { within } from "./within.ts";

export class MongoBackend implements Backend {
  readonly name = "mongo";
  readonly capabilities: Capabilities;
  readonly #options: ResolvedOptions;
  readonly #random: () => number;
  readonly #wake: Wake;
  /** Instances that have this backend open. */
  #openers = 0;
  #opening: Promise<Store> | null = null;
  #store: Store | null = null;

  constructor(options: ResolvedOptions, random: () => number) {
    this.#options = options;
    this.#random = random;
    this.#wake = new Wake(options.notify);
    this.capabilities = capabilitiesOf(options.notify);
  }

  async open(context: BackendContext): Promise<void> {
    this.#openers += 1;
    const opening = this.#opening ?? Store.open(this.#options, context, this.#random);
    this.#opening = opening;
    try {
      const store = await opening;
      if (this.#opening !== opening) throw closed();
      this.#store = store;
    } catch (error) {
      this.#openers = Math.max(0, this.#openers - 1);
      if (this.#opening === opening) this.#opening = null;
      throw error;
    }
    this.#wake.start(this.#store);
  }

  async close(): Promise<void> {
    this.#openers = Math.max(0, this.#openers - 1);
    if (this.#openers > 0 || this.#opening === null) return;
    const opening = this.#opening;
    this.#opening = null;
    this.#store = null;
    await this.#wake.stop();
    // one that could not be opened was told so by open()
    const store = await opening.catch(() => null);
    await store?.close();
  }

  async ping(): Promise<void> {
    await this.#opened().read(({ store }) => store.database.db.command({ ping: 1 }));
  }

  async diagnose(): Promise<Diagnosis[]> {
    return this.#opened().read(({ store }) => diagnose(store.database));
  }

  async migrate(): Promise<void> {
    await this.#opened().migrate();
  }

  // Log

  createStream(name: string, partitions: number): Promise<{ stream: StreamRecord; created: boolean }> {
    return this.#change(name, (store) => createStream(store, name, partitions));
  }

  async getStream(name: string): Promise<StreamRecord | null> {
    return (await this.#opened().read((unit) => findStream(unit, name)))?.record ?? null;
  }

  async listStreams(page: NamePage): Promise<StreamRecord[]> {
    return this.#opened().read((unit) => streamsAfter(unit, page));
  }

  deleteStream(name: string): Promise<boolean> {
    return this.#change(name, (store) => deleteStream(store, name));
  }

  async watermarks(stream: string): Promise<Watermark[]> {
    return this.#opened().read((unit) => watermarks(unit, stream));
  }

  async append(requests: readonly AppendRequest[], transaction?: unknown): Promise<AppendAnswer[]> {
    const store = this.#opened();
    const answers =
      transaction === undefined
        ? await append(store, requests)
        : await within(store, transaction, (unit) => appendWithin(unit, requests));
    for (const stream of streamsWithNew(requests, answers)) this.#wake.tell(stream);
    return [...answers];
  }

  async read(request: ReadRequest): Promise<EventRecord[]> {
    return this.#opened().read((unit) => read(unit, request));
  }

  async search(request: SearchRequest): Promise<SearchAnswer> {
    return this.#opened().read((unit) => search(unit, request));
  }

  async readIds(stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> {
    return this.#opened().read((unit) => readIds(unit, stream, ids));
  }

  trim(request: TrimRequest): Promise<TrimStep> {
    return this.#change(request.stream, (store) => store.write((unit) => trim(unit, request)));
  }

  // Groups

  createGroup(
    stream: string,
    name: string,
    options: ResolvedGroupOptions,
    start: ResolvedStart,
  ): Promise<{ group: GroupRecord; created: boolean }> {
    return this.#change(stream, (store) => createGroup(store, stream, name, options, start));
  }

  async getGroup(stream: string, name: string): Promise<GroupRecord> {
    return (await this.#opened().read((unit) => requireGroup(unit, stream, name))).record;
  }

  async listGroups(stream: string, page: NamePage): Promise<GroupRecord[]> {
    return this.#opened().read((unit) => listGroups(unit, stream, page));
  }

  updateGroup(stream: string, name: string, change: { options?: ResolvedGroupOptions; paused?: boolean }): Promise<GroupRecord> {
    return this.#change(stream, (store) => store.write((unit) => updateGroup(unit, stream, name, change)));
  }

  deleteGroup(stream: string, name: string): Promise<boolean> {
    return this.#change(stream, (store) => deleteGroup(store, stream, name));
  }

  // Delivery

  async exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
    const store = this.#opened();
    const { transaction, stream } = request;
    const answer =
      transaction === undefined
        ? await exchange(store, request)
        : await within(store, transaction, (unit) => settleWithin(unit, request));
    if (request.settlements.some(({ outcome }) => outcome.kind !== "ack")) this.#wake.tell(stream);
    return answer;
  }

  async renew(request: RenewRequest): Promise<RenewAnswer> {
    return renew(this.#opened(), request);
  }

  // Re-opening

  replay(request: ReplayRequest): Promise<number> {
    return this.#change(request.stream, (store) => replay(store, request));
  }

  reset(stream: string, group: string, start: ResolvedStart): Promise<number> {
    return this.#change(stream, (store) => reset(store, stream, group, start));
  }

  redrive(request: RedriveRequest): Promise<number> {
    return this.#change(request.stream, (store) => redrive(store, request));
  }

  // Inspection

  async progress(stream: string, group: string): Promise<PartitionProgress[]> {
    return inspect.groupProgress(this.#opened(), stream, group);
  }

  async groupStats(stream: string, group: string): Promise<GroupStats> {
    return inspect.groupStats(this.#opened(), stream, group);
  }

  async holders(stream: string, group: string): Promise<Holder[]> {
    return inspect.holders(this.#opened(), stream, group);
  }

  async leases(stream: string, group: string, limit: number): Promise<LeaseRecord[]> {
    return inspect.leases(this.#opened(), stream, group, limit);
  }

  async deadLetters(request: DeadLetterRequest): Promise<DeadLetterRecord[]> {
    return inspect.deadLetters(this.#opened(), request);
  }

  async delivery(stream: string, group: string, partition: number, sequence: number): Promise<DeliveryState> {
    return inspect.delivery(this.#opened(), stream, group, partition, sequence);
  }

  subscribe(listener: WakeListener): () => void {
    return this.#wake.subscribe(listener);
  }

  hearsAll(): boolean {
    return this.#wake.hears;
  }

  // Common

  #opened(): Store {
    if (this.#store === null) throw closed();
    return this.#store;
  }

  /** A write after which members of the stream may find something, or find it gone. */
  async #change<Result>(stream: string, work: (store: Store) => Promise<Result>): Promise<Result> {
    const result = await work(this.#opened());
    this.#wake.tell(stream);
    return result;
  }
}
