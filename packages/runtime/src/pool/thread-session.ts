/**
 * The work of a thread for one group. A number of lanes take deliveries one after another, from the oldest slice that has any left:
 * without a pause while handlers return at once, and beside each other while they wait for promises. It ends when nothing is left
 * and the main side has announced nothing more.
 */
import type { Clock, Event, Outcome } from "@rheo/core";
import { type Decode, decoderOf, isThenable, undecodable } from "@rheo/core/internal";
import { BatchOfDeliveries, type ContextOwner, DeliveryContext } from "../context.ts";
import { type Deferred, deferred } from "../deferred.ts";
import type { LoadedHandler } from "../load-handler.ts";
import { asPrefix, readBatchOutcomes, readOutcome, thrownOutcome } from "../read-outcome.ts";
import type { AbortMessage, FromThread, SessionGate, SessionTask, SliceContent } from "./protocol.ts";
import { type Next, ThreadSlice } from "./thread-slice.ts";

/** What a session is given by the thread it runs in. */
export interface SessionHost {
  readonly handler: LoadedHandler;
  /** What its `setup` returned here. */
  readonly value: unknown;
  readonly clock: Clock;
  /** To the main side. */
  tell(message: FromThread): void;
}

export class ThreadSession {
  readonly id: number;
  readonly #task: SessionTask;
  readonly #gate: SessionGate;
  readonly #host: SessionHost;
  readonly #decode: Decode;
  readonly #owner: ContextOwner;
  /** Resolves with what went wrong here, and not in a handler; null if nothing did. */
  readonly #closed: Deferred<unknown> = deferred<unknown>();
  /** Those of which anything is left to begin, oldest first. */
  readonly #queue: ThreadSlice[] = [];
  readonly #slices = new Map<number, ThreadSlice>();
  /** Slices that arrived. */
  #known = 0;
  /** Calls left to begin. */
  #left = 0;
  #lanes = 0;
  #isHungry = false;
  #lastEndMs = 0;

