/**
 * What the main thread and a worker thread say to each other. A session is the work of a thread for one group: it begins with a
 * slice of deliveries, content as text, and takes further ones while it lasts, so that a slow delivery does not keep the handlers
 * beside it idle. What becomes of each delivery is written to memory that both share, as it happens, so that the main side knows it
 * even when the thread is no more.
 *
 * Layout of a slice's memory: a header of 32-bit integers, then a record of them for each delivery, then a bounded area of UTF-8 for reasons. A record
 * is complete before its state says so: the state is written last, atomically.
 */
import type { Outcome } from "@rheo/core";
import { cleanText, LIMITS } from "@rheo/core/internal";
import type { HandlerUse } from "../load-handler.ts";

/** Deliveries of one slice at most: with quick handlers a smaller one costs more to hand over than to work on. */
export const MAX_SLICE = 1_024;

const QUEUED = 0;
export const RUNNING = 1;
export const FINISHED = 2;
/** Taken back by the main side before it began. */
const CANCELLED = 3;

/** Grants that a slice is made of: `count` deliveries each, one after another. */
export interface SliceRun {
  readonly partition: number;
  readonly token: number;
  readonly attempt: number;
  readonly count: number;
}

/** The deliveries of a slice, by column: that clones faster than an object for each. */
export interface SliceColumns {
  readonly ids: readonly string[];
  readonly sequences: readonly number[];
  readonly timestampsMs: readonly number[];
  readonly types: readonly (string | null)[];
  readonly keys: readonly (string | null)[];
  readonly metadata: readonly string[];
  readonly payloads: readonly string[];
}

/** A slice on its way to a thread. */
export interface SliceContent {
  readonly id: number;
  readonly memory: SharedArrayBuffer;
  readonly runs: readonly SliceRun[];
  readonly columns: SliceColumns;
  /** For a batch handler: the sizes of the batches that it is made of, one after another. Null: single deliveries. */
  readonly batches: readonly number[] | null;
  /** With so many calls left to begin the thread asks for more; -1: only once a handler could begin and there is nothing. */
  readonly hungryAt: number;
  /** Whether the time of each delivery is to be measured. */
  readonly isTimed: boolean;
}

/** The work of a thread for one group: a first slice, and others that are added while it lasts. */
export interface SessionTask {
  readonly kind: "session";
  readonly id: number;
  readonly module: string;
  readonly stream: string;
  readonly group: string;
  /** Handlers at once. */
  readonly limit: number;
  /** Each batch is a run, so that its outcomes count as far as the first that is not an ack. */
  readonly isRun: boolean;
  readonly timeoutMs: number | null;
  readonly first: SliceContent;
}

export type ThreadTask =
  | SessionTask
  /** Loads a handler module, to see whether it can be, and whether it fits its consumer. */
  | ({ readonly kind: "probe"; readonly module: string } & HandlerUse)
  /** Runs the teardowns of this thread. */
  | { readonly kind: "teardown" };

/** The answer to a task. Never thrown: error classes are lost on the way. */
export type ThreadAnswer = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Aborts the signals of deliveries of one slice, with an error of that name and message. */
export interface AbortMessage {
  readonly kind: "abort";
  readonly slice: number;
  readonly indexes: readonly number[];
  readonly name: string;
  readonly message: string;
}

/** Told to one thread, on a channel of its own. A slice is announced at the gate of its session before. */
export type ToThread = AbortMessage | { readonly kind: "slice"; readonly session: number; readonly slice: SliceContent };

/** The name of the channel of a thread. */
export const channelOf = (pool: string, threadId: number): string => `${pool}-${threadId}`;

/** Told to the main side by a thread. */
export type FromThread =
  /** A handler asked for time. */
  | { readonly rheo: "extend"; readonly slice: number; readonly index: number; readonly ms: number }
  /** A session will soon have nothing to begin. */
  | { readonly rheo: "hungry"; readonly session: number }
  /** Its memory in bytes; said now and then while it works. */
  | {
      readonly rheo: "memory";
      readonly threadId: number;
      readonly heapUsed: number;
      readonly heapLimit: number;
      readonly external: number;
    };
export type ExtendMessage = Extract<FromThread, { rheo: "extend" }>;
export type MemoryMessage = Extract<FromThread, { rheo: "memory" }>;

/** Numbers that each message of a thread carries. */
const FROM_THREAD: Readonly<Record<FromThread["rheo"], readonly string[]>> = {
  extend: ["slice", "index", "ms"],
  hungry: ["session"],
  memory: ["threadId", "heapUsed", "heapLimit", "external"],
};

