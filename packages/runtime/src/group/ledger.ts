/**
 * What a group holds: each delivery with its place in the way from grant to settlement. The decisions are in `transition.ts`; the
 * talk with the store is in `settler.ts` and `renewer.ts`. Built for speed: a byte per delivery, and an object per grant.
 */
import type { EventRecord, Grant, Settlement, SettleOutcome } from "@rheo/core";

/** Where a delivery stands. */
export const HELD = 0;
export const RUNNING = 1;
/** Runs, but its lease is lost: whatever comes of it is dropped. */
export const LOST = 2;
/** Runs, but we told it to end: an ack still counts, anything else goes back uncharged. */
const INTERRUPTED = 3;
const ACKED = 4;
/** Has another outcome than ack. */
const ENDED = 5;
/** Sent to the store, not confirmed. */
const SETTLING = 6;
/** The same, and a renewal has come by since: the answer takes its time, so the lease must be kept. */
const SETTLING_LONG = 8;
/** No longer ours to care for. */
const DONE = 7;

const RELEASE: SettleOutcome = Object.freeze({ kind: "release" });
const ACK: SettleOutcome = Object.freeze({ kind: "ack" });

/** One grant. */
export class Batch {
  readonly partition: number;
  readonly token: number;
  readonly attempt: number;
  /** Null once {@link release}d. */
  readonly #records: (EventRecord | null)[];
  readonly #sequences: readonly number[];
  readonly fetchedAtMs: number;
  /** When the lease has surely run out, by the monotonic clock. Only moves forward. */
  deadlineMs: number;
  readonly states: Uint8Array;
  /** Outcomes other than ack, by index. */
  readonly outcomes: Map<number, SettleOutcome> = new Map();
  /** Deliveries not done. */
  open: number;
  /** No delivery before this index is held. */
  next = 0;
  /** All deliveries before this index are done. */
  low = 0;

  constructor(grant: Grant, fetchedAtMs: number, deadlineMs: number) {
    this.partition = grant.partition;
    this.token = grant.token;
    this.attempt = grant.attempt;
    this.#records = [...grant.events];
    this.#sequences = grant.events.map(({ sequence }) => sequence);
    this.fetchedAtMs = fetchedAtMs;
    this.deadlineMs = deadlineMs;
    this.states = new Uint8Array(grant.events.length);
    this.open = grant.events.length;
  }

  sequenceAt(index: number): number {
    const sequence = this.#sequences[index];
    if (sequence === undefined) throw new RangeError(`A grant of ${this.#sequences.length} events has no index ${index}.`);
    return sequence;
  }

  recordAt(index: number): EventRecord {
    const record = this.#records[index];
    if (record == null) throw new RangeError(`A grant of ${this.#records.length} events has no content at index ${index}.`);
    return record;
  }

  /** Hands over the content of a delivery that will not be given back, so that it need not outlive its handler. */
  release(index: number): EventRecord {
    const record = this.recordAt(index);
    this.#records[index] = null;
    return record;
  }
}

/** A settlement with the deliveries that it is for. */
export interface Settling {
  readonly batch: Batch;
  readonly indexes: readonly number[];
  readonly settlement: Settlement;
}

/** What the deliveries of a run share. */
export type RunOf = "key" | "partition";

/** Held deliveries of a partition looked at for one run: bounds its cost where there are many keys. */
const LOOK_AHEAD = 1_000;

/** One delivery. */
export interface Place {
  readonly batch: Batch;
  readonly index: number;
}

export class Ledger {
  readonly #batches = new Set<Batch>();
  /** Batches that may have held deliveries, oldest first. */
  #queue: Batch[] = [];
  #unstarted = 0;

  get unstarted(): number {
    return this.#unstarted;
  }

  get isEmpty(): boolean {
    return this.#batches.size === 0;
  }

  get batches(): ReadonlySet<Batch> {
    return this.#batches;
  }

  add(grant: Grant, fetchedAtMs: number, deadlineMs: number): void {
    if (grant.events.length === 0) return;
    const batch = new Batch(grant, fetchedAtMs, deadlineMs);
    this.#batches.add(batch);
    this.#queue.push(batch);
    this.#unstarted += batch.open;
  }

  /** The oldest batch with a held delivery; `next` points at it. */
  front(): Batch | null {
    for (let batch = this.#queue[0]; batch !== undefined; batch = this.#queue[0]) {
      const { states } = batch;
      while (batch.next < states.length && states[batch.next] !== HELD) batch.next += 1;
      if (batch.next < states.length) return batch;
      this.#queue.shift();
    }
    return null;
  }

