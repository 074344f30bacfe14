/**
 * Runs handlers in worker threads. A slice goes to a free thread; what becomes of each delivery is read from the memory shared with
 * that thread, while the slice is out and when it is over. When a thread dies, what had finished is settled as it finished, what had
 * not begun goes out again at once and uncharged, and what ran is judged by `blame`.
 */
import type { Outcome } from "@rheo/core";
import type { TaskEnd } from "../pool/pool.ts";
import type { ExtendMessage } from "../pool/protocol.ts";
import { SliceSizer } from "../pool/sizer.ts";
import { pack, Slice } from "../pool/slice.ts";
import type { Feeder, Slots } from "../pool/slots.ts";
import { waitAtMost } from "../time-limit.ts";
import { BatchGate } from "./batch-gate.ts";
import { blame } from "./blame.ts";
import { type Batch, LOST, type Place, RUNNING } from "./ledger.ts";
import {
  type AbortCause,
  INTERRUPT_GRACE_MS,
  LOST_GRACE_MS,
  type Runner,
  type RunnerHost,
  SETUP_MS,
  settleOutcome,
  TIMEOUT_GRACE_MS,
  tellTimeout,
  timeoutOutcome,
} from "./runner.ts";

/** Threads that died in a row without having begun anything: then the group fails, and its supervisor backs off. */
const MAX_BARREN_DEATHS = 5;
/** A slice that is out for longer turned out to be too large: what it has not begun goes to whoever is free. */
const OVERLONG_MS = 100;
const ENDED_BY_STOP = "the consumer has stopped";

export class ThreadRunner implements Runner, Feeder {
  readonly #host: RunnerHost;
  readonly #slots: Slots;
  readonly #module: string;
  readonly #gate: BatchGate;
  readonly #sizer = new SliceSizer();
  readonly #slices = new Set<Slice>();
  /** Each ran beside others when a thread died, and goes out alone. */
  #suspects: Place[] = [];
  #deaths = 0;
  #barrenDeaths = 0;
  #stopped = false;

  constructor(host: RunnerHost, slots: Slots, module: string) {
    this.#host = host;
    this.#slots = slots;
    this.#module = module;
    this.#gate = new BatchGate(host.consumer.batch, host.internals.clock, () => this.pump());
  }

  start(): Promise<void> {
    this.#slots.join(this);
    return Promise.resolve(); // the pool has probed the module
  }