/** Whether it is one of ours: handlers may post messages of their own, of any shape. */
export const isFromThread = (message: unknown): message is FromThread => {
  if (typeof message !== "object" || message === null) return false;
  const kind: unknown = Reflect.get(message, "rheo");
  if (typeof kind !== "string" || !Object.hasOwn(FROM_THREAD, kind)) return false;
  return FROM_THREAD[kind as FromThread["rheo"]].every((name) => isCount(Reflect.get(message, name))); // one of its names
};

const isCount = (value: unknown): boolean => typeof value === "number" && value >= 0 && Number.isFinite(value);

/** The same for what comes to a thread, where a handler may find the channel. */
export const isToThread = (message: unknown): message is ToThread => {
  if (typeof message !== "object" || message === null) return false;
  const [kind, slice] = [Reflect.get(message, "kind"), Reflect.get(message, "slice")] as const;
  if (kind === "slice") return isCount(Reflect.get(message, "session")) && isSlice(slice);
  const indexes: unknown = Reflect.get(message, "indexes");
  const hasTexts = ["name", "message"].every((name) => typeof Reflect.get(message, name) === "string");
  return kind === "abort" && isCount(slice) && Array.isArray(indexes) && indexes.every(isCount) && hasTexts;
};

const isSlice = (slice: unknown): boolean =>
  typeof slice === "object" &&
  slice !== null &&
  isCount(Reflect.get(slice, "id")) &&
  Reflect.get(slice, "memory") instanceof SharedArrayBuffer &&
  Array.isArray(Reflect.get(slice, "runs")) &&
  Array.isArray(Reflect.get(Object(Reflect.get(slice, "columns")), "payloads"));

// The gate of a session

const CLOSED = -1;

/**
 * Where main side and thread agree whether a session goes on: a slice that was announced is waited for. It lies in the memory of the
 * first slice.
 */
export class SessionGate {
  readonly #ints: Int32Array;

  constructor({ buffer }: SliceMemory) {
    this.#ints = new Int32Array(buffer, 0, HEADER_INTS);
  }