  /** Starts the delivery that `front` pointed at. */
  take(batch: Batch): number {
    const index = batch.next;
    batch.states[index] = RUNNING;
    batch.next = index + 1;
    this.#unstarted -= 1;
    return index;
  }

  /** Starts up to `limit` deliveries. */
  takeMany(limit: number): Place[] {
    const places: Place[] = [];
    while (places.length < limit) {
      const batch = this.front();
      if (batch === null) break;
      places.push({ batch, index: this.take(batch) });
    }
    return places;
  }

  /** How many deliveries a run that begins with the oldest would have, at most `limit`. */
  runLength(limit: number, by: RunOf): number {
    const front = this.front();
    return front === null ? 0 : this.#run(front, by, limit).length;
  }

  /** Starts a run: up to `limit` held deliveries of the key, or the partition, of the oldest one, by sequence. */
  takeRun(limit: number, by: RunOf): Place[] {
    const front = this.front();
    if (front === null) return [];
    const places = this.#run(front, by, Number.POSITIVE_INFINITY).sort(bySequence).slice(0, limit);
    this.#start(places);
    return places;
  }

  /** The same of all that is held of that key or partition; what is beyond `limit` is released, so that nothing overtakes the run. */
  takeWholeRun(limit: number, by: RunOf): { readonly places: Place[]; readonly released: number } {
    const front = this.front();
    if (front === null) return { places: [], released: 0 };
    const all = this.#run(front, by, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY).sort(bySequence);
    this.#start(all);
    const places = all.slice(0, limit);
    for (const { batch, index } of all.slice(limit)) this.#end(batch, index, RELEASE);
    return { places, released: all.length - places.length };
  }

