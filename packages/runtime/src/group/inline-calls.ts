/**
 * Handlers in the main thread that have returned a promise. Each holds a slot until it settles, or until it has ignored its abort
 * signal for so long that the slot is given up; what it still does then is fenced off by its token.
 */
import type { Outcome, Timer } from "@rheo/core";
import type { BatchOfDeliveries, DeliveryContext } from "../context.ts";
import { asPrefix, readOutcome, thrownOutcome } from "../read-outcome.ts";
import type { Batch, Place } from "./ledger.ts";
import {
  type AbortCause,
  INTERRUPT_GRACE_MS,
  LOST_GRACE_MS,
  type RunnerHost,
  settleOutcome,
  TIMEOUT_GRACE_MS,
  tellTimeout,
  timeoutOutcome,
} from "./runner.ts";

/** One call of a handler. */
export interface Call {
  readonly places: readonly Place[];
  readonly contexts: readonly DeliveryContext[];
  /** What a batch handler was given. */
  readonly shared: BatchOfDeliveries | null;
  /** By the monotonic clock; null when nobody wants to know. */
  readonly beganAtMs: number | null;
  /** When it is over, by the monotonic clock: the timeout, or the end of the grace once it is `aborted`. */
  dueAtMs: number;
  aborted: AbortCause | null;
  /** Its slot was given up; whatever still comes is ignored. */
  abandoned: boolean;
  /** Where it is in the list of calls. */
  at: number;
}

/** The call for one event. One is made for each, so it does without lists. */
export class SingleCall implements Call, Place {
  readonly batch: Batch;
  readonly index: number;
  readonly context: DeliveryContext;
  readonly shared = null;
  readonly beganAtMs: number | null;
  dueAtMs: number = Number.POSITIVE_INFINITY;
  aborted: AbortCause | null = null;
  abandoned = false;
  at = 0;

  constructor(batch: Batch, index: number, context: DeliveryContext, beganAtMs: number | null) {
    this.batch = batch;
    this.index = index;
    this.context = context;
    this.beganAtMs = beganAtMs;
  }

  get places(): readonly Place[] {
    return [this];
  }

  get contexts(): readonly DeliveryContext[] {
    return [this.context];
  }
}

const RELEASED: Outcome = { kind: "release" };
const READ_AS_ACK: Outcome = { kind: "ack" };

export class InlineCalls {
  readonly #host: RunnerHost;
  readonly #onFree: () => void;
  /** In no order. */
  readonly #calls: Call[] = [];
  #stopped = false;
  #watch: Timer | null = null;
  #watchAtMs = Number.POSITIVE_INFINITY;
  #abandoned = 0;
  /** Not reported yet. */
  #ended = 0;
  #dropped = 0;

  /** @param onFree - slots are free again */
  constructor(host: RunnerHost, onFree: () => void) {
    this.#host = host;
    this.#onFree = onFree;
  }

  /** Slots taken. */
  get size(): number {
    return this.#calls.length;
  }

  /** Handlers that go on after their slot was given up. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** The call that was just made for one event. */
  begun(call: SingleCall): void {
    const { timeoutMs } = this.#host.consumer;
    if (timeoutMs !== null) call.dueAtMs = this.#dueAtMs(call.contexts, timeoutMs);
    this.#add(call);
  }

  /** The same for several events. */
  begunBatch(
    places: readonly Place[],
    contexts: readonly DeliveryContext[],
    shared: BatchOfDeliveries,
    beganAtMs: number | null,
  ): Call {
    const { timeoutMs } = this.#host.consumer;
    const dueAtMs = timeoutMs === null ? Number.POSITIVE_INFINITY : this.#dueAtMs(contexts, timeoutMs);
    const call: Call = { places, contexts, shared, beganAtMs, dueAtMs, aborted: null, abandoned: false, at: 0 };
    this.#add(call);
    return call;
  }

