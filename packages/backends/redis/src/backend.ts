/** The port over Redis: opens and closes it, and gives each operation its scripts and its wake-ups. */
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
import { append, type News } from "./append.ts";
import { capabilitiesOf } from "./capabilities.ts";
import * as catalog from "./catalog.ts";
import { createListener } from "./client.ts";
import { exchangeOnCluster } from "./cluster-fetch.ts";
import { RedisConnection } from "./connection.ts";
import { diagnose } from "./diagnose.ts";
import { closed } from "./errors.ts";
import { exchange } from "./fetch.ts";
import * as groups from "./groups.ts";
import { createIndex, dropIndex, listIndexes } from "./indexes.ts";
import * as inspect from "./inspect.ts";
import { Listener } from "./listener.ts";
import type { ResolvedOptions } from "./options.ts";
import * as log from "./read.ts";
import { renew } from "./renew.ts";
import { redrive, replay, reset } from "./replay.ts";
import { migrate, openSchema } from "./schema.ts";
import { Shards } from "./shards.ts";
import { checkServers } from "./startup.ts";
import { Streams } from "./streams.ts";
import { trim } from "./trim.ts";
import { channelOf, Wake } from "./wake.ts";

/** What is there while the backend is open. */
interface Opened {
  readonly connection: RedisConnection;
  readonly shards: Shards;
  readonly listener: Listener | null;
}

export class RedisBackend implements Backend {
  readonly name = "redis";
  readonly capabilities: Capabilities;
  readonly #options: ResolvedOptions;
  readonly #random: () => number;
  /** Tells our messages from those of others. */
  readonly #self = randomName();
  readonly #turns = new progress.Turns();
  readonly #wake: Wake;
  #clock: Clock | null = null;
  /** Instances that have this backend open. */
  #openers = 0;
  #opening: Promise<Opened> | null = null;
  #opened: Opened | null = null;

  constructor(options: ResolvedOptions, random: () => number) {
    this.#options = options;
    this.#random = random;
    // also when it is closed meanwhile: a hint is lost, and nothing else
    const publish = async (message: string): Promise<unknown> =>
      this.#open.connection.publish(channelOf(options.prefix), message);
    this.#wake = new Wake({ self: this.#self, publish: options.notify ? publish : null });
    this.capabilities = capabilitiesOf(options.notify);
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
    // one that could not be opened was told so by open()
    const opened = await opening.catch(() => null);
    await this.#wake.stop();
    this.#opened = null;
    if (opened === null) return;
    await opened.listener?.stop();
    await opened.connection.end();
  }

  async ping(): Promise<void> {
    await this.#open.connection.ping();
  }

