/**
 * Leases as an async iterable. What the loop asks for is what is leased: nothing before it asks, then at most `maxDemand` that are
 * not settled. However the loop ends, what it has not settled goes back.
 */
import { type Event, type Json, type Rheo, release, type StreamRef, type Timer } from "@rheo/core";
import {
  type Decode,
  decoderOf,
  internalsOf,
  LIMITS,
  parseNumber,
  parseOptions,
  type RheoInternals,
  staleLease,
  undecodable,
} from "@rheo/core/internal";
import { type Deferred, deferred } from "../deferred.ts";
import type { Delivery } from "../intake/holding.ts";
import { Intake, type IntakeHost } from "../intake/intake.ts";
import type { IntakeOptions } from "../intake/options.ts";
import { Queue } from "../queue.ts";
import { nextTurn, Turns } from "../turns.ts";
import { type ConsumeOptions, type ConsumeSettings, parseConsumeOptions } from "./consume-options.ts";
import type { HeldLease } from "./held-lease.ts";
import { LeaseReadable, type LeaseSource, type LeaseStream } from "./lease-readable.ts";
import { type LeaseOwner, OwnedLease } from "./owned-lease.ts";

/** Leases to be iterated over, once; several loops may share them. */
export interface Consumption<Payload = Json> extends AsyncIterableIterator<HeldLease<Payload>, void, void>, AsyncDisposable {
  /** Name of the member that holds the leases. */
  readonly consumerId: string;
  /** Leases held now: waiting, handed out, or settled without an answer from the store. */
  readonly held: number;
  /**
   * The next lease, in the order of its partition. Waits for one, and while `maxDemand` leases are not settled.
   * @throws stream_not_found, group_not_found, invalid_option - once; then it is done
   */
  next(): Promise<IteratorResult<HeldLease<Payload>, void>>;
  /** What `break` and a thrown error call: {@link close}. */
  return(): Promise<IteratorReturnResult<void>>;
  /**
   * Ends the iteration, and gives back uncharged what is not settled: what waits at once, what was handed out after `timeoutMs`
   * (default 0) at the latest. Idempotent; a later call may shorten the time. Bounded even when the store is away.
   * @throws invalid_option
   */
  close(options?: { readonly timeoutMs?: number }): Promise<void>;
  /**
   * The same leases as a Node stream in object mode. Destroying it gives back what is not settled.
   * `highWaterMark`: leases that wait in the stream, 0–10,000; default 16. They count as held, so `maxDemand` bounds them too.
   * @throws invalid_option
   */
  toReadable(options?: { readonly highWaterMark?: number }): LeaseStream<Payload>;
}

/**
 * Iterates over the deliveries of a group. Starts nothing before it is asked for the first one. Ends quietly when its signal aborts,
 * it is closed, or the instance is.
 * @throws invalid_option, invalid_name
 */
export const consume = <Payload = Json>(
  rheo: Rheo,
  stream: StreamRef<Payload>,
  group: string,
  options: ConsumeOptions = {},
): Consumption<Payload> => {
  const settings = parseConsumeOptions(rheo, stream, group, options);
  return new LeaseConsumption<Payload>(rheo, decoderOf(stream), settings);
};

type Owned = OwnedLease<unknown>;
type Result<Payload> = IteratorResult<HeldLease<Payload>, void>;

const DONE = { done: true, value: undefined } as const;
/** As Node's own object streams have it. */
const DEFAULT_HIGH_WATER_MARK = 16;

class LeaseConsumption<Payload> implements Consumption<Payload>, LeaseSource<Payload> {
  readonly #internals: RheoInternals;
  readonly #options: IntakeOptions;
  readonly #decode: Decode;
  readonly #intake: Intake<Owned>;
  readonly #owner: LeaseOwner;
  readonly #signal: AbortSignal | null;
  readonly #waiting = new Queue<Delivery<Owned>>();
  readonly #takers = new Queue<Deferred<Result<Payload>>>();
  readonly #turns: Turns;
  #hadItsTurn = false;
  #hasEnded = false;
  /** To be thrown once. */
  #error: Error | null = null;
  #cut: { readonly atMs: number; readonly timer: Timer } | null = null;