  #add(call: Call): void {
    call.at = this.#calls.length;
    this.#calls.push(call);
    this.#watchUntil(call.dueAtMs);
  }

  #remove(call: Call): void {
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    last.at = call.at;
    this.#calls[call.at] = last;
  }

  /** A handler may have asked for more before it returned its promise. */
  #dueAtMs(contexts: readonly DeliveryContext[], timeoutMs: number): number {
    const deadlineMs = contexts.reduce((latest, context) => Math.max(latest, context.deadlineMs), 0);
    return this.#monotonic() + (deadlineMs === 0 ? timeoutMs : deadlineMs - this.#host.internals.clock.now());
  }

  async settle(call: SingleCall, result: PromiseLike<unknown>): Promise<void> {
    let outcome: Outcome;
    try {
      outcome = readOutcome(await result);
    } catch (cause) {
      outcome = thrownOutcome(cause);
    }
    if (call.abandoned) this.#abandoned -= 1;
    else this.#closeSingle(call, outcome);
  }

  async settleBatch(call: Call, result: PromiseLike<unknown>, read: (value: unknown) => readonly Outcome[]): Promise<void> {
    let outcomes: readonly Outcome[];
    try {
      outcomes = read(await result);
    } catch (cause) {
      outcomes = new Array<Outcome>(call.places.length).fill(thrownOutcome(cause));
    }
    if (call.abandoned) this.#abandoned -= 1;
    else this.close(call, outcomes);
  }

  close(call: Call, outcomes: readonly Outcome[]): void {
    this.#remove(call);
    const timely = call.aborted === "timed out" ? outcomes.map((outcome) => this.#timely(call, outcome)) : outcomes;
    const final = this.#host.consumer.batch?.by == null ? timely : asPrefix(timely);
    const tookMs = this.#tookMs(call);
    let dropped = 0;
    for (const [at, place] of call.places.entries())
      if (!this.#finish(call, place, final[at] ?? READ_AS_ACK, tookMs)) dropped += 1;
    this.#report(call.places.length, dropped);
  }

  #closeSingle(call: SingleCall, outcome: Outcome): void {
    this.#remove(call);
    this.#report(1, this.#finish(call, call, this.#timely(call, outcome), this.#tookMs(call)) ? 0 : 1);
  }

  /** After a timeout an ack still counts; any failure then is the timeout's. */
  #timely(call: Call, outcome: Outcome): Outcome {
    const { timeoutMs } = this.#host.consumer;
    return call.aborted === "timed out" && timeoutMs !== null && outcome.kind !== "ack" ? timeoutOutcome(timeoutMs) : outcome;
  }

  #tookMs({ beganAtMs }: Call): number {
    return beganAtMs === null ? 0 : this.#monotonic() - beganAtMs;
  }

  /** False when there was nothing to settle any more. */
  #finish(call: Call, { batch, index }: Place, outcome: Outcome, tookMs: number): boolean {
    if (call.beganAtMs !== null) this.#host.times.add(batch, index, outcome.kind, call.beganAtMs, tookMs);
    return settleOutcome(this.#host, batch, index, outcome);
  }

  abort(batch: Batch, index: number, reason: Error): void {
    for (const call of this.#calls) {
      const at = call.places.findIndex((place) => place.batch === batch && place.index === index);
      if (at < 0) continue;
      call.contexts[at]?.abort(reason);
      call.shared?.update();
      if (call.contexts.every((context) => context.aborted))
        this.#abortCall(call, "lost", reason, this.#monotonic() + LOST_GRACE_MS);
      return;
    }
  }

  interrupt(): void {
    const reason = new Error("The consumer is stopping: the time for its drain is over.");
    // one time for all, so that those that ignore it are given up, and told of, together
    const untilMs = this.#monotonic() + INTERRUPT_GRACE_MS;
    for (const call of this.#calls) {
      for (const { batch, index } of call.places) this.#host.ledger.interrupt(batch, index);
      this.#abortCall(call, "interrupted", reason, untilMs);
    }
  }

  extend(context: DeliveryContext, ms: number): void {
    for (const call of this.#calls) {
      if (call.aborted !== null || !call.contexts.includes(context) || call.dueAtMs === Number.POSITIVE_INFINITY) continue;
      call.dueAtMs = this.#monotonic() + ms;
      this.#watchUntil(call.dueAtMs);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#watch?.cancel();
  }

  /** Handlers that end together are reported together. */
  #report(ended: number, dropped: number): void {
    if (this.#ended === 0) queueMicrotask(() => this.#flush());
    this.#ended += ended;
    this.#dropped += dropped;
  }

  #flush(): void {
    const ended = this.#ended;
    const dropped = this.#dropped;
    this.#ended = 0;
    this.#dropped = 0;
    this.#host.times.flush();
    this.#host.ended(ended, dropped);
    this.#onFree();
  }

  /** @param untilMs - then it is given up, on the monotonic clock */
  #abortCall(call: Call, cause: AbortCause, reason: Error, untilMs: number): void {
    for (const context of call.contexts) context.abort(reason);
    call.shared?.update();
    call.aborted = cause === "interrupted" ? cause : (call.aborted ?? cause);
    call.dueAtMs = Math.min(call.aborted === cause ? Number.POSITIVE_INFINITY : call.dueAtMs, untilMs);
    this.#watchUntil(call.dueAtMs);
  }

  /** One timer for all calls, at the earliest time that matters. */
  #watchUntil(dueAtMs: number): void {
    if (this.#stopped || dueAtMs >= this.#watchAtMs) return;
    this.#watch?.cancel();
    this.#watchAtMs = dueAtMs;
    this.#watch = this.#host.internals.clock.schedule(Math.ceil(dueAtMs - this.#monotonic()), () => this.#look());
  }

  #look(): void {
    this.#watchAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#monotonic();
    const deaf: Call[] = [];
    for (const call of [...this.#calls]) {
      if (call.dueAtMs > nowMs) this.#watchUntil(call.dueAtMs);
      else if (call.aborted === null) this.#timeOut(call, nowMs);
      else deaf.push(call);
    }
    if (deaf.length > 0) this.#abandon(deaf);
  }

  #timeOut(call: Call, nowMs: number): void {
    const { timeoutMs } = this.#host.consumer;
    if (timeoutMs === null) return;
    for (const { batch, index } of call.places) tellTimeout(this.#host, batch, index, timeoutMs);
    this.#abortCall(
      call,
      "timed out",
      new DOMException(`The handler timed out after ${timeoutMs} ms.`, "TimeoutError"),
      nowMs + TIMEOUT_GRACE_MS,
    );
  }

  #abandon(calls: readonly Call[]): void {
    const { stream, group, timeoutMs } = this.#host.consumer;
    const handlers = calls.length === 1 ? "A handler" : `${calls.length} handlers`;
    const causes = [...new Set(calls.map(({ aborted }) => aborted))].join(", ");
    this.#host.logger.warn(`${handlers} of ${stream}/${group} ignored the abort signal (${causes}): no longer waited for.`);
    for (const call of calls) {
      call.abandoned = true;
      this.#abandoned += 1;
      const outcome: Outcome = call.aborted === "timed out" && timeoutMs !== null ? timeoutOutcome(timeoutMs) : RELEASED;
      this.close(call, new Array<Outcome>(call.places.length).fill(outcome));
    }
  }

  #monotonic(): number {
    return this.#host.internals.clock.monotonic();
  }
}
