/**
 * Handlers in the main thread that have returned a promise. Each holds a slot until it settles, or until it has ignored its abort
 * signal for so long that the slot is given up; what it still does then is fenced off by its token.
 */
import type { Outcome, Timer } from "@rheo/core";
import type { BatchOfDeliveries, DeliveryContext } from "../context.ts";
import { asPrefix, thrownOutcome } from "../read-outcome.ts";
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
  readonly batch: BatchOfDeliveries | null;
  /** By the monotonic clock; null when nobody wants to know. */
  readonly beganAtMs: number | null;
  /** When it is over, by the monotonic clock: the timeout, or the end of the grace once it is `aborted`. */
  dueAtMs: number;
  aborted: AbortCause | null;
  /** Its slot was given up; whatever still comes is ignored. */
  abandoned: boolean;
}

const RELEASED: Outcome = { kind: "release" };
const READ_AS_ACK: Outcome = { kind: "ack" };

export class InlineCalls {
  readonly #host: RunnerHost;
  readonly #onFree: () => void;
  readonly #calls = new Set<Call>();
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
    return this.#calls.size;
  }

  /** Handlers that go on after their slot was given up. */
  get abandoned(): number {
    return this.#abandoned;
  }

  open(
    places: readonly Place[],
    contexts: readonly DeliveryContext[],
    batch: BatchOfDeliveries | null,
    beganAtMs: number | null,
  ): Call {
    const { timeoutMs } = this.#host.consumer;
    const dueAtMs = timeoutMs === null ? Number.POSITIVE_INFINITY : this.#monotonic() + this.#timeLeft(contexts, timeoutMs);
    const call: Call = { places, contexts, batch, beganAtMs, dueAtMs, aborted: null, abandoned: false };
    this.#calls.add(call);
    this.#watchUntil(dueAtMs);
    return call;
  }

  /** A handler may have asked for more before it returned its promise. */
  #timeLeft(contexts: readonly DeliveryContext[], timeoutMs: number): number {
    const deadlineMs = contexts.reduce((latest, context) => Math.max(latest, context.deadlineMs), 0);
    return deadlineMs === 0 ? timeoutMs : deadlineMs - this.#host.internals.clock.now();
  }

  async settle(call: Call, result: PromiseLike<unknown>, read: (value: unknown) => readonly Outcome[]): Promise<void> {
    let outcomes: readonly Outcome[];
    try {
      outcomes = read(await result);
    } catch (cause) {
      outcomes = new Array<Outcome>(call.places.length).fill(thrownOutcome(cause));
    }
    if (call.abandoned) this.#abandoned -= 1;
    else this.close(call, outcomes);
  }

  /** After a timeout an ack still counts; any failure then is the timeout's. */
  close(call: Call, outcomes: readonly Outcome[]): void {
    this.#calls.delete(call);
    const { timeoutMs } = this.#host.consumer;
    const late = call.aborted === "timed out" && timeoutMs !== null ? timeoutOutcome(timeoutMs) : null;
    const timely = late === null ? outcomes : outcomes.map((outcome) => (outcome.kind === "ack" ? outcome : late));
    const final = this.#host.consumer.batch?.by == null ? timely : asPrefix(timely);
    const { times } = this.#host;
    const { beganAtMs } = call;
    const tookMs = beganAtMs === null ? 0 : this.#monotonic() - beganAtMs;
    let dropped = 0;
    for (let at = 0; at < call.places.length; at++) {
      const place = call.places[at];
      if (place === undefined) continue;
      const outcome = final[at] ?? READ_AS_ACK;
      if (beganAtMs !== null) times.add(place.batch, place.index, outcome.kind, beganAtMs, tookMs);
      if (!settleOutcome(this.#host, place.batch, place.index, outcome)) dropped += 1;
    }
    this.#report(call.places.length, dropped);
  }

  abort(batch: Batch, index: number, reason: Error): void {
    for (const call of this.#calls) {
      const at = call.places.findIndex((place) => place.batch === batch && place.index === index);
      if (at < 0) continue;
      call.contexts[at]?.abort(reason);
      call.batch?.update();
      if (call.contexts.every((context) => context.aborted)) this.#abortCall(call, "lost", reason, LOST_GRACE_MS);
      return;
    }
  }

  interrupt(): void {
    const reason = new Error("The consumer is stopping: the time for its drain is over.");
    for (const call of this.#calls) {
      for (const { batch, index } of call.places) this.#host.ledger.interrupt(batch, index);
      this.#abortCall(call, "interrupted", reason, INTERRUPT_GRACE_MS);
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

  #abortCall(call: Call, cause: AbortCause, reason: Error, graceMs: number): void {
    for (const context of call.contexts) context.abort(reason);
    call.batch?.update();
    call.aborted = cause === "interrupted" ? cause : (call.aborted ?? cause);
    call.dueAtMs = Math.min(call.aborted === cause ? Number.POSITIVE_INFINITY : call.dueAtMs, this.#monotonic() + graceMs);
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
      else if (call.aborted === null) this.#timeOut(call);
      else deaf.push(call);
    }
    if (deaf.length > 0) this.#abandon(deaf);
  }

  #timeOut(call: Call): void {
    const { timeoutMs } = this.#host.consumer;
    if (timeoutMs === null) return;
    for (const { batch, index } of call.places) tellTimeout(this.#host, batch, index, timeoutMs);
    this.#abortCall(
      call,
      "timed out",
      new DOMException(`The handler timed out after ${timeoutMs} ms.`, "TimeoutError"),
      TIMEOUT_GRACE_MS,
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
