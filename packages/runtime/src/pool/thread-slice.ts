import { parentPort } from "node:worker_threads";
import type { Event, EventRecord, Outcome } from "@rheo/core";
import { systemClock, toEvent } from "@rheo/core/internal";
import { BatchOfDeliveries, type ContextOwner, DeliveryContext } from "../context.ts";
import type { LoadedHandler } from "../load-handler.ts";
import { isThenable, readBatchOutcomes, readOutcome, thrownOutcome, undecodableOutcome } from "../read-outcome.ts";
import type { ControlMessage, ExtendMessage, SliceMemory, SliceTask } from "./protocol.ts";

/** One slice, in the thread that runs it. */
export class ThreadSlice {
  readonly id: number;
  readonly #task: SliceTask;
  readonly #memory: SliceMemory;
  readonly #handler: LoadedHandler;
  readonly #owner: ContextOwner;
  readonly #contexts = new Map<number, DeliveryContext>();
  readonly #count: number;
  /** The run of the delivery that is next, and how many of that run came before it. */
  #run = 0;
  #inRun = 0;
  #next = 0;
  #finished = 0;
  #active = 0;
  #batch: BatchOfDeliveries | null = null;

  constructor(task: SliceTask, memory: SliceMemory, handler: LoadedHandler, value: unknown) {
    this.id = task.id;
    this.#task = task;
    this.#memory = memory;
    this.#handler = handler;
    this.#count = task.columns.ids.length;
    this.#owner = {
      value,
      logger: console,
      timeoutMs: task.timeoutMs,
      now: () => systemClock.now(),
      extend: (context, ms) => this.#extend(context, ms),
    };
  }

  async run(): Promise<void> {
    if (this.#task.isBatch) return await this.#runBatch();
    const lanes: Promise<void>[] = [];
    while (lanes.length < this.#task.limit && this.#next < this.#count) {
      const lane = this.#lane();
      if (lane !== null) lanes.push(lane);
    }
    await Promise.all(lanes);
  }

  abort({ indexes, name, message }: ControlMessage): void {
    for (const index of indexes) {
      this.#memory.abort(index);
      this.#contexts.get(index)?.abort(new DOMException(message, name));
    }
    this.#batch?.update();
  }

  /** Handlers one after another, without a pause while they return at once; a promise for the rest as soon as one does not. */
  #lane(): Promise<void> | null {
    while (this.#next < this.#count) {
      const pending = this.#start();
      if (pending !== null) return this.#laneAfter(pending);
    }
    return null;
  }

  async #laneAfter(first: Promise<void>): Promise<void> {
    await first;
    while (this.#next < this.#count) {
      const pending = this.#start();
      if (pending !== null) await pending;
    }
  }

  #start(): Promise<void> | null {
    const index = this.#next;
    const record = this.#record(index);
    const grant = this.#advance();
    if (!this.#memory.begin(index)) return null;
    let event: Event;
    try {
      event = toEvent(this.#task.stream, record);
    } catch (cause) {
      return this.#finish(index, undecodableOutcome(cause));
    }
    const context = new DeliveryContext(this.#owner, grant.attempt, grant.token, grant.partition, record.sequence);
    this.#contexts.set(index, context);
    try {
      const result = this.#handler.run(event, context);
      if (isThenable(result)) return this.#await(index, result);
      return this.#finish(index, readOutcome(result));
    } catch (cause) {
      return this.#finish(index, thrownOutcome(cause));
    }
  }

  async #await(index: number, result: PromiseLike<unknown>): Promise<void> {
    this.#active += 1;
    if (this.#active > this.#memory.peak) this.#memory.peak = this.#active;
    let outcome: Outcome;
    try {
      outcome = readOutcome(await result);
    } catch (cause) {
      outcome = thrownOutcome(cause);
    }
    this.#active -= 1;
    this.#finish(index, outcome);
  }

  #finish(index: number, outcome: Outcome): null {
    this.#finished += 1;
    this.#contexts.delete(index);
    this.#memory.finish(index, outcome, this.#count - this.#finished);
    return null;
  }

  async #runBatch(): Promise<void> {
    const events: Event[] = [];
    const indexes: number[] = [];
    for (let index = 0; index < this.#count; index++) {
      const record = this.#record(index);
      const grant = this.#advance();
      if (!this.#memory.begin(index)) continue;
      try {
        events.push(toEvent(this.#task.stream, record));
      } catch (cause) {
        this.#finish(index, undecodableOutcome(cause));
        continue;
      }
      indexes.push(index);
      this.#contexts.set(index, new DeliveryContext(this.#owner, grant.attempt, grant.token, grant.partition, record.sequence));
    }
    if (indexes.length === 0) return;
    const outcomes = await this.#callBatch(events);
    for (const [at, index] of indexes.entries()) this.#finish(index, outcomes[at] ?? { kind: "ack" });
  }

  async #callBatch(events: readonly Event[]): Promise<readonly Outcome[]> {
    this.#batch = new BatchOfDeliveries(this.#owner, [...this.#contexts.values()]);
    try {
      return readBatchOutcomes(await this.#handler.run(events, this.#batch), events.length);
    } catch (cause) {
      return new Array<Outcome>(events.length).fill(thrownOutcome(cause));
    }
  }

  #advance(): SliceTask["runs"][number] {
    const grant = this.#task.runs[this.#run];
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
    const { ids, sequences, timestampsMs, types, keys, metadata, payloads } = this.#task.columns;
    return {
      id: ids[index] ?? "",
      partition: this.#task.runs[this.#run]?.partition ?? 0,
      sequence: sequences[index] ?? 0,
      timestampMs: timestampsMs[index] ?? 0,
      type: types[index] ?? null,
      key: keys[index] ?? null,
      metadata: metadata[index] ?? "",
      payload: payloads[index] ?? "",
    };
  }

  #extend(context: DeliveryContext, ms: number): void {
    for (const [index, known] of this.#contexts) {
      if (known === context) parentPort?.postMessage({ rheo: "extend", slice: this.id, index, ms } satisfies ExtendMessage);
    }
  }
}
