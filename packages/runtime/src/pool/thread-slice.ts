import type { Clock, EventRecord, Outcome } from "@rheo/core";
import type { BatchOfDeliveries, DeliveryContext } from "../context.ts";
import { type AbortMessage, type SliceContent, SliceMemory, type SliceRun } from "./protocol.ts";

/** A delivery that is next, with the grant it came in. */
export interface Next {
  readonly index: number;
  readonly record: EventRecord;
  readonly grant: SliceRun;
}

/** A slice in its thread: what of it is left to begin, and what became of the rest. */
export class ThreadSlice {
  readonly id: number;
  readonly hungryAt: number;
  readonly memory: SliceMemory;
  readonly contexts: Map<number, DeliveryContext> = new Map();
  readonly count: number;
  /** The contexts of the calls of a batch handler that run. */
  readonly running: Set<BatchOfDeliveries> = new Set();
  readonly #content: SliceContent;
  readonly #clock: Clock;
  readonly #batches: number[] | null;
  readonly #arrivedAtMs: number;
  /** When each began, by index, in a slice that is timed. */
  readonly #beganAtMs: Float64Array | null;
  readonly #onEnd: (slice: ThreadSlice) => number;
  /** The run of the delivery that is next, and how many of that run came before it. */
  #run = 0;
  #inRun = 0;
  #next = 0;
  #ended = 0;

  /** @param onEnd - called before the last delivery is finished; the time that the slice took, in microseconds */
  constructor(content: SliceContent, clock: Clock, onEnd: (slice: ThreadSlice) => number) {
    this.id = content.id;
    this.hungryAt = content.hungryAt;
    this.memory = new SliceMemory(content.memory);
    this.count = content.columns.ids.length;
    this.#content = content;
    this.#clock = clock;
    this.#batches = content.batches === null ? null : [...content.batches];
    this.#arrivedAtMs = this.#clock.monotonic();
    this.#beganAtMs = content.isTimed ? new Float64Array(this.count) : null;
    this.#onEnd = onEnd;
  }

  get isBatched(): boolean {
    return this.#batches !== null;
  }

  /** Calls left to begin. */
  get left(): number {
    return this.#batches?.length ?? this.count - this.#next;
  }

  /** The next batch, begun, in so far as it was not taken back. In a run, what follows one that was is not begun either. */
  beginBatch(isRun: boolean): readonly Next[] {
    const begun: Next[] = [];
    let isCut = false;
    for (let left = this.#batches?.shift() ?? 0; left > 0; left--) {
      const next = isCut ? this.#skip() : this.begin();
      if (next !== null) begun.push(next);
      else isCut = isRun;
    }
    return begun;
  }

  /** The next delivery, begun; null when it was taken back, or when there is none left. */
  begin(): Next | null {
    const index = this.#next;
    if (index >= this.count) return null;
    const record = this.#record(index);
    const grant = this.#advance();
    if (this.memory.begin(index)) {
      this.#timeStart(index);
      return { index, record, grant };
    }
    this.#end();
    return null;
  }

  #timeStart(index: number): void {
    if (this.#beganAtMs === null) return;
    const nowMs = this.#clock.monotonic();
    this.#beganAtMs[index] = nowMs;
    this.memory.waited(index, nowMs - this.#arrivedAtMs);
  }

  finish(index: number, outcome: Outcome): void {
    this.contexts.delete(index);
    if (this.#beganAtMs !== null) this.memory.handled(index, this.#clock.monotonic() - (this.#beganAtMs[index] ?? 0));
    this.#end();
    this.memory.finish(index, outcome, this.count - this.#ended);
  }

  abort({ indexes, name, message }: AbortMessage): void {
    for (const index of indexes) {
      this.memory.abort(index);
      this.contexts.get(index)?.abort(new DOMException(message, name));
    }
    for (const batch of this.running) batch.update();
  }

  /** Left as it is: the main side takes it back. */
  #skip(): null {
    this.#advance();
    this.#end();
    return null;
  }

  #end(): void {
    this.#ended += 1;
    if (this.#ended === this.count) this.memory.tookUs = this.#onEnd(this);
  }

  #advance(): SliceRun {
    const grant = this.#content.runs[this.#run];
    if (grant === undefined) throw new RangeError(`Slice ${this.id} has fewer grants than deliveries.`);
    this.#next += 1;
    this.#inRun += 1;
    if (this.#inRun === grant.count) {
      this.#run += 1;
      this.#inRun = 0;
    }
    return grant;
  }

  #record(index: number): EventRecord {
    const { ids, sequences, timestampsMs, types, keys, metadata, payloads } = this.#content.columns;
    return {
      id: ids[index] ?? "",
      partition: this.#content.runs[this.#run]?.partition ?? 0,
      sequence: sequences[index] ?? 0,
      timestampMs: timestampsMs[index] ?? 0,
      type: types[index] ?? null,
      key: keys[index] ?? null,
      metadata: metadata[index] ?? "",
      payload: payloads[index] ?? "",
    };
  }
}