  pump(): void {
    if (!this.#stopped && (this.#host.ledger.unstarted > 0 || this.#suspects.length > 0)) this.#slots.want(this);
  }

  feed(free: number): boolean {
    const limit = Math.min(this.#roomForHandlers(), Math.ceil(this.#host.consumer.concurrency / this.#slots.threads));
    if (this.#stopped || limit <= 0) return false;
    const suspect = this.#suspects.shift();
    if (suspect !== undefined) return this.#feedSuspect(suspect);
    const { ledger, consumer } = this.#host;
    if (!this.#gate.isOpen(ledger.unstarted, ledger.heldSinceMs())) return false;
    const front = ledger.front();
    if (front === null || !this.#host.mayStart(front)) return false;
    const isBatch = consumer.batch !== null;
    const places = ledger.takeMany(isBatch ? this.#gate.size : this.#sizer.size(ledger.unstarted, free, limit));
    this.#host.started(places.length);
    this.#send(places, isBatch ? 1 : Math.min(limit, places.length));
    return true;
  }

  giveWay(): void {} // handing slices out takes no time

  recall(): void {
    let count = 0;
    let dropped = 0;
    for (const slice of this.#slices) this.#returnAll(slice, slice.cancelQueued());
    for (const place of this.#suspects.splice(0)) {
      count += 1;
      if (!this.#giveBack(place)) dropped += 1;
    }
    if (count > 0) this.#host.returned(count, dropped);
  }

  abort(batch: Batch, index: number, reason: Error): void {
    for (const slice of this.#slices) {
      const at = slice.indexOf(batch, index);
      if (at < 0) continue;
      if (slice.cancel(at)) this.#returnOne(slice.placeAt(at));
      else this.#abortAll(slice, [at], "lost", reason, LOST_GRACE_MS);
      return;
    }
    const at = this.#suspects.findIndex((place) => place.batch === batch && place.index === index);
    for (const place of at < 0 ? [] : this.#suspects.splice(at, 1)) this.#returnOne(place);
  }

  interrupt(): void {
    this.recall();
    const reason = new Error("The consumer is stopping: the time for its drain is over.");
    for (const slice of this.#slices) {
      const running = slice.runningNow();
      for (const at of running) {
        const { batch, index } = slice.placeAt(at);
        this.#host.ledger.interrupt(batch, index);
      }
      this.#abortAll(slice, running, "interrupted", reason, INTERRUPT_GRACE_MS);
    }
  }

  details(): Readonly<Record<string, number>> {
    return { slices: this.#slices.size, suspects: this.#suspects.length, deaths: this.#deaths };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#gate.stop();
    await Promise.all([...this.#slices].map((slice) => this.#finish(slice)));
    this.#slots.leave(this);
  }

  /** A thread that has done its work and is about to say so keeps its life, and its teardown. */
  async #finish(slice: Slice): Promise<void> {
    const { clock } = this.#host.internals;
    const hasEnded = slice.isDone && (await waitAtMost(clock, INTERRUPT_GRACE_MS, slice.running.ended));
    if (!hasEnded) this.#kill(slice, ENDED_BY_STOP);
    await slice.running.ended;
  }

  fail(error: Error): void {
    this.#host.fail(error);
  }

  peek(nowMs: number): void {
    for (const slice of this.#slices) {
      this.#collect(slice);
      this.#checkTimes(slice, nowMs);
      this.#checkProgress(slice, nowMs - slice.sentAtMs);
    }
  }

  extend({ slice: id, index, ms }: ExtendMessage): void {
    for (const slice of this.#slices) {
      if (slice.id !== id) continue;
      slice.extend(index, this.#monotonic() + ms);
      this.#host.renew();
    }
  }

  // Slices out

  #checkProgress(slice: Slice, ageMs: number): void {
    if (ageMs <= OVERLONG_MS) return;
    if (slice.hasBegun) return this.#shorten(slice);
    if (ageMs <= SETUP_MS) return;
    this.#kill(slice, `its setup did not end within ${SETUP_MS} ms`);
    this.#host.fail(
      new Error(`The setup of ${this.#host.consumer.stream}/${this.#host.consumer.group} did not end within ${SETUP_MS} ms.`),
    );
  }

  #shorten(slice: Slice): void {
    const cancelled = slice.cancelQueued();
    if (cancelled.length === 0) return;
    this.#returnAll(slice, cancelled);
    this.pump();
  }

  #roomForHandlers(): number {
    let room = this.#host.consumer.concurrency;
    for (const slice of this.#slices) room -= slice.limit;
    return room;
  }

  #feedSuspect(place: Place): boolean {
    if (place.batch.states[place.index] === LOST) this.#returnOne(place);
    else this.#send([place], 1);
    return true;
  }

  #send(places: readonly Place[], limit: number): void {
    const { stream, batch, timeoutMs } = this.#host.consumer;
    const sent = this.#slots.dispatch({
      module: this.#module,
      stream,
      ...pack(places),
      limit,
      isBatch: batch !== null,
      timeoutMs,
    });
    const slice = new Slice(sent, places, limit, this.#monotonic());
    this.#slices.add(slice);
    void sent.running.ended
      .then((end) => this.#ended(slice, end))
      .catch((cause: unknown) => this.#host.fail(cause instanceof Error ? cause : new Error(String(cause))));
  }

  #collect(slice: Slice): number {
    let ended = 0;
    let dropped = 0;
    slice.collect((index) => {
      const { batch, index: at } = slice.placeAt(index);
      ended += 1;
      if (!settleOutcome(this.#host, batch, at, this.#outcomeOf(slice, index))) dropped += 1;
    });
    if (ended > 0) {
      this.#barrenDeaths = 0;
      this.#host.ended(ended, dropped);
    }
    return ended;
  }

  /** After a timeout an ack still counts; any failure then is the timeout's. */
  #outcomeOf(slice: Slice, index: number): Outcome {
    const outcome = slice.memory.outcomeAt(index);
    return slice.isLate(index) && outcome.kind !== "ack" ? this.#verdict(slice, index, "") : outcome;
  }

  #ended(slice: Slice, end: TaskEnd): void {
    this.#slices.delete(slice);
    this.#collect(slice);
    this.#slots.returned(slice.memory, end.kind === "answered");
    if (end.kind === "died") this.#died(slice, end.threadId, end.reason);
    else this.#answered(slice, end.answer.ok ? null : end.answer.reason);
    this.pump();
    this.#slots.pump();
  }

  #answered(slice: Slice, failure: string | null): void {
    const { running, queued } = slice.leftovers();
    this.#returnAll(slice, [...running, ...queued]);
    if (failure !== null)
      return this.#host.fail(
        new Error(`The handler of ${this.#host.consumer.stream}/${this.#host.consumer.group} could not be set up: ${failure}`),
      );
    this.#sizer.onSlice(slice.executed, this.#monotonic() - slice.sentAtMs, slice.memory.peak);
  }

  // Deaths

  #died(slice: Slice, threadId: number, reason: string): void {
    const { running, queued } = slice.leftovers();
    const { guilty, suspects, innocent } = blame({
      running,
      wasKilled: slice.killed,
      counts: (index) => this.#counts(slice.placeAt(index)),
      isLate: (index) => slice.isLate(index),
      wasAborted: (index) => slice.memory.wasAborted(index),
    });
    this.#suspects.push(...suspects.map((index) => slice.placeAt(index)));
    for (const index of guilty) this.#settleOne(slice.placeAt(index), this.#verdict(slice, index, reason));
    this.#returnAll(slice, [...innocent, ...queued]);
    this.#deaths += 1;
    const redispatched = running.length - guilty.length + queued.length;
    this.#host.internals.emit("thread.died", { threadId, reason, charged: guilty.length, redispatched });
    this.#countBarren(running.length === 0 && !slice.killed, reason);
  }

  /** Not when its lease is lost or it was told to end: then nothing is charged. */
  #counts({ batch, index }: Place): boolean {
    return batch.states[index] === RUNNING;
  }

  #verdict(slice: Slice, index: number, reason: string): Outcome {
    const place = slice.placeAt(index);
    const { timeoutMs } = this.#host.consumer;
    if (timeoutMs === null || !slice.isLate(index)) return crashOutcome(place, reason);
    tellTimeout(this.#host, place.batch, place.index, timeoutMs);
    return timeoutOutcome(timeoutMs);
  }

  #countBarren(isBarren: boolean, reason: string): void {
    this.#barrenDeaths = isBarren ? this.#barrenDeaths + 1 : 0;
    if (this.#barrenDeaths < MAX_BARREN_DEATHS) return;
    this.#host.fail(
      new Error(
        `${MAX_BARREN_DEATHS} threads in a row died before ${this.#host.consumer.stream}/${this.#host.consumer.group} began an event: ${reason}`,
      ),
    );
  }

  #settleOne({ batch, index }: Place, outcome: Outcome): void {
    this.#host.ended(1, settleOutcome(this.#host, batch, index, outcome) ? 0 : 1);
  }

  #returnAll(slice: Slice, indexes: readonly number[]): void {
    let dropped = 0;
    for (const index of indexes) if (!this.#giveBack(slice.placeAt(index))) dropped += 1;
    if (indexes.length > 0) this.#host.returned(indexes.length, dropped);
  }

  #returnOne(place: Place): void {
    this.#host.returned(1, this.#giveBack(place) ? 0 : 1);
  }