  #start(places: readonly Place[]): void {
    for (const { batch, index } of places) batch.states[index] = RUNNING;
    this.#unstarted -= places.length;
  }

  /** Found in the order in which they were fetched, which is not always that of their sequences. */
  #run(front: Batch, by: RunOf, limit: number, lookAhead: number = LOOK_AHEAD): Place[] {
    const { key } = front.recordAt(front.next);
    if (by === "key" && key === null) return [{ batch: front, index: front.next }];
    const places: Place[] = [];
    let looked = 0;
    for (const batch of this.#queue) {
      if (batch.partition !== front.partition) continue;
      for (let index = batch.next; index < batch.states.length; index++) {
        if (batch.states[index] !== HELD) continue;
        if (looked++ === lookAhead || places.length >= limit) return places;
        if (by === "partition" || batch.recordAt(index).key === key) places.push({ batch, index });
      }
    }
    return places;
  }

  /** An outcome of a started delivery; null is ack. False when there is nothing to settle, since the lease was lost. */
  finish(batch: Batch, index: number, outcome: SettleOutcome | null): boolean {
    const state = batch.states[index];
    if (state === LOST) this.#done(batch, index);
    if (state !== RUNNING && state !== INTERRUPTED) return false;
    if (outcome === null) batch.states[index] = ACKED;
    else this.#end(batch, index, state === INTERRUPTED ? RELEASE : outcome);
    return true;
  }

  /** A started delivery that no handler has begun, after all. False when it is not held again: its lease was lost. */
  giveBack(batch: Batch, index: number): boolean {
    const state = batch.states[index];
    if (state === LOST) this.#done(batch, index);
    if (state !== RUNNING && state !== INTERRUPTED) return false;
    batch.states[index] = HELD;
    batch.next = Math.min(batch.next, index);
    this.#unstarted += 1;
    if (!this.#queue.includes(batch)) this.#queue.unshift(batch);
    return true;
  }

  /** Marks a running delivery as told to end. */
  interrupt(batch: Batch, index: number): void {
    if (batch.states[index] === RUNNING) batch.states[index] = INTERRUPTED;
  }

  /** Turns held deliveries of batches fetched before `beforeMs` into releases. How many. */
  releaseHeld(beforeMs: number): number {
    return this.releaseWhere((batch) => batch.fetchedAtMs < beforeMs);
  }

  /** Whether anything of a partition is left to do. */
  hasOf(partition: number): boolean {
    for (const batch of this.#batches) if (batch.partition === partition) return true;
    return false;
  }

  /** Whether any held delivery is meant. */
  holds(isMeant: (batch: Batch, index: number) => boolean): boolean {
    return this.#queue.some((batch) => batch.states.some((state, index) => state === HELD && isMeant(batch, index)));
  }

  /** Turns those held deliveries into releases that are meant. How many. */
  releaseWhere(isMeant: (batch: Batch, index: number) => boolean): number {
    let count = 0;
    for (const batch of this.#queue) {
      for (let index = batch.next; index < batch.states.length; index++) {
        if (batch.states[index] !== HELD || !isMeant(batch, index)) continue;
        this.#end(batch, index, RELEASE);
        count += 1;
      }
    }
    this.#unstarted -= count;
    return count;
  }

  /** Gives everything back that has no outcome, running or not: for a group that has failed. */
  releaseAll(): void {
    for (const batch of this.#batches) {
      batch.states.forEach((state, index) => {
        if (state === HELD || state === RUNNING || state === INTERRUPTED) this.#end(batch, index, RELEASE);
      });
    }
    this.#queue = [];
    this.#unstarted = 0;
  }

  /** The lease is no longer ours. Says where the delivery was. */
  lose(batch: Batch, index: number): "unstarted" | "running" | "unsettled" | "done" {
    switch (batch.states[index]) {
      case HELD:
        this.#unstarted -= 1;
        this.#done(batch, index);
        return "unstarted";
      case RUNNING:
      case INTERRUPTED:
        batch.states[index] = LOST;
        return "running";
      case ACKED:
      case ENDED:
      case SETTLING:
      case SETTLING_LONG:
        batch.outcomes.delete(index);
        this.#done(batch, index);
        return "unsettled";
      default:
        return "done";
    }
  }

  /** All outcomes that wait, as settlements: the acks of a grant together, then its releases, then each failure with its reason. */
  takeSettlements(): Settling[] {
    const taken: Settling[] = [];
    for (const batch of this.#batches) {
      const acked: number[] = [];
      const released: number[] = [];
      const { states } = batch;
      for (let index = batch.low; index < states.length; index++) {
        const state = states[index];
        if (state === ACKED) {
          acked.push(index);
          states[index] = SETTLING;
        } else if (state === ENDED) {
          states[index] = SETTLING;
          const outcome = batch.outcomes.get(index) ?? RELEASE;
          if (outcome.kind === "release") released.push(index);
          else taken.push(asSettling(batch, [index], outcome));
        }
      }
      if (acked.length > 0) taken.push(asSettling(batch, acked, ACK));
      if (released.length > 0) taken.push(asSettling(batch, released, RELEASE));
    }
    return taken;
  }

  /**
   * What a renewal has to cover: all that is still ours. A settlement that has just been sent is left out once, since it would
   * most likely be settled by the time the renewal arrives.
   */
  renewable(batch: Batch): number[] {
    const { states } = batch;
    const indexes: number[] = [];
    for (let index = batch.low; index < states.length; index++) {
      const state = states[index];
      if (state === SETTLING) states[index] = SETTLING_LONG;
      else if (state !== DONE && state !== LOST) indexes.push(index);
    }
    return indexes;
  }

  /** Whether it has been sent to the store, which has not answered. */
  isSettling(batch: Batch, index: number): boolean {
    return batch.states[index] === SETTLING || batch.states[index] === SETTLING_LONG;
  }

  /** The store has answered for a delivery, this way or that. False when it was done already. */
  settled(batch: Batch, index: number): boolean {
    if (batch.states[index] !== SETTLING && batch.states[index] !== SETTLING_LONG) return false;
    batch.outcomes.delete(index);
    this.#done(batch, index);
    return true;
  }

  #end(batch: Batch, index: number, outcome: SettleOutcome): void {
    batch.outcomes.set(index, outcome);
    batch.states[index] = ENDED;
  }

  #done(batch: Batch, index: number): void {
    batch.states[index] = DONE;
    batch.open -= 1;
    while (batch.low < batch.states.length && batch.states[batch.low] === DONE) batch.low += 1;
    if (batch.open === 0) this.#batches.delete(batch);
  }
}

const bySequence = (a: Place, b: Place): number => a.batch.sequenceAt(a.index) - b.batch.sequenceAt(b.index);

const asSettling = (batch: Batch, indexes: readonly number[], outcome: SettleOutcome): Settling => ({
  batch,
  indexes,
  settlement: {
    partition: batch.partition,
    token: batch.token,
    sequences: indexes.map((index) => batch.sequenceAt(index)),
    outcome,
  },
});
