import type { Batch, Place } from "../group/ledger.ts";
import type { AbortCause } from "../group/runner.ts";
import { FINISHED, RUNNING, type SliceColumns, type SliceMemory, type SliceRun } from "./protocol.ts";

/** Why a delivery was told to end, and when its thread is ended if it does not. */
export interface Abort {
  readonly cause: AbortCause;
  readonly untilMs: number;
}

/** The main side of a slice that is out: which delivery is where in it, and what has been heard of it. */
export class Slice {
  readonly id: number;
  readonly places: readonly Place[];
  readonly memory: SliceMemory;
  /** The sizes of the batches it is made of; null: single deliveries. */
  readonly batches: readonly number[] | null;
  readonly sentAtMs: number;
  readonly isTimed: boolean;
  readonly aborts: Map<number, Abort> = new Map();
  /** Per delivery: collected, or given back. */
  readonly #heard: Uint8Array;
  /** When each must be over; 0 before it was seen running. */
  readonly #deadlines: Float64Array;
  #cancelled = 0;
  #heardCount = 0;
  /** All before it were heard of. */
  #low = 0;

  constructor(
    sent: { readonly id: number; readonly memory: SliceMemory },
    places: readonly Place[],
    batches: readonly number[] | null,
    sentAtMs: number,
    isTimed: boolean,
  ) {
    this.id = sent.id;
    this.memory = sent.memory;
    this.places = places;
    this.batches = batches;
    this.sentAtMs = sentAtMs;
    this.isTimed = isTimed;
    this.#heard = new Uint8Array(places.length);
    this.#deadlines = new Float64Array(places.length);
  }

  /** Deliveries not taken back, at least 1. */
  get executed(): number {
    return Math.max(1, this.places.length - this.#cancelled);
  }

  /** Whether any was taken back: then the thread may still look into its memory. */
  get wasCut(): boolean {
    return this.#cancelled > 0;
  }

  /** Calls of the handler of which nothing final has been heard. */
  get out(): number {
    if (this.batches === null) return this.places.length - this.#heardCount;
    let out = 0;
    let from = 0;
    for (const size of this.batches) {
      if (this.#heard.subarray(from, from + size).includes(0)) out += 1;
      from += size;
    }
    return out;
  }

  #callOf(index: number): number {
    if (this.batches === null) return index;
    let end = 0;
    return this.batches.findIndex((size) => {
      end += size;
      return index < end;
    });
  }

  /** A name for the call that a delivery was part of. */
  callAt(index: number): string {
    return `${this.id}/${this.#callOf(index)}`;
  }

  /** Whether everything has been heard of all deliveries. */
  get isDone(): boolean {
    return this.#low === this.places.length;
  }

  /** Whether any handler was called: before that its module may still be loading. */
  get hasBegun(): boolean {
    return this.places.some((_, index) => this.memory.stateAt(index) === RUNNING || this.memory.stateAt(index) === FINISHED);
  }

  placeAt(index: number): Place {
    const place = this.places[index];
    if (place === undefined) throw new RangeError(`Slice ${this.id} has no delivery ${index}.`);
    return place;
  }

  /** Of a delivery that has begun, in a slice that is timed: when, and for how long it ran, or has run. */
  timeAt(index: number, nowMs: number): { readonly beganAtMs: number; readonly tookMs: number } {
    const beganAtMs = this.sentAtMs + this.memory.waitedMsAt(index);
    const hasFinished = this.memory.stateAt(index) === FINISHED;
    return { beganAtMs, tookMs: hasFinished ? this.memory.handledMsAt(index) : Math.max(0, nowMs - beganAtMs) };
  }

  indexOf(batch: Batch, index: number): number {
    return this.places.findIndex((place) => place.batch === batch && place.index === index);
  }

  /** Calls back for each delivery that has finished since the last time. */
  collect(onFinished: (index: number) => void): void {
    for (let index = this.#low; index < this.places.length; index++) {
      if (this.#heard[index] === 1 || this.memory.stateAt(index) !== FINISHED) continue;
      this.#hear(index);
      onFinished(index);
    }
  }

  /** Takes back what has not begun. */
  cancelQueued(): number[] {
    const cancelled: number[] = [];
    for (let index = this.#low; index < this.places.length; index++) if (this.cancel(index)) cancelled.push(index);
    return cancelled;
  }

  /** Takes one back; false when it has begun. */
  cancel(index: number): boolean {
    if (this.#heard[index] === 1 || !this.memory.cancel(index)) return false;
    this.#cancelled += 1;
    this.#hear(index);
    return true;
  }

  /** What nothing final has been heard of: those that run, and those that never began. To be called when the thread is gone. */
  leftovers(): { readonly running: number[]; readonly queued: number[] } {
    const running: number[] = [];
    const queued: number[] = [];
    for (let index = this.#low; index < this.places.length; index++) {
      if (this.#heard[index] === 1) continue;
      (this.memory.stateAt(index) === RUNNING ? running : queued).push(index);
      this.#hear(index);
    }
    return { running, queued };
  }

  /** Deliveries that run at this moment. */
  runningNow(): number[] {
    const running: number[] = [];
    for (let index = this.#low; index < this.places.length; index++) {
      if (this.#heard[index] !== 1 && this.memory.stateAt(index) === RUNNING) running.push(index);
    }
    return running;
  }

  /** Whether the time allowed is over; it begins when the delivery is first seen running. */
  isOver(index: number, timeoutMs: number, nowMs: number): boolean {
    const deadlineMs = this.#deadlines[index] ?? 0;
    if (deadlineMs === 0) this.#deadlines[index] = nowMs + timeoutMs;
    return deadlineMs !== 0 && nowMs >= deadlineMs;
  }

  /** Whether it was told to end because its time was over. */
  isLate(index: number): boolean {
    return this.aborts.get(index)?.cause === "timed out";
  }

  extend(index: number, untilMs: number): void {
    if (index >= 0 && index < this.places.length) this.#deadlines[index] = untilMs;
  }

  #hear(index: number): void {
    this.#heard[index] = 1;
    this.#heardCount += 1;
    while (this.#heard[this.#low] === 1) this.#low += 1;
  }
}

/** The content of deliveries as the thread takes it, and the grants they come from. */
export const pack = (places: readonly Place[]): { readonly runs: SliceRun[]; readonly columns: SliceColumns } => {
  const runs: { partition: number; token: number; attempt: number; count: number }[] = [];
  const columns = {
    ids: [] as string[],
    sequences: [] as number[],
    timestampsMs: [] as number[],
    types: [] as (string | null)[],
    keys: [] as (string | null)[],
    metadata: [] as string[],
    payloads: [] as string[],
  };
  let last: Batch | null = null;
  for (const { batch, index } of places) {
    const record = batch.recordAt(index);
    const run = runs[runs.length - 1];
    if (batch === last && run !== undefined) run.count += 1;
    else runs.push({ partition: batch.partition, token: batch.token, attempt: batch.attempt, count: 1 });
    last = batch;
    columns.ids.push(record.id);
    columns.sequences.push(record.sequence);
    columns.timestampsMs.push(record.timestampMs);
    columns.types.push(record.type);
    columns.keys.push(record.key);
    columns.metadata.push(record.metadata);
    columns.payloads.push(record.payload);
  }
  return { runs, columns };
};
