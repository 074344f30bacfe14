/**
 * The way into the log: checks and routes each event (L3, L7, L8), then lets concurrent calls share one write (L5). Each call
 * still gets its own answer.
 */
import type { AppendAnswer, AppendedEvent, AppendRequest, Backend, NewEvent } from "./backend.ts";
import type { Clock } from "./clock.ts";
import { RheoError, streamNotFound } from "./errors.ts";
import { type Event, type EventInput, toEvent } from "./event.ts";
import type { Emit } from "./events.ts";
import type { IdSource } from "./ids.ts";
import { LIMITS } from "./limits.ts";
import { parseDate, parseNumber, parseOptions, parseText, unreadable } from "./options.ts";
import { partitionOfKey } from "./partitioner.ts";
import { normaliseMetadata, normalisePayload } from "./payload.ts";
import { parsePartition } from "./query.ts";
import { isStorable, utf8Bytes } from "./text.ts";

/** A checked event; its partition is found out later, and again should its stream be made anew meanwhile. */
interface Draft extends Omit<NewEvent, "partition"> {
  partition: number;
  /** As it was given. */
  readonly wanted: number | null;
}

/**
 * Calls join a write until it has so many events. More would hardly make an event cheaper, and would keep the store and the callers
 * waiting for one another in turn.
 */
const SHARED_EVENTS = 1_000;
/** Full writes under way at a time: while the store does one, the next is on its way, and its callers make the one after. */
const WRITES_AHEAD = 2;

interface WriteOptions {
  readonly transaction?: unknown;
  readonly signal?: AbortSignal | undefined;
}

interface Pending {
  readonly request: AppendRequest;
  readonly resolve: (answer: AppendAnswer) => void;
  readonly reject: (error: unknown) => void;
}

const INPUT_NAMES = ["payload", "type", "key", "metadata", "id", "timestamp", "partition", "expectedSequence"] as const;

export class Appender {
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #nextId: IdSource;
  readonly #maxEventBytes: number;
  readonly #emit: Emit;
  /** How many a stream has: asked for once, so that calls which wait for it go on in their order. */
  readonly #partitions = new Map<string, Promise<number>>();
  readonly #spread = new Map<string, number>();
  #queue: Pending[] = [];
  /** Events of the calls that wait. */
  #queued = 0;
  /** Writes that have not been answered. */
  #underWay = 0;
  #isGathering = false;
  /** Tell the callers of writes that have been answered, in order. */
  readonly #answers: (() => void)[] = [];
  readonly #running = new Set<Promise<unknown>>();

  constructor(parts: { backend: Backend; clock: Clock; nextId: IdSource; maxEventBytes: number; emit: Emit }) {
    this.#backend = parts.backend;
    this.#clock = parts.clock;
    this.#nextId = parts.nextId;
    this.#maxEventBytes = parts.maxEventBytes;
    this.#emit = parts.emit;
  }

  /** Checks one event as far as it can be without the stream. `index`: its place in the call. */
  draft(input: EventInput, index: number): Draft {
    try {
      return this.#draft(input);
    } catch (error) {
      throw RheoError.is(error) ? error.at(index) : unreadable("event", error).at(index);
    }
  }

  #draft(input: EventInput): Draft {
    const raw = parseOptions("event", input, INPUT_NAMES);
    const payload = normalisePayload(raw.payload);
    const metadata = normaliseMetadata(raw.metadata);
    const type = bounded("type", raw.type, LIMITS.typeBytes);
    const key = bounded("key", raw.key, LIMITS.keyBytes);
    const id = bounded("id", raw.id, LIMITS.idBytes) ?? this.#nextId(this.#clock.now());
    if (id === "") throw new RheoError("invalid_option", "id is not empty; leave it out to have one made.", { path: "id" });
    const bytes =
      utf8Bytes(payload.text) + utf8Bytes(metadata.text) + utf8Bytes(id) + utf8Bytes(type ?? "") + utf8Bytes(key ?? "");
    if (bytes > this.#maxEventBytes)
      throw tooLarge(`the event has ${bytes} bytes; the limit is ${this.#maxEventBytes} (maxEventBytes)`, { id });
    const expected = raw.expectedSequence;
    return {
      partition: 0,
      wanted:
        raw.partition === undefined || raw.partition === null
          ? null
          : parseNumber("partition", raw.partition, { min: 0, max: LIMITS.partitions - 1 }),
      id,
      timestampMs: parseDate("timestamp", raw.timestamp),
      type,
      key,
      metadata: metadata.text,
      payload: payload.text,
      bytes,
      expectedSequence:
        expected === undefined ? null : parseNumber("expectedSequence", expected, { min: 0, max: Number.MAX_SAFE_INTEGER }),
      values: { metadata: metadata.value, payload: payload.value },
    };
  }