  /** For the main side: the first slice is announced. */
  open(): void {
    Atomics.store(this.#ints, GATE_ANNOUNCED, 1);
  }

  /** The thread that has begun the session; 0 before. */
  get threadId(): number {
    return Atomics.load(this.#ints, GATE_THREAD);
  }

  set threadId(threadId: number) {
    Atomics.store(this.#ints, GATE_THREAD, threadId);
  }

  /** For the main side, when `known` slices were announced so far: one more. False when the thread has closed. */
  announce(known: number): boolean {
    return Atomics.compareExchange(this.#ints, GATE_ANNOUNCED, known, known + 1) === known;
  }

  /** For the thread, when it has `known` slices and nothing to do. False when another was announced. */
  close(known: number): boolean {
    return Atomics.compareExchange(this.#ints, GATE_ANNOUNCED, known, CLOSED) === known;
  }
}

// Offsets, in 32-bit integers

const INT_BYTES = 4;
const TEXT_USED = 0;
const PEAK = 1;
const TOOK_US = 2;
const GATE_THREAD = 3;
const GATE_ANNOUNCED = 4;
const HEADER_INTS = 8;
const STATE = 0;
const OUTCOME = 1;
/** Delays reach a year in ms, so they take two integers; −1 in the first says that there is none. */
const DELAY_HIGH = 2;
const DELAY_LOW = 3;
const TEXT_AT = 4;
const REASON_BYTES = 5;
const STACK_BYTES = 6;
/** 1 once the thread has aborted the signal: so it is not blocked. */
const ABORTED = 7;
/** Of a slice that is timed, in microseconds: from the arrival of the slice to the start of the handler, and from there to its end. */
const WAITED_US = 8;
const HANDLED_US = 9;
const RECORD_INTS = 10;
/** As large as a place. */
const MAX_INT = 2 ** 31 - 1;
const DELAY_UNIT = 2 ** 30;

/** Reasons and stacks of one slice. Each delivery may count on its share of it. */
const TEXT_BYTES = 1_048_576;
const INTS = HEADER_INTS + MAX_SLICE * RECORD_INTS;

const KINDS = ["ack", "retry", "reject", "release"] as const;

const encoder = new TextEncoder();

export class SliceMemory {
  readonly buffer: SharedArrayBuffer;
  readonly #ints: Int32Array;
  readonly #text: Uint8Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(INTS * INT_BYTES + TEXT_BYTES)) {
    this.buffer = buffer;
    this.#ints = new Int32Array(buffer, 0, INTS);
    this.#text = new Uint8Array(buffer, INTS * INT_BYTES);
  }

  /** Makes it ready for a slice of `count`. */
  reset(count: number): void {
    this.#ints.fill(0, 0, HEADER_INTS + count * RECORD_INTS);
  }

  /** For how long the slice kept its thread from the next one, in microseconds; written before its last delivery is finished. */
  get tookUs(): number {
    return Atomics.load(this.#ints, TOOK_US);
  }

  set tookUs(tookUs: number) {
    Atomics.store(this.#ints, TOOK_US, tookUs);
  }

  /** The most handlers that waited for a promise at once. */
  get peak(): number {
    return Atomics.load(this.#ints, PEAK);
  }

  set peak(peak: number) {
    Atomics.store(this.#ints, PEAK, peak);
  }

  stateAt(index: number): number {
    return Atomics.load(this.#ints, at(index) + STATE);
  }

  /** For the thread: false when the main side has taken it back. */
  begin(index: number): boolean {
    return Atomics.compareExchange(this.#ints, at(index) + STATE, QUEUED, RUNNING) === QUEUED;
  }

  /** For the main side: false when the thread has begun it. */
  cancel(index: number): boolean {
    return Atomics.compareExchange(this.#ints, at(index) + STATE, QUEUED, CANCELLED) === QUEUED;
  }

  /** For the thread: its signal has been aborted. */
  abort(index: number): void {
    Atomics.store(this.#ints, at(index) + ABORTED, 1);
  }

  wasAborted(index: number): boolean {
    return Atomics.load(this.#ints, at(index) + ABORTED) === 1;
  }

  /** For the thread, in ms. */
  waited(index: number, ms: number): void {
    this.#ints[at(index) + WAITED_US] = microseconds(ms);
  }

  handled(index: number, ms: number): void {
    this.#ints[at(index) + HANDLED_US] = microseconds(ms);
  }

  waitedMsAt(index: number): number {
    return (this.#ints[at(index) + WAITED_US] ?? 0) / 1_000;
  }

  handledMsAt(index: number): number {
    return (this.#ints[at(index) + HANDLED_US] ?? 0) / 1_000;
  }

  /** For the thread. `left`: deliveries that may still need room for their text. */
  finish(index: number, outcome: Outcome, left: number): void {
    if (outcome.kind !== "ack") this.#write(at(index), outcome, left);
    Atomics.store(this.#ints, at(index) + STATE, FINISHED);
  }

  #write(place: number, outcome: Outcome, left: number): void {
    this.#ints[place + OUTCOME] = KINDS.indexOf(outcome.kind);
    if (outcome.kind !== "retry" && outcome.kind !== "reject") return;
    const delayMs = outcome.kind === "retry" ? outcome.delayMs : null;
    this.#ints[place + DELAY_HIGH] = delayMs === null ? -1 : Math.floor(delayMs / DELAY_UNIT);
    this.#ints[place + DELAY_LOW] = delayMs === null ? 0 : delayMs % DELAY_UNIT;
    const start = this.#ints[TEXT_USED] ?? 0;
    const share = Math.floor((TEXT_BYTES - start) / (left + 1));
    const reasonBytes = this.#put(start, outcome.reason, Math.min(share, LIMITS.reasonBytes));
    const stackBytes = this.#put(start + reasonBytes, outcome.stack ?? "", Math.min(share - reasonBytes, LIMITS.stackBytes));
    this.#ints[place + TEXT_AT] = start;
    this.#ints[place + REASON_BYTES] = reasonBytes;
    this.#ints[place + STACK_BYTES] = stackBytes;
    this.#ints[TEXT_USED] = start + reasonBytes + stackBytes;
  }

  #put(start: number, text: string, maxBytes: number): number {
    return encoder.encodeInto(cleanText(text, maxBytes), this.#text.subarray(start, start + maxBytes)).written;
  }

  /** For the main side, of a finished delivery. */
  outcomeAt(index: number): Outcome {
    const place = at(index);
    const kind = KINDS[this.#ints[place + OUTCOME] ?? 0] ?? "ack";
    if (kind === "ack" || kind === "release") return { kind };
    const start = this.#ints[place + TEXT_AT] ?? 0;
    const reasonBytes = this.#ints[place + REASON_BYTES] ?? 0;
    const stackBytes = this.#ints[place + STACK_BYTES] ?? 0;
    const reason = this.#read(start, reasonBytes) || "failed, with a reason too long to keep";
    const stack = stackBytes === 0 ? null : this.#read(start + reasonBytes, stackBytes);
    if (kind === "reject") return { kind, reason, stack };
    const high = this.#ints[place + DELAY_HIGH] ?? -1;
    return { kind, reason, stack, delayMs: high < 0 ? null : high * DELAY_UNIT + (this.#ints[place + DELAY_LOW] ?? 0) };
  }

  #read(start: number, bytes: number): string {
    return Buffer.from(this.#text.subarray(start, start + bytes)).toString("utf8"); // a copy: text decoders refuse shared memory
  }
}

/** What lasts longer than it can say, half an hour, is said to have lasted so long. */
const microseconds = (ms: number): number => Math.min(MAX_INT, Math.round(ms * 1_000));

const at = (index: number): number => HEADER_INTS + index * RECORD_INTS;