  constructor(task: SessionTask, gate: SessionGate, host: SessionHost) {
    this.id = task.id;
    this.#task = task;
    this.#gate = gate;
    this.#host = host;
    this.#decode = decoderOf(host.handler.stream ?? task.stream);
    this.#owner = {
      stream: task.stream,
      group: task.group,
      value: host.value,
      logger: console,
      timeoutMs: task.timeoutMs,
      now: () => host.clock.now(),
      extend: (context, ms) => this.#extend(context, ms),
    };
  }

  async run(): Promise<void> {
    this.#lastEndMs = this.#host.clock.monotonic();
    this.add(this.#task.first);
    const fault = await this.#closed.promise;
    if (fault !== null) throw fault;
  }

  add(content: SliceContent): void {
    if (this.#lanes === 0) this.#lastEndMs = this.#host.clock.monotonic(); // it was idle until now
    const slice = new ThreadSlice(content, this.#host.clock, (ended) => this.#ended(ended));
    this.#known += 1;
    this.#left += slice.left;
    this.#isHungry = false;
    this.#slices.set(slice.id, slice);
    this.#queue.push(slice);
    this.#work();
  }

  abort(message: AbortMessage): void {
    this.#slices.get(message.slice)?.abort(message);
  }

  /** Starts as many lanes as there is work for. */
  #work(): void {
    while (this.#lanes < this.#task.limit) {
      const lane = this.#lane();
      if (lane === null) break;
      this.#lanes += 1;
      lane.then(
        () => {
          this.#lanes -= 1;
          this.#closeIfDone();
        },
        (cause: unknown) => this.#closed.resolve(cause ?? new Error("A lane failed.")),
      );
    }
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#lanes === 0 && this.#queue.length === 0 && this.#gate.close(this.#known)) this.#closed.resolve(null);
  }

  /** Null when all that was left has been done meanwhile; else a promise for the rest, as soon as a handler does not return at once. */
  #lane(): Promise<void> | null {
    for (;;) {
      const slice = this.#nextSlice(this.#lanes > 0);
      if (slice === null) return null;
      const pending = slice.isBatched ? this.#startBatch(slice) : this.#start(slice);
      if (pending !== null) return this.#laneAfter(pending);
    }
  }

  async #laneAfter(first: Promise<void>): Promise<void> {
    await first;
    for (;;) {
      const slice = this.#nextSlice(this.#lanes > 1);
      if (slice === null) return;
      const pending = slice.isBatched ? this.#startBatch(slice) : this.#start(slice);
      if (pending !== null) await pending;
    }
  }

  /**
   * The oldest slice with anything left, of which one delivery (or the whole batch) is about to be begun. When there is none, and
   * others still run, the main side is told; without others the end of the session will tell.
   */
  #nextSlice(othersRun: boolean): ThreadSlice | null {
    const slice = this.#queue[0];
    if (slice === undefined) {
      if (othersRun) this.#tellHungry();
      return null;
    }
    this.#left -= 1;
    if (slice.left === 1) this.#queue.shift();
    if (this.#left <= slice.hungryAt) this.#tellHungry();
    return slice;
  }

  #tellHungry(): void {
    if (this.#isHungry) return;
    this.#isHungry = true;
    this.#host.tell({ rheo: "hungry", session: this.id });
  }

  /** The time since the slice before it ended: what a slice costs while others run beside it. */
  #ended(slice: ThreadSlice): number {
    this.#slices.delete(slice.id);
    const nowMs = this.#host.clock.monotonic();
    const tookUs = Math.min(MAX_INT, Math.round((nowMs - this.#lastEndMs) * 1_000));
    this.#lastEndMs = nowMs;
    return tookUs;
  }

  // Single deliveries

  #start(slice: ThreadSlice): Promise<void> | null {
    const next = slice.begin();
    if (next === null) return null;
    const { index } = next;
    let event: Event;
    try {
      event = this.#decode(next.record);
    } catch (cause) {
      return finish(slice, index, undecodable(cause));
    }
    const context = this.#contextOf(next);
    slice.contexts.set(index, context);
    try {
      const result = this.#host.handler.run(event, context);
      if (isThenable(result)) return this.#await(slice, index, result);
      return finish(slice, index, readOutcome(result));
    } catch (cause) {
      return finish(slice, index, thrownOutcome(cause));
    }
  }

  async #await(slice: ThreadSlice, index: number, result: PromiseLike<unknown>): Promise<void> {
    slice.memory.peak = Math.max(slice.memory.peak, this.#lanes, 1);
    let outcome: Outcome;
    try {
      outcome = readOutcome(await result);
    } catch (cause) {
      outcome = thrownOutcome(cause);
    }
    finish(slice, index, outcome);
  }

  #contextOf({ record, grant }: Next): DeliveryContext {
    return new DeliveryContext(this.#owner, grant.attempt, grant.token, grant.partition, record.sequence);
  }

  // Batches

  async #startBatch(slice: ThreadSlice): Promise<void> {
    const events: Event[] = [];
    const indexes: number[] = [];
    const contexts: DeliveryContext[] = [];
    for (const next of slice.beginBatch(this.#task.isRun)) {
      try {
        events.push(this.#decode(next.record));
      } catch (cause) {
        finish(slice, next.index, undecodable(cause));
        continue;
      }
      const context = this.#contextOf(next);
      indexes.push(next.index);
      contexts.push(context);
      slice.contexts.set(next.index, context);
    }
    if (indexes.length === 0) return;
    const answered = await this.#callBatch(slice, events, contexts);
    const outcomes = this.#task.isRun ? asPrefix(answered) : answered;
    for (const [at, index] of indexes.entries()) finish(slice, index, outcomes[at] ?? ACK);
  }

  async #callBatch(
    slice: ThreadSlice,
    events: readonly Event[],
    contexts: readonly DeliveryContext[],
  ): Promise<readonly Outcome[]> {
    const batch = new BatchOfDeliveries(this.#owner, contexts);
    slice.running.add(batch);
    slice.memory.peak = Math.max(slice.memory.peak, this.#lanes, 1);
    try {
      return readBatchOutcomes(await this.#host.handler.run(events, batch), events.length);
    } catch (cause) {
      return new Array<Outcome>(events.length).fill(thrownOutcome(cause));
    } finally {
      slice.running.delete(batch);
    }
  }

  #extend(context: DeliveryContext, ms: number): void {
    for (const slice of this.#slices.values()) {
      for (const [index, known] of slice.contexts) {
        if (known === context) this.#host.tell({ rheo: "extend", slice: slice.id, index, ms });
      }
    }
  }
}

const ACK: Outcome = { kind: "ack" };
/** As large as a place in shared memory. */
const MAX_INT = 2 ** 31 - 1;

const finish = (slice: ThreadSlice, index: number, outcome: Outcome): null => {
  slice.finish(index, outcome);
  return null;
};