  async diagnose(): Promise<Diagnosis[]> {
    return diagnose(this.#open.connection, () => systemClock.now());
  }

  async migrate(): Promise<void> {
    await migrate(this.#open.connection, this.#prefix);
  }

  // Log

  async createStream(name: string, partitions: number): Promise<{ stream: StreamRecord; created: boolean }> {
    const answer = await catalog.createStream(this.#shards, this.#prefix, name, partitions, randomName());
    if (answer.created) this.#wake.tell(name);
    return answer;
  }

  async getStream(name: string): Promise<StreamRecord | null> {
    return catalog.getStream(this.#shards, name);
  }

  async listStreams(page: NamePage): Promise<StreamRecord[]> {
    return catalog.listStreams(this.#shards, this.#prefix, page);
  }

  async deleteStream(name: string): Promise<boolean> {
    return this.#changed(name, await catalog.deleteStream(this.#shards, this.#prefix, name));
  }

  async watermarks(stream: string): Promise<Watermark[]> {
    return log.watermarks(this.#shards, stream);
  }

  async append(requests: readonly AppendRequest[]): Promise<AppendAnswer[]> {
    const news = this.#newsOf(requests);
    // a fetch that is sent after the write comes after it, too: who waits here need not wait for the answer
    const onSent = (stream: string): void => this.#wake.hear(stream);
    const context = { shards: this.#shards, prefix: this.#prefix, random: randomName, news, onSent };
    const answers = await append(context, requests);
    const changed = new Set(requests.filter((_, index) => addsEvents(answers[index])).map(({ stream }) => stream));
    for (const stream of changed) {
      if (this.#shards.isCluster) this.#wake.tell(stream);
      else if (news === null) this.#wake.spread(stream);
    }
    return answers;
  }

  /** What an append may tell other processes by itself: a message that comes with the write is a round trip earlier. */
  #newsOf(requests: readonly AppendRequest[]): News | null {
    const [first] = requests;
    if (first === undefined || this.#shards.isCluster || requests.some(({ stream }) => stream !== first.stream)) return null;
    const message = this.#wake.carry(first.stream);
    return message === null ? null : { channel: channelOf(this.#prefix), message };
  }

  async read(request: ReadRequest): Promise<EventRecord[]> {
    return log.read(this.#shards, request);
  }

  async search(request: SearchRequest): Promise<SearchAnswer> {
    return log.search(this.#shards, request);
  }

  async readIds(stream: string, ids: readonly string[]): Promise<(EventRecord | null)[]> {
    return log.readIds(this.#shards, this.#prefix, stream, ids);
  }

  async createIndex(stream: string, path: string): Promise<void> {
    await createIndex(this.#shards, stream, path);
  }

  async dropIndex(stream: string, path: string): Promise<boolean> {
    return dropIndex(this.#shards, stream, path);
  }

  async listIndexes(stream: string): Promise<string[]> {
    return listIndexes(this.#shards, stream);
  }

  async trim(request: TrimRequest): Promise<TrimStep> {
    return this.#changed(request.stream, await trim(this.#shards, this.#prefix, request));
  }

  // Groups

  async createGroup(
    stream: string,
    name: string,
    options: ResolvedGroupOptions,
    start: ResolvedStart,
  ): Promise<{ group: GroupRecord; created: boolean }> {
    return this.#changed(stream, await groups.createGroup(this.#shards, stream, name, options, start));
  }

  async getGroup(stream: string, name: string): Promise<GroupRecord> {
    return groups.getGroup(this.#shards, stream, name);
  }

  async listGroups(stream: string, page: NamePage): Promise<GroupRecord[]> {
    return groups.listGroups(this.#shards, stream, page);
  }

  async updateGroup(
    stream: string,
    name: string,
    change: { options?: ResolvedGroupOptions; paused?: boolean },
  ): Promise<GroupRecord> {
    return this.#changed(stream, await groups.updateGroup(this.#shards, stream, name, change));
  }

  async deleteGroup(stream: string, name: string): Promise<boolean> {
    this.#turns.forget(stream, name);
    return this.#changed(stream, await groups.deleteGroup(this.#shards, stream, name));
  }

  // Delivery

  async exchange(request: ExchangeRequest): Promise<ExchangeAnswer> {
    const { stream, group, settlements } = request;
    const run = this.#shards.isCluster ? exchangeOnCluster : exchange;
    const { answer, ordering, turn } = await run(this.#shards, request, this.#turns.of(stream, group));
    if (request.fetch !== null) this.#turns.put(stream, group, turn);
    if (progress.mayWake(settlements, ordering)) this.#wake.tell(stream);
    return answer;
  }

  async renew(request: RenewRequest): Promise<RenewAnswer> {
    return renew(this.#shards, request);
  }

  // Re-opening

  async replay(request: ReplayRequest): Promise<number> {
    return this.#changed(request.stream, await replay(this.#shards, request));
  }

  async reset(stream: string, group: string, start: ResolvedStart): Promise<number> {
    return this.#changed(stream, await reset(this.#shards, stream, group, start));
  }

  async redrive(request: RedriveRequest): Promise<number> {
    return this.#changed(request.stream, await redrive(this.#shards, this.#prefix, request));
  }

  // Inspection

  async progress(stream: string, group: string): Promise<PartitionProgress[]> {
    return inspect.progress(this.#shards, stream, group);
  }

  async groupStats(stream: string, group: string): Promise<GroupStats> {
    return inspect.groupStats(this.#shards, stream, group);
  }

  async holders(stream: string, group: string): Promise<Holder[]> {
    return inspect.holders(this.#shards, stream, group);
  }

  async leases(stream: string, group: string, limit: number): Promise<LeaseRecord[]> {
    return inspect.leases(this.#shards, stream, group, limit);
  }

  async deadLetters(request: DeadLetterRequest): Promise<DeadLetterRecord[]> {
    return inspect.deadLetters(this.#shards, this.#prefix, request);
  }

  async delivery(stream: string, group: string, partition: number, sequence: number): Promise<DeliveryState> {
    return inspect.delivery(this.#shards, stream, group, partition, sequence);
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

  get #shards(): Shards {
    return this.#open.shards;
  }

  get #prefix(): string {
    return this.#options.prefix;
  }

  #changed<Answer>(stream: string, answer: Answer): Answer {
    this.#wake.tell(stream);
    return answer;
  }

  async #connect({ migrate: mayMigrate }: BackendContext): Promise<Opened> {
    const connection = new RedisConnection(this.#options, this.#random);
    try {
      await connection.open();
      checkServers(await connection.infos(), {
        isCluster: connection.isCluster,
        allowEviction: this.#options.allowEviction,
      });
      await openSchema(connection, this.#prefix, mayMigrate);
    } catch (error) {
      await connection.end();
      throw error;
    }
    const shards = new Shards(connection, new Streams(connection, this.#prefix), () => this.#clock?.now() ?? null);
    const listener = this.#options.notify ? this.#listen(connection) : null;
    listener?.start();
    return { connection, shards, listener };
  }

  #listen(connection: RedisConnection): Listener {
    return new Listener({
      channel: channelOf(this.#prefix),
      connect: () => createListener(connection.client, this.#options.connectTimeoutMs, this.#random),
      random: this.#random,
      onMessage: (message) => this.#wake.receive(message),
      onGap: () => this.#wake.hear(null),
    });
  }
}

const randomName = (): string => randomBytes(6).toString("hex");

/** Whether a request added anything. */
const addsEvents = (answer: AppendAnswer | undefined): boolean =>
  answer?.kind === "appended" && answer.events.some((event) => event.duplicate === null);
