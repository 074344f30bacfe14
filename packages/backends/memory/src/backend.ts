/** The port over one heap. Every method is done before it returns its promise, so each is one atomic step. */
import type {
  AppendAnswer,
  AppendRequest,
  Backend,
  BackendContext,
  Capabilities,
  DeadLetterRecord,
  DeadLetterRequest,
  DeliveryState,
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
  StreamRecord,
  TrimRequest,
  TrimStep,
  WakeListener,
  Watermark,
} from "@rheo/core";
import { progress, systemClock } from "@rheo/core/internal";
import { append } from "./append.ts";
import { capabilities } from "./capabilities.ts";
import { closed } from "./errors.ts";
import { exchange } from "./fetch.ts";
import { deadLetters, delivery, groupProgress, groupStats, holders, leases } from "./inspect.ts";
import { findGroup, findStream, lookUpGroup, pageByName, read, readIds } from "./read.ts";
import { renew } from "./renew.ts";
import { redrive, replay, reset } from "./replay.ts";
import { newGroup, newStore, newStream, raiseFloor, type Store } from "./schema.ts";
import { trim } from "./trim.ts";
import { Wake } from "./wake.ts";

export class MemoryBackend implements Backend {
  readonly name = "memory";
  readonly capabilities: Capabilities = capabilities;
  readonly #store: Store = newStore();
  readonly #wake = new Wake();
  #now: () => number = () => systemClock.now();
  #openers = 0;

  async open({ clock }: BackendContext): Promise<void> {
    if (clock !== null) this.#now = () => clock.now();
    this.#openers += 1;
  }

  async close(): Promise<void> {
    this.#openers = Math.max(0, this.#openers - 1);
  }

  async ping(): Promise<void> {
    this.#open();
  }

  async migrate(): Promise<void> {
    this.#open();
  }

  // Log

  async createStream(name: string, partitions: number): Promise<{ stream: StreamRecord; created: boolean }> {
    const { streams } = this.#open();
    const known = streams.get(name);
    if (known !== undefined) return { stream: known.record, created: false };
    const stream = newStream(name, partitions, this.#now());
    streams.set(name, stream);
    return { stream: stream.record, created: true };
  }

  async getStream(name: string): Promise<StreamRecord | null> {
    return this.#open().streams.get(name)?.record ?? null;
  }

  async listStreams(page: NamePage): Promise<StreamRecord[]> {
    return pageByName(this.#open().streams, page).map((stream) => stream.record);
  }

  async deleteStream(name: string): Promise<boolean> {
    const store = this.#open();
    for (const group of store.streams.get(name)?.groups.values() ?? []) raiseFloor(store, group);
    this.#wake.tell(name);
    return store.streams.delete(name);
  }

  async watermarks(stream: string): Promise<Watermark[]> {
    return findStream(this.#open(), stream).logs.map((log) => log.watermark());
  }

  async append(requests: readonly AppendRequest[]): Promise<AppendAnswer[]> {
    const answers = append(this.#open(), requests, this.#now());
    for (const { stream } of requests) this.#wake.tell(stream);
    return answers;
  }

  async read(request: ReadRequest): Promise<EventRecord[]> {
    return read(this.#open(), request);
  }

  async readIds(stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> {
    return readIds(this.#open(), stream, ids);
  }

  async trim(request: TrimRequest): Promise<TrimStep> {
    const answer = trim(this.#open(), request);
    this.#wake.tell(request.stream);
    return answer;
  }

  // Groups

  async createGroup(
    stream: string,
    name: string,
    options: ResolvedGroupOptions,
    start: ResolvedStart,
  ): Promise<{ group: GroupRecord; created: boolean }> {
    const store = this.#open();
    const found = findStream(store, stream);
    const known = found.groups.get(name);
    if (known !== undefined) return { group: known.group, created: false };
    const group = newGroup(found, { stream, name, options, paused: false, createdAtMs: this.#now() }, store.tokenFloor);
    for (let partition = 0; partition < group.partitions; partition++) {
      const cursor = progress.startCursor(group, partition, start);
      group.putHead(partition, { ...group.head(partition), cursor, start: cursor });
    }
    found.groups.set(name, group);
    this.#wake.tell(stream);
    return { group: group.group, created: true };
  }

  async getGroup(stream: string, name: string): Promise<GroupRecord> {
    return findGroup(this.#open(), stream, name).group;
  }

  async listGroups(stream: string, page: NamePage): Promise<GroupRecord[]> {
    return pageByName(findStream(this.#open(), stream).groups, page).map(({ group }) => group);
  }

  async updateGroup(
    stream: string,
    name: string,
    change: { options?: ResolvedGroupOptions; paused?: boolean },
  ): Promise<GroupRecord> {
    const group = findGroup(this.#open(), stream, name);
    group.group = { ...group.group, ...change };
    this.#wake.tell(stream);
    return group.group;
  }

  async deleteGroup(stream: string, name: string): Promise<boolean> {
    const store = this.#open();
    const { groups } = findStream(store, stream);
    const group = groups.get(name);
    if (group !== undefined) raiseFloor(store, group);
    this.#wake.tell(stream);
    return groups.delete(name);
  }

  // Delivery

  async exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
    const store = this.#open();
    const answer = exchange(store, request, this.#now());
    const group = lookUpGroup(store, request.stream, request.group);
    if (group !== null && progress.mayWake(request.settlements, group.group.options.ordering)) this.#wake.tell(request.stream);
    return answer;
  }

  async renew(request: RenewRequest): Promise<RenewAnswer> {
    return renew(this.#open(), request, this.#now());
  }

  // Re-opening

  async replay(request: ReplayRequest): Promise<number> {
    return this.#reopened(request.stream, replay(this.#open(), request));
  }

  async reset(stream: string, group: string, start: ResolvedStart): Promise<number> {
    return this.#reopened(stream, reset(this.#open(), stream, group, start));
  }

  async redrive(request: RedriveRequest): Promise<number> {
    return this.#reopened(request.stream, redrive(this.#open(), request));
  }

  #reopened(stream: string, count: number): number {
    this.#wake.tell(stream);
    return count;
  }

  // Inspection

  async progress(stream: string, group: string): Promise<PartitionProgress[]> {
    return groupProgress(this.#open(), stream, group);
  }

  async groupStats(stream: string, group: string): Promise<GroupStats> {
    return groupStats(this.#open(), stream, group, this.#now());
  }

  async holders(stream: string, group: string): Promise<Holder[]> {
    return holders(this.#open(), stream, group, this.#now());
  }

  async leases(stream: string, group: string, limit: number): Promise<LeaseRecord[]> {
    return leases(this.#open(), stream, group, limit);
  }

  async deadLetters(request: DeadLetterRequest): Promise<DeadLetterRecord[]> {
    return deadLetters(this.#open(), request);
  }

  async delivery(stream: string, group: string, partition: number, sequence: number): Promise<DeliveryState> {
    return delivery(this.#open(), stream, group, partition, sequence, this.#now());
  }

  subscribe(listener: WakeListener): () => void {
    return this.#wake.subscribe(listener);
  }

  hearsAll(): boolean {
    return true;
  }

  #open(): Store {
    if (this.#openers === 0) throw closed();
    return this.#store;
  }
}
