/**
 * What a group may start now, beyond its free slots: by its circuit breaker and its rate limit. They are judged at once, in the
 * middle of a burst too, since a failure decides whether the next event is started at all; `transition` is only told how many
 * deliveries are worth holding. Only consumers that have one of the two have an admission.
 */
import type { Timer } from "@rheo/core";
import type { RheoInternals } from "@rheo/core/internal";
import type { ConsumerDefinition } from "../consumer.ts";
import { type Breaker, type BreakerPolicy, CLOSED, onFailure, onSuccess, onWaited } from "./breaker.ts";
import { TARGET_MS } from "./demand.ts";
import type { Batch, Place } from "./ledger.ts";
import { available, fullBucket, type RateLimit, refill, type TokenBucket, take, waitMs } from "./token-bucket.ts";

export interface AdmissionHost {
  readonly internals: Pick<RheoInternals, "clock" | "random" | "emit">;
  readonly consumer: ConsumerDefinition;
  readonly consumerId: string;
  /**
   * So many unstarted deliveries are worth holding now; null: any number. With `recall`, also what was handed out and has not
   * begun is to go back.
   */
  onRation(ration: number | null, recall: boolean): void;
  /** More may be started than a moment ago. */
  onFree(): void;
}

/** Probes that failed and are remembered, so that one event that always fails does not keep the breaker open for all others. */
const MAX_FAILED_PROBES = 32;

export class Admission {
  readonly #host: AdmissionHost;
  readonly #policy: BreakerPolicy | null;
  readonly #limit: RateLimit | null;
  #breaker = CLOSED;
  #bucket: TokenBucket;
  /** There is a place for a probe, and it is taken. */
  #isProbing = false;
  /** What took it, once that is known. */
  #probe: Place | null = null;
  /** By partition and sequence. */
  readonly #failedProbes = new Set<string>();
  /** When the current row of openings began. */
  #closedUntilMs = 0;
  #breakerTimer: Timer | null = null;
  #rateTimer: Timer | null = null;

  constructor(host: AdmissionHost) {
    this.#host = host;
    this.#policy = host.consumer.breaker;
    this.#limit = host.consumer.rateLimit;
    this.#bucket = this.#limit === null ? { tokens: 0, atMs: 0 } : fullBucket(this.#limit, this.#monotonic());
  }

  /** Unstarted deliveries worth holding: by the rate limit, as much as the demand is meant to hold anyway. Null: any number. */
  get ration(): number | null {
    switch (this.#breaker.phase) {
      case "closed":
        return this.#limit === null ? null : Math.max(1, Math.ceil((this.#limit.events * TARGET_MS) / this.#limit.perMs));
      case "open":
        return 0;
      case "half_open":
        return this.#isProbing ? 0 : 1 + this.#failedProbes.size;
      default:
        return this.#breaker.phase satisfies never;
    }
  }

  get isClosed(): boolean {
    return this.#breaker.phase === "closed";
  }

