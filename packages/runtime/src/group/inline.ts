/**
 * Runs handlers in the main thread. A handler that returns at once costs no promise, timer or closure: the loop in `#burst` is the
 * hot path, and reports once per burst. Those that return a promise live on in `inline-calls.ts`.
 */
import type { Outcome } from "@rheo/core";
import { type Decode, decoderOf, isThenable, undecodable } from "@rheo/core/internal";
import { BatchOfDeliveries, type ContextOwner, DeliveryContext } from "../context.ts";
import { type Deferred, deferred } from "../deferred.ts";
import { asLoaded, checkUse, type LoadedHandler, loadHandler } from "../load-handler.ts";
import { readBatchOutcomes, readOutcome, thrownOutcome } from "../read-outcome.ts";
import { waitAtMost } from "../time-limit.ts";
import { Batcher } from "./batcher.ts";
import { InlineCalls, SingleCall } from "./inline-calls.ts";
import type { Batch, Place } from "./ledger.ts";
import { type Runner, type RunnerHost, SETUP_MS, settleOutcome } from "./runner.ts";

/** Work without a pause for at most so long; then timers and sockets have their turn. */
const BURST_MS = 5;
/** The clock is read again after so many events at most, and more often when handlers are slow. */
const MAX_STRIDE = 256;
/** Bound on `teardown`. */
const TEARDOWN_MS = 5_000;

const NO_HANDLER: LoadedHandler = { run: () => undefined, setup: null, teardown: null, stream: null };

export class InlineRunner implements Runner {
  readonly #host: RunnerHost;
  #decode: Decode;
  readonly #concurrency: number;
  readonly #batcher: Batcher | null;
  readonly #calls: InlineCalls;
  #handler = NO_HANDLER;
  #owner: ContextOwner;
  #ready = false;
  #stopped = false;
  readonly #end: Deferred<void> = deferred();
  #burstStartMs = Number.NEGATIVE_INFINITY;
  #stride = 1;
  #turn: NodeJS.Immediate | null = null;
  /** Batches are being started: what is told meanwhile must not start others in between. */
  #isTakingBatches = false;