  constructor(rheo: Rheo, decode: Decode, { member, signal }: ConsumeSettings) {
    this.#internals = internalsOf(rheo);
    this.#turns = new Turns(this.#internals.clock);
    this.#options = member;
    this.#decode = decode;
    this.#intake = new Intake<Owned>(rheo, member, 0, this.#intakeHost());
    this.#owner = this.#leaseOwner(rheo);
    this.#signal = signal;
    if (signal?.aborted) this.#endInTime();
    else signal?.addEventListener("abort", this.#endInTime, { once: true });
  }

  get consumerId(): string {
    return this.#options.consumerId;
  }

  get held(): number {
    return this.#intake.held;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result<Payload>> {
    if (this.#hasEnded) return this.#last();
    if (this.#isTurnOver()) return this.#nextInTurn();
    this.#intake.start();
    const lease = this.#takers.length === 0 ? this.#take() : null;
    if (lease !== null) return Promise.resolve({ done: false, value: lease });
    const taker = deferred<Result<Payload>>();
    this.#takers.push(taker);
    this.#intake.pump();
    return taker.promise;
  }

  takeNow(): HeldLease<Payload> | null {
    return this.#hasEnded || this.#takers.length > 0 || this.#isTurnOver() ? null : this.#take();
  }

  /** A loop for which there is always a lease must not keep the thread. */
  #isTurnOver(): boolean {
    this.#hadItsTurn ||= this.#turns.step();
    return this.#hadItsTurn;
  }

  async #nextInTurn(): Promise<Result<Payload>> {
    await nextTurn();
    this.#turns.begin();
    this.#hadItsTurn = false;
    return this.next();
  }

  /** The oldest that is still ours; null when there is none, or its lease must be renewed first. */
  #take(): HeldLease<Payload> | null {
    for (let delivery = this.#waiting.peek(); delivery !== undefined; delivery = this.#waiting.peek()) {
      if (delivery.state === "queued" && !this.#intake.isFresh(delivery)) return null;
      this.#waiting.shift();
      const lease = this.#handOut(delivery);
      if (lease !== null) return lease;
    }
    return null;
  }

  async return(): Promise<IteratorReturnResult<void>> {
    await this.close();
    return DONE;
  }

  close(options?: { readonly timeoutMs?: number }): Promise<void> {
    const raw = parseOptions("close", options, ["timeoutMs"]);
    const timeoutMs = parseNumber("timeoutMs", raw.timeoutMs, { min: 0, max: LIMITS.durationMs, fallback: 0 });
    this.#end(null);
    this.#cutAfter(timeoutMs);
    return this.#intake.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  toReadable(options?: { readonly highWaterMark?: number }): LeaseStream<Payload> {
    const raw = parseOptions("toReadable", options, ["highWaterMark"]);
    const highWaterMark = parseNumber("highWaterMark", raw.highWaterMark, {
      min: 0,
      max: LIMITS.fetchLimit,
      fallback: DEFAULT_HIGH_WATER_MARK,
    });
    return new LeaseReadable(this, highWaterMark);
  }

  // Handing out

  /** Null when it is no longer ours, or cannot be decoded. */
  #handOut(delivery: Delivery<Owned>): HeldLease<Payload> | null {
    const { record } = delivery;
    if (record === null || !this.#intake.take(delivery)) return null;
    try {
      const event = this.#decode(record) as Event<Payload>; // of the schema's output
      const lease = new OwnedLease<Payload>(this.#owner, delivery, event);
      delivery.record = null;
      delivery.item = lease as Owned;
      return lease;
    } catch (cause) {
      this.#intake.fail(delivery, undecodable(cause));
      this.#intake.pump();
      return null;
    }
  }

  #serve(): void {
    while (this.#takers.length > 0) {
      const lease = this.#take();
      if (lease === null) return;
      this.#takers.shift()?.resolve({ done: false, value: lease });
    }
  }

  #leaseOwner(rheo: Rheo): LeaseOwner {
    const { stream, group, consumerId } = this.#options;
    return {
      stream,
      group,
      consumerId,
      end: (delivery, outcome) => {
        const isOurs = this.#intake.end(delivery, outcome);
        if (isOurs) this.#intake.pump();
        return isOurs;
      },
      endInside: async (delivery, outcome, transaction) => {
        const { partition, token, attempt } = delivery.grant;
        const lease = { stream, group, partition, token, attempt, sequence: delivery.sequence };
        let state: string | null = null;
        await this.#intake.endOutside(delivery, async () => {
          const [answer] = await rheo.settle([{ lease, outcome }], { transaction });
          if (answer?.status !== "settled") throw staleLease(lease, answer?.why ?? "gone");
          state = answer.state;
        });
        return state;
      },
    };
  }

  #intakeHost(): IntakeHost<Owned> {
    return {
      arrived: (deliveries) => {
        for (const delivery of deliveries) {
          if (this.#hasEnded) this.#intake.end(delivery, release());
          else this.#waiting.push(delivery);
        }
        this.#serve();
      },
      settled: ({ item }, result) => item?.settled(result),
      unanswered: ({ item }, error) => item?.unanswered(error),
      lost: ({ item }, why) => item?.lost(why),
      gaveBack: ({ item }) => item?.gaveBack(),
      refreshed: () => this.#serve(),
      opened: () => undefined,
      isHungry: () => this.#takers.length > 0,
      ration: () => Number.POSITIVE_INFINITY,
      emptied: () => this.#cutAfter(0),
      ended: (error) => this.#end(error),
    };
  }

  // Ending

  readonly #endInTime = (): void => {
    this.#end(null);
    this.#cutAfter(this.#intake.leaseMs);
  };

  /** Hands out nothing more. What was handed out may still be settled. */
  #end(error: Error | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#signal?.removeEventListener("abort", this.#endInTime);
    this.#error = error;
    for (const taker of this.#takers.drain()) this.#last().then(taker.resolve, taker.reject);
    for (const delivery of this.#waiting.drain()) this.#intake.end(delivery, release());
    this.#intake.accept(false);
  }

  #last(): Promise<IteratorReturnResult<void>> {
    const error = this.#error;
    this.#error = null;
    return error === null ? Promise.resolve(DONE) : Promise.reject(error);
  }

  /** What is not settled by then goes back. A later call may only bring it forward. */
  #cutAfter(timeoutMs: number): void {
    const { clock } = this.#internals;
    const atMs = clock.monotonic() + timeoutMs;
    if (this.#cut !== null && this.#cut.atMs <= atMs && timeoutMs > 0) return;
    this.#cut?.timer.cancel();
    if (timeoutMs === 0) void this.#intake.close();
    else this.#cut = { atMs, timer: clock.schedule(timeoutMs, () => void this.#intake.close()) };
  }
}