  /**
   * Permission to start up to `wanted` deliveries; what comes of it must be told to {@link started}. With less than that, `onFree`
   * follows once there is more.
   */
  reserve(wanted: number): number {
    if (this.#breaker.phase === "open" || wanted === 0) return 0;
    if (this.#breaker.phase === "half_open" && this.#isProbing) return 0;
    const most = this.#breaker.phase === "half_open" ? 1 : wanted;
    const reserved = this.#takeTokens(most);
    if (this.#breaker.phase === "half_open") this.#isProbing = reserved > 0;
    return reserved;
  }

  /** The same for a batch: all of `wanted`, or none of it before there are tokens for all, or for as many as there can be. */
  reserveAll(wanted: number): number {
    const most = this.#limit === null ? wanted : Math.min(wanted, this.#limit.events);
    if (this.#breaker.phase !== "closed" || most === 0) return this.reserve(most);
    const reserved = this.#takeTokens(most);
    if (reserved === most) return reserved;
    this.#giveTokens(reserved);
    this.#waitFor(most);
    return 0;
  }

  /** To be told of what is started, of several the first, before it runs: while the breaker is half open it is the probe, whenever it was fetched. */
  letThrough(first: Place | undefined): void {
    if (this.#breaker.phase === "half_open") this.#probe ??= first ?? null;
  }

  /** So many of those reserved were started. */
  started(count: number, reserved: number): void {
    this.#giveTokens(reserved - count);
    if (this.#breaker.phase !== "half_open") return;
    if (count > 0)
      this.#host.onRation(this.ration, false); // what else was fetched is not needed
    else if (reserved > 0) this.#endProbe();
  }

  /** One that counted as started was not begun after all. */
  returned(batch: Batch, index: number): void {
    this.#giveTokens(1);
    this.answered(batch, index);
  }

  /** An ack. */
  succeeded(batch: Batch, index: number): void {
    const before = this.#breaker;
    this.#breaker = onSuccess(before, this.#isProbe(batch, index));
    if (before.phase === "closed" || this.#breaker.phase !== "closed") return;
    this.#forgetProbe();
    this.#failedProbes.clear();
    const openMs = Math.round(this.#monotonic() - this.#closedUntilMs);
    this.#host.internals.emit("breaker.closed", { ...this.#names(), openMs });
    this.#host.onRation(this.ration, false);
  }

  /** A failure that would be retried. Whether it is charged: not while the breaker is open, since then it says nothing of the event. */
  failed(batch: Batch, index: number, reason: string): boolean {
    if (this.#policy === null) return true;
    const before = this.#breaker;
    const { random } = this.#host.internals;
    this.#breaker = onFailure(this.#policy, before, this.#isProbe(batch, index), this.#monotonic(), random());
    if (this.#breaker.phase === "open" && this.#breaker !== before) {
      if (before.phase === "half_open") this.#remember(placeOf(batch, index));
      this.#opened(before, reason);
    }
    return before.phase === "closed";
  }

  /** An end that says nothing of what the breaker guards: rejected for good, released by its handler, its lease lost. */
  answered(batch: Batch, index: number): void {
    if (this.#isProbe(batch, index)) this.#endProbe();
  }

  /** Whether this one is not to be the next probe, because it was one and failed. */
  hasFailed(batch: Batch, index: number): boolean {
    return this.#failedProbes.has(placeOf(batch, index));
  }

  /** Whether the next that starts is a probe. */
  get wantsProbe(): boolean {
    return this.#breaker.phase === "half_open" && !this.#isProbing;
  }

  details(): Readonly<Record<string, number | string | null>> {
    const { phase, openedAtMs, waitMs: wait } = this.#breaker;
    const nowMs = this.#monotonic();
    return {
      ...(this.#policy === null
        ? {}
        : { breaker: phase, breakerNextInMs: phase === "open" ? Math.max(0, Math.round(openedAtMs + wait - nowMs)) : null }),
      ...(this.#limit === null ? {} : { rateTokens: Math.floor(refill(this.#limit, this.#bucket, nowMs).tokens) }),
    };
  }

  stop(): void {
    this.#breakerTimer?.cancel();
    this.#rateTimer?.cancel();
  }

  // The breaker

  #opened(before: Breaker, reason: string): void {
    const { waitMs: nextInMs } = this.#breaker;
    this.#forgetProbe();
    if (before.openings === 0) this.#closedUntilMs = this.#monotonic();
    const failures = (this.#policy?.failures ?? 0) + before.openings;
    this.#host.internals.emit("breaker.opened", { ...this.#names(), failures, nextInMs, reason });
    this.#host.onRation(0, true);
    this.#breakerTimer?.cancel();
    this.#breakerTimer = this.#host.internals.clock.schedule(nextInMs, () => this.#halfOpen());
  }

  #halfOpen(): void {
    this.#breaker = onWaited(this.#breaker);
    this.#host.internals.emit("breaker.half_opened", this.#names());
    this.#host.onRation(this.ration, false);
  }

  /** Nothing was learned from it: another may go. */
  #endProbe(): void {
    if (!this.#isProbing) return;
    this.#forgetProbe();
    this.#host.onRation(this.ration, false);
  }

  #isProbe(batch: Batch, index: number): boolean {
    return this.#probe?.batch === batch && this.#probe.index === index;
  }

  #forgetProbe(): void {
    this.#isProbing = false;
    this.#probe = null;
  }

  #remember(place: string): void {
    if (this.#failedProbes.size >= MAX_FAILED_PROBES) this.#failedProbes.clear();
    this.#failedProbes.add(place);
  }

  // The rate

  #takeTokens(wanted: number): number {
    if (this.#limit === null) return wanted;
    this.#bucket = refill(this.#limit, this.#bucket, this.#monotonic());
    const taken = available(this.#bucket, wanted);
    this.#bucket = take(this.#limit, this.#bucket, taken);
    if (taken < wanted) this.#waitFor(1);
    return taken;
  }

  #giveTokens(count: number): void {
    if (this.#limit !== null && count > 0) this.#bucket = take(this.#limit, this.#bucket, -count);
  }

  #waitFor(tokens: number): void {
    if (this.#limit === null) return;
    this.#rateTimer?.cancel();
    const delayMs = Math.ceil(waitMs(this.#limit, this.#bucket, tokens));
    this.#rateTimer = this.#host.internals.clock.schedule(delayMs, () => {
      this.#rateTimer = null;
      this.#host.onFree();
    });
  }

  #names(): { stream: string; group: string; consumerId: string } {
    const { stream, group } = this.#host.consumer;
    return { stream, group, consumerId: this.#host.consumerId };
  }

  #monotonic(): number {
    return this.#host.internals.clock.monotonic();
  }
}

const placeOf = (batch: Batch, index: number): string => `${batch.partition}/${batch.sequenceAt(index)}`;