  /** Appends all or none. @throws stream_not_found, id_conflict, sequence_conflict, invalid_partition, event_too_large */
  append(stream: string, drafts: readonly Draft[], options: WriteOptions): Promise<Event[]> {
    const running = this.#append(stream, drafts, options).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async #append(stream: string, drafts: readonly Draft[], options: WriteOptions): Promise<Event[]> {
    if (drafts.length === 0) return [];
    checkBatch(drafts);
    for (let tries = 1; ; tries++) {
      const partitions = await this.partitionsOf(stream);
      throwIfAborted(options.signal);
      const events = this.#route(stream, drafts, partitions);
      const answer = await this.#write({ stream, partitions, events }, options.transaction);
      if (answer.kind !== "rerouted") return this.#answered(stream, events, answer);
      if (tries === MAX_TRIES) throw contradicts(stream);
      this.#partitions.set(stream, Promise.resolve(answer.partitions));
    }
  }

  /** How many partitions a stream has; remembered. @throws stream_not_found */
  partitionsOf(stream: string): Promise<number> {
    const known = this.#partitions.get(stream);
    if (known !== undefined) return known;
    const looking = this.#lookUp(stream);
    this.#partitions.set(stream, looking);
    looking.catch(() => {
      if (this.#partitions.get(stream) === looking) this.#partitions.delete(stream);
    });
    return looking;
  }

  forget(stream: string): void {
    this.#partitions.delete(stream);
  }

  /** Resolves when every append that was called has its answer. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #lookUp(stream: string): Promise<number> {
    const record = await this.#backend.getStream(stream);
    if (record === null) throw streamNotFound(stream);
    return record.partitions;
  }

  #route(stream: string, drafts: readonly Draft[], partitions: number): readonly NewEvent[] {
    let spread: number | null = null;
    for (const [index, draft] of drafts.entries()) {
      if (draft.wanted !== null) draft.partition = partitionAt(index, draft.wanted, partitions);
      else if (draft.key !== null) draft.partition = partitionOfKey(draft.key, partitions);
      else draft.partition = spread ??= this.#nextSpread(stream, partitions);
    }
    return drafts;
  }

  /** Keyless events of one call go to one partition, calls take turns (L3). */
  #nextSpread(stream: string, partitions: number): number {
    const turn = this.#spread.get(stream) ?? 0;
    this.#spread.set(stream, (turn + 1) % partitions);
    return turn % partitions;
  }

  async #write(request: AppendRequest, transaction: unknown): Promise<AppendAnswer> {
    if (transaction !== undefined) {
      const [answer] = await this.#backend.append([request], transaction);
      return answer ?? { kind: "stream_not_found" };
    }
    return new Promise<AppendAnswer>((resolve, reject) => {
      this.#queue.push({ request, resolve, reject });
      this.#queued += request.events.length;
      if (this.#isGathering) return;
      this.#isGathering = true;
      queueMicrotask(() => {
        this.#isGathering = false; // calls of the same tick have joined
        this.#send();
      });
    });
  }

  /** Writes what waits: as soon as nothing is under way; a full write also behind another, where the store keeps them in order. */
  #send(): void {
    while (this.#queue.length > 0 && this.#underWay < this.#mostUnderWay()) void this.#sendOne(this.#takeBatch());
  }

  #mostUnderWay(): number {
    return this.#queued >= SHARED_EVENTS && this.#backend.capabilities.appendsInCallOrder ? WRITES_AHEAD : 1;
  }

  /** Never rejects: each call gets its own answer or error. */
  async #sendOne(batch: readonly Pending[]): Promise<void> {
    this.#underWay += 1;
    const answer = await this.#writeBatch(batch);
    this.#underWay -= 1;
    this.#answers.push(answer);
    if (this.#queue.length === 0) return this.#tell();
    this.#send();
    // what callers do with their answers takes the thread: first the next write is to leave
    setImmediate(() => this.#tell());
  }

  #tell(): void {
    for (const answer of this.#answers.splice(0)) answer();
  }

  /** Gives what tells the callers. Never rejects. */
  async #writeBatch(batch: readonly Pending[]): Promise<() => void> {
    try {
      const answers = await this.#backend.append(batch.map((pending) => pending.request));
      return () => {
        for (const [index, pending] of batch.entries()) pending.resolve(answers[index] ?? { kind: "stream_not_found" });
      };
    } catch (error) {
      return () => {
        for (const pending of batch) pending.reject(error);
      };
    }
  }

  /** As many waiting calls as fit in one write; at least one. */
  #takeBatch(): Pending[] {
    let events = 0;
    let bytes = 0;
    const count = this.#queue.findIndex(({ request }, index) => {
      if (index > 0 && events >= SHARED_EVENTS) return true;
      events += request.events.length;
      bytes += request.events.reduce((sum, event) => sum + event.bytes, 0);
      return index > 0 && (events > LIMITS.appendEvents || bytes > LIMITS.appendBytes);
    });
    const batch = this.#queue.splice(0, count === -1 ? this.#queue.length : count);
    this.#queued -= batch.reduce((sum, { request }) => sum + request.events.length, 0);
    return batch;
  }

  #answered(stream: string, events: readonly NewEvent[], answer: Exclude<AppendAnswer, { kind: "rerouted" }>): Event[] {
    switch (answer.kind) {
      case "appended": {
        const duplicates = answer.events.reduce((sum, event) => sum + (event.duplicate === null ? 0 : 1), 0);
        this.#emit("event.appended", { stream, count: events.length - duplicates, duplicates });
        return events.map((event, index) => appendedEvent(stream, event, answer.events[index]));
      }
      case "id_conflict":
        throw conflict(stream, events[answer.index], answer);
      case "sequence_conflict":
        throw sequenceConflict(stream, events[answer.index], answer);
      case "stream_not_found":
        this.#partitions.delete(stream);
        throw streamNotFound(stream);
      default:
        return answer satisfies never;
    }
  }
}