  constructor(host: RunnerHost) {
    this.#host = host;
    this.#decode = decoderOf(host.consumer.stream);
    this.#concurrency = host.consumer.concurrency;
    const { batch } = host.consumer;
    this.#batcher = batch === null ? null : new Batcher(host, batch, () => this.pump());
    this.#calls = new InlineCalls(host, () => {
      if (host.ledger.unstarted > 0) this.pump();
    });
    this.#owner = this.#ownerWith(undefined);
  }

  async start(): Promise<void> {
    const { handler, stream, definition } = this.#host.consumer;
    this.#handler = handler.kind === "module" ? await loadHandler(handler.href) : asLoaded(handler.handler);
    checkUse(this.#handler, { stream, needsDefinition: false });
    this.#decode = decoderOf(this.#handler.stream ?? definition ?? stream);
    if (this.#handler.setup !== null) await this.#setUp(this.#handler.setup);
    if (!this.#stopped) this.#ready = true;
  }

  async #setUp(setup: () => unknown): Promise<void> {
    const work = (async () => {
      this.#owner = this.#ownerWith(await setup());
    })();
    const isInTime = await waitAtMost(this.#host.internals.clock, SETUP_MS, Promise.race([work, this.#end.promise]));
    const { teardown } = this.#handler;
    if (this.#stopped)
      return void work.then(() => (teardown === null ? undefined : this.#teardown(teardown))).catch(() => undefined);
    if (!isInTime)
      throw new Error(
        `The setup of ${this.#host.consumer.stream}/${this.#host.consumer.group} did not end within ${SETUP_MS} ms.`,
      );
  }

  pump(): void {
    if (!this.#ready || this.#stopped || this.#turn !== null || this.#isTakingBatches) return;
    const nowMs = this.#monotonic();
    if (nowMs - this.#burstStartMs < BURST_MS) return this.#burst();
    this.#turn = setImmediate(() => {
      this.#turn = null;
      this.#burstStartMs = this.#monotonic();
      if (!this.#stopped) this.#burst();
    });
  }

  giveWay(): void {
    this.#burstStartMs = Number.NEGATIVE_INFINITY;
  }

  recall(): void {} // nothing is handed out before it begins

  abort(batch: Batch, index: number, reason: Error): void {
    this.#calls.abort(batch, index, reason);
  }

  interrupt(): void {
    this.#calls.interrupt();
  }

  details(): Readonly<Record<string, number>> {
    return { handlers: this.#calls.size, abandoned: this.#calls.abandoned };
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#end.resolve();
    this.#batcher?.stop();
    this.#calls.stop();
    if (this.#turn !== null) clearImmediate(this.#turn);
    if (this.#ready && this.#handler.teardown !== null) await this.#teardown(this.#handler.teardown);
  }

  async #teardown(teardown: (value: unknown) => unknown): Promise<void> {
    const work = (async () => await teardown(this.#owner.value))();
    const told = work.catch((cause: unknown) => this.#host.logger.error("teardown failed:", cause));
    await waitAtMost(this.#host.internals.clock, TEARDOWN_MS, told);
  }

  // Starting

  #burst(): void {
    if (this.#batcher !== null) return this.#burstOfBatches(this.#batcher);
    if (this.#calls.size >= this.#concurrency) return;
    const { ledger, admission, times } = this.#host;
    const isTimed = times.isHeard;
    const allowed = admission === null ? Number.POSITIVE_INFINITY : admission.reserve(ledger.unstarted);
    let started = 0;
    let ended = 0;
    let dropped = 0;
    /** Ends that the admission was told of. */
    let told = 0;
    let untilLook = this.#stride;
    let lookedAtMs = this.#monotonic();
    let fresh: Batch | null = null;
    while (started < allowed && this.#calls.size < this.#concurrency) {
      const batch = ledger.front();
      if (batch === null) break;
      if (batch !== fresh && !this.#host.mayStart(batch)) break;
      fresh = batch;
      started += 1;
      const beganAtMs = isTimed ? this.#monotonic() : null;
      const index = ledger.take(batch);
      admission?.letThrough({ batch, index });
      const outcome = this.#startOne(batch, index, beganAtMs);
      if (beganAtMs !== null && outcome !== PENDING) {
        const kind = typeof outcome === "object" ? outcome.kind : "ack";
        times.add(batch, index, kind, beganAtMs, this.#monotonic() - beganAtMs);
      }
      if (outcome === SETTLED) ended += 1;
      else if (outcome === DROPPED) {
        ended += 1;
        dropped += 1;
      } else if (outcome !== PENDING) {
        if (ended > told) admission?.succeeded(batch, index); // those before it, so that failures are counted in a row
        if (!settleOutcome(this.#host, batch, index, outcome)) dropped += 1;
        ended += 1;
        told = ended;
        if (admission?.isClosed === false) break;
      }
      untilLook -= 1;
      if (untilLook > 0) continue;
      const nowMs = this.#monotonic();
      this.#adaptStride(nowMs - lookedAtMs);
      lookedAtMs = nowMs;
      untilLook = this.#stride;
      if (nowMs - this.#burstStartMs >= BURST_MS) break;
    }
    if (admission !== null) {
      if (ended > told && fresh !== null) admission.succeeded(fresh, fresh.next - 1);
      admission.started(started, allowed);
    }
    times.flush();
    if (started > 0) this.#host.started(started);
    if (ended > 0) this.#host.ended(ended, dropped);
    if (ledger.unstarted > 0 && this.#calls.size < this.#concurrency && started > 0) this.pump();
  }

  /** Aims at a look at the clock about every millisecond. */
  #adaptStride(tookMs: number): void {
    this.#stride = tookMs > 1 ? Math.max(1, this.#stride >> 1) : Math.min(MAX_STRIDE, this.#stride * 2);
  }

  /** Calls the handler; any outcome but an ack is left to the caller. */
  #startOne(batch: Batch, index: number, beganAtMs: number | null): typeof PENDING | typeof SETTLED | typeof DROPPED | Outcome {
    const record = batch.release(index);
    let event: unknown;
    try {
      event = this.#decode(record);
    } catch (cause) {
      return undecodable(cause);
    }
    const context = new DeliveryContext(this.#owner, batch.attempt, batch.token, batch.partition, record.sequence);
    let result: unknown;
    try {
      result = this.#handler.run(event, context);
    } catch (cause) {
      return thrownOutcome(cause);
    }
    if (result === undefined) return this.#host.ledger.finish(batch, index, null) ? SETTLED : DROPPED;
    if (!isThenable(result)) {
      const outcome = readOutcome(result);
      if (outcome.kind !== "ack") return outcome;
      return this.#host.ledger.finish(batch, index, null) ? SETTLED : DROPPED;
    }
    const call = new SingleCall(batch, index, context, beganAtMs);
    this.#calls.begun(call);
    void this.#calls.settle(call, result);
    return PENDING;
  }

  #burstOfBatches(batcher: Batcher): void {
    let isOver = false;
    this.#isTakingBatches = true;
    try {
      while (this.#calls.size < this.#concurrency && !isOver) {
        const places = batcher.take();
        if (places.length === 0) break;
        this.#startBatch(places);
        isOver = this.#monotonic() - this.#burstStartMs >= BURST_MS;
      }
    } finally {
      this.#isTakingBatches = false;
    }
    if (isOver) this.pump();
  }

  #startBatch(places: readonly Place[]): void {
    this.#host.started(places.length);
    const events: unknown[] = [];
    const good: Place[] = [];
    let bad = 0;
    for (const place of places) {
      try {
        events.push(this.#decode(place.batch.release(place.index)));
        good.push(place);
      } catch (cause) {
        settleOutcome(this.#host, place.batch, place.index, undecodable(cause));
        bad += 1;
      }
    }
    if (bad > 0) this.#host.ended(bad, 0);
    if (good.length === 0) return;
    const contexts = good.map(
      ({ batch, index }) =>
        new DeliveryContext(this.#owner, batch.attempt, batch.token, batch.partition, batch.sequenceAt(index)),
    );
    const context = new BatchOfDeliveries(this.#owner, contexts);
    const call = this.#calls.begunBatch(good, contexts, context, this.#host.times.isHeard ? this.#monotonic() : null);
    const read = (value: unknown): readonly Outcome[] => readBatchOutcomes(value, good.length);
    try {
      const result = this.#handler.run(events, context);
      if (isThenable(result)) void this.#calls.settleBatch(call, result, read);
      else this.#calls.close(call, read(result));
    } catch (cause) {
      this.#calls.close(call, new Array<Outcome>(good.length).fill(thrownOutcome(cause)));
    }
  }

  #ownerWith(value: unknown): ContextOwner {
    const { consumer, internals, logger } = this.#host;
    const { clock } = internals;
    return {
      stream: consumer.stream,
      group: consumer.group,
      value,
      logger,
      timeoutMs: consumer.timeoutMs,
      now: () => clock.now(),
      extend: (context, ms) => this.#extend(context, ms),
    };
  }

  #extend(context: DeliveryContext, ms: number): void {
    this.#host.renew();
    this.#calls.extend(context, ms);
  }

  #monotonic(): number {
    return this.#host.internals.clock.monotonic();
  }
}

const PENDING = 0;
const SETTLED = 1;
const DROPPED = 2;