  #giveBack({ batch, index }: Place): boolean {
    return this.#host.ledger.giveBack(batch, index);
  }

  // Times

  #checkTimes(slice: Slice, nowMs: number): void {
    const { timeoutMs } = this.#host.consumer;
    if (timeoutMs !== null) this.#timeOut(slice, timeoutMs, nowMs);
    if (slice.aborts.size === 0) return;
    for (const index of slice.runningNow()) {
      const abort = slice.aborts.get(index);
      if (abort !== undefined && abort.untilMs <= nowMs) return this.#kill(slice, endedReason(abort.cause, timeoutMs));
    }
  }

  #timeOut(slice: Slice, timeoutMs: number, nowMs: number): void {
    const over = slice.runningNow().filter((index) => slice.isOver(index, timeoutMs, nowMs) && !slice.aborts.has(index));
    if (over.length === 0) return;
    this.#abortAll(
      slice,
      over,
      "timed out",
      new DOMException(`The handler timed out after ${timeoutMs} ms.`, "TimeoutError"),
      TIMEOUT_GRACE_MS,
    );
  }

  #abortAll(slice: Slice, indexes: readonly number[], cause: AbortCause, reason: Error, graceMs: number): void {
    if (indexes.length === 0) return;
    const untilMs = this.#monotonic() + graceMs;
    for (const index of indexes)
      slice.aborts.set(index, { cause, untilMs: Math.min(untilMs, slice.aborts.get(index)?.untilMs ?? untilMs) });
    this.#slots.control({
      slice: slice.id,
      indexes,
      name: reason.name === "TimeoutError" ? reason.name : "AbortError",
      message: reason.message,
    });
  }

  #kill(slice: Slice, reason: string): void {
    slice.killed = true;
    slice.running.terminate(reason);
  }

  #monotonic(): number {
    return this.#host.internals.clock.monotonic();
  }
}

/** At once the first time, so that a crash costs no time; then by the group's policy. */
const crashOutcome = ({ batch }: Place, reason: string): Outcome => ({
  kind: "retry",
  delayMs: batch.attempt === 1 ? 0 : null,
  reason: `The thread died while it handled this event: ${reason}`,
  stack: null,
});

const endedReason = (cause: AbortCause, timeoutMs: number | null): string => {
  switch (cause) {
    case "timed out":
      return `a handler timed out after ${timeoutMs ?? 0} ms and did not heed its signal`;
    case "interrupted":
      return ENDED_BY_STOP;
    case "lost":
      return "a handler went on after its lease was lost";
    default:
      return cause satisfies never;
  }
};