/** A stream may be deleted and made anew with other partitions while an append is under way, but hardly so often. */
const MAX_TRIES = 10;

const contradicts = (stream: string): RheoError =>
  new RheoError(
    "unavailable",
    `The store says each time anew that stream "${stream}" has other partitions: it was written to by something else, or is damaged. Nothing was written.`,
    { stream },
  );

const appendedEvent = (stream: string, event: NewEvent, appended: AppendedEvent | undefined): Event => {
  if (appended === undefined) throw new Error("The backend gave fewer answers than events.");
  if (appended.duplicate !== null) return toEvent(stream, appended.duplicate);
  return Object.freeze({
    id: event.id,
    stream,
    partition: event.partition,
    sequence: appended.sequence,
    timestamp: new Date(appended.timestampMs),
    type: event.type,
    key: event.key,
    metadata: event.values.metadata as Event["metadata"], // as normalised
    payload: event.values.payload as Event["payload"],
  });
};

const conflict = (
  stream: string,
  event: NewEvent | undefined,
  answer: Extract<AppendAnswer, { kind: "id_conflict" }>,
): RheoError => {
  const { stored, index } = answer;
  const id = event?.id ?? stored.id;
  return new RheoError(
    "id_conflict",
    `Event ${index}: id "${id}" is already in stream "${stream}" (partition ${stored.partition}, sequence ${stored.sequence}) with another type, key, ` +
      "payload or metadata. Nothing was written. Events never change: append the new content under a new id.",
    { stream, id, index, partition: stored.partition, sequence: stored.sequence },
  );
};

const sequenceConflict = (
  stream: string,
  event: NewEvent | undefined,
  answer: Extract<AppendAnswer, { kind: "sequence_conflict" }>,
): RheoError =>
  new RheoError(
    "sequence_conflict",
    `Event ${answer.index}: partition ${event?.partition} of "${stream}" stands at sequence ${answer.highWatermark}, not at the expected ${event?.expectedSequence}. ` +
      "Nothing was written. Read what is new, decide again, and append with the sequence you then saw.",
    {
      stream,
      index: answer.index,
      ...(event === undefined ? {} : { partition: event.partition, id: event.id }),
      sequence: answer.highWatermark,
    },
  );

const tooLarge = (problem: string, details: { id?: string } = {}): RheoError =>
  new RheoError("event_too_large", `${problem}. Keep large content elsewhere and put a reference in the payload.`, details);

const checkBatch = (drafts: readonly Draft[]): void => {
  if (drafts.length > LIMITS.appendEvents)
    throw tooLarge(`${drafts.length} events in one call; the limit is ${LIMITS.appendEvents}. Split the batch`);
  const bytes = drafts.reduce((sum, draft) => sum + draft.bytes, 0);
  if (bytes > LIMITS.appendBytes && drafts.length > 1)
    throw tooLarge(`${bytes} bytes in one call; the limit is ${LIMITS.appendBytes}. Split the batch`);
};

/** Text that every store keeps as it is, within a number of bytes; null when absent. */
const bounded = (name: "type" | "key" | "id", value: unknown, maxBytes: number): string | null => {
  const text = parseText(name, value);
  if (text === null) return null;
  if (!isStorable(text))
    throw new RheoError("invalid_payload", `${name}: U+0000 or a lone surrogate cannot be stored.`, { path: name });
  const bytes = text.length > maxBytes ? text.length : utf8Bytes(text);
  if (bytes > maxBytes)
    throw new RheoError("event_too_large", `${name} has ${bytes} bytes of UTF-8; the limit is ${maxBytes}.`, { path: name });
  return text;
};

/** @throws aborted */
export const throwIfAborted = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw aborted(signal);
};

export const aborted = (signal: AbortSignal): RheoError =>
  new RheoError("aborted", "The call was aborted by its signal.", {}, { cause: signal.reason });

const partitionAt = (index: number, partition: number, partitions: number): number => {
  try {
    return parsePartition(partition, partitions);
  } catch (error) {
    throw RheoError.is(error) ? error.at(index) : error;
  }
};
