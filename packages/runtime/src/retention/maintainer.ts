/**
 * Sweeps a stream by its policy, if no other member does. In each beat it keeps or tries to take the leadership; as leader it sweeps
 * when that is due, while beats go on. A leader that cannot be sure any more to be one ends its sweep. What it would do too late is
 * harmless: it removes only what is due and what it has itself archived.
 */
import { RheoError, type Timer } from "@rheo/core";
import { backoffMs, isTransient, type RheoInternals, spread } from "@rheo/core/internal";
import { waitAtMost } from "../time-limit.ts";
import { ByteMeter } from "./byte-meter.ts";
import { Leadership, type Term } from "./leadership.ts";
import type { RetentionPolicy } from "./policy.ts";
import { type SweepReport, sweep } from "./sweep.ts";

export interface MaintainerOptions {
  readonly internals: RheoInternals;
  readonly policy: RetentionPolicy;
  readonly consumerId: string;
  /** It cannot go on. */
  onFailure(error: Error): void;
}

/** What people and tests see. */
export interface MaintainerStatus {
  readonly leading: boolean;
  readonly sweeping: boolean;
  readonly removed: number;
  readonly archived: number;
  readonly heldBack: number;
  readonly failures: number;
  readonly lastSweptAtMs: number | null;
}

/** Beats per lease: two may fail before it matters. */
const BEATS_PER_LEASE = 4;
const JITTER = 0.1;
/** The margin before the local deadline, as a share of the lease. */
const MARGIN_SHARE = 0.1;
/** Bound on giving the leadership back at the end. */
const FAREWELL_MS = 1_000;

interface Sweeping {
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

export class Maintainer {
  readonly #options: MaintainerOptions;
  readonly #leadership: Leadership;
  #meter = new ByteMeter();
  #term: Term | null = null;
  /** Runs out when the lease surely has, less a margin. */
  #expiry: Timer | null = null;
  #sweeping: Sweeping | null = null;
  #nextSweepMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  #beat: Promise<void> | null = null;
  #isPaused = false;
  #isStopped = false;
  #failures = 0;
  #removed = 0;
  #archived = 0;
  #heldBack = 0;
  #lastSweptAtMs: number | null = null;

  constructor(options: MaintainerOptions) {
    this.#options = options;
    const { internals, policy, consumerId } = options;
    this.#leadership = new Leadership(internals.backend, { ...policy, consumerId });
  }

  get status(): MaintainerStatus {
    return {
      leading: this.#term !== null,
      sweeping: this.#sweeping !== null,
      removed: this.#removed,
      archived: this.#archived,
      heldBack: this.#heldBack,
      failures: this.#failures,
      lastSweptAtMs: this.#lastSweptAtMs,
    };
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  start(): void {
    this.#begin();
  }

  /** One that is paused ends its sweep, and leaves the place to another. */
  setPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused || this.#isStopped) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#sweeping?.controller.abort(new RheoError("aborted", "The maintainer was paused."));
    if (this.#beat === null) this.#begin();
  }

  /** Ends the sweep and gives the place up, as far as the store and the archive answer. Idempotent; bounded. */
  async stop(timeoutMs: number): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#expiry?.cancel();
    this.#sweeping?.controller.abort(new RheoError("aborted", "The supervisor stops."));
    const { clock } = this.#options.internals;
    await waitAtMost(clock, timeoutMs, Promise.resolve(this.#sweeping?.done));
    const farewell = (async () => {
      await this.#beat;
      await this.#leadership.resign();
    })().catch(() => undefined); // then the lease runs out
    await waitAtMost(clock, FAREWELL_MS, farewell);
    this.#term = null;
  }

  // Beats

  #begin(): void {
    this.#timer?.cancel();
    this.#beat = this.#run().finally(() => {
      this.#beat = null;
      if (!this.#isStopped) this.#beginLater();
    });
  }

  /** In a beat, or earlier when a sweep is due. */
  #beginLater(): void {
    this.#timer?.cancel();
    const { clock, random } = this.#options.internals;
    const beatMs = spread(this.#options.policy.leaseMs / BEATS_PER_LEASE, JITTER, random());
    const isWaiting = this.#term !== null && this.#sweeping === null && !this.#isPaused;
    const dueMs = isWaiting ? this.#nextSweepMs - clock.monotonic() : Number.POSITIVE_INFINITY;
    this.#timer = clock.schedule(Math.max(1, Math.ceil(Math.min(beatMs, dueMs))), () => this.#begin());
  }

  async #run(): Promise<void> {
    try {
      if (this.#isPaused) await this.#resign();
      else if (this.#term !== null || this.#sweeping === null) await this.#confirm(); // one that is not done with its last term takes no other
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      if (this.#isStopped) return;
      if (!isTransient(error)) return this.#fail(error);
    }
    if (this.#term !== null) this.#sweepIfDue(this.#term);
  }

  async #confirm(): Promise<void> {
    const { internals, policy, consumerId } = this.#options;
    const askedAtMs = internals.clock.monotonic();
    const term = await this.#leadership.confirm();
    if (term === null) return this.#depose();
    const isNew = this.#term === null;
    this.#term = term;
    const leftMs = askedAtMs + policy.leaseMs * (1 - MARGIN_SHARE) - internals.clock.monotonic();
    this.#expiry?.cancel();
    this.#expiry = internals.clock.schedule(Math.max(0, Math.ceil(leftMs)), () => this.#depose());
    if (isNew) internals.emit("retention.elected", { stream: policy.stream, consumerId, token: term.token });
  }

  async #resign(): Promise<void> {
    this.#term = null;
    this.#expiry?.cancel();
    await this.#sweeping?.done;
    await this.#leadership.resign();
  }

  /** Told once; its successor starts anew. */
  #fail(error: Error): void {
    this.#depose();
    void this.stop(0);
    this.#options.onFailure(error);
  }

  #depose(): void {
    if (this.#term === null) return;
    const { internals, policy, consumerId } = this.#options;
    this.#term = null;
    this.#leadership.lose();
    this.#sweeping?.controller.abort(new RheoError("stale_lease", "Another member may sweep this stream now."));
    internals.emit("retention.deposed", { stream: policy.stream, consumerId });
  }

  // Sweeps

  #sweepIfDue(term: Term): void {
    const nowMs = this.#options.internals.clock.monotonic();
    if (this.#sweeping !== null || this.#isStopped || nowMs < this.#nextSweepMs) return;
    this.#nextSweepMs = nowMs + this.#options.policy.everyMs;
    const controller = new AbortController();
    const done = this.#sweep(term, controller.signal, nowMs).finally(() => {
      this.#sweeping = null;
      if (this.#beat === null && !this.#isStopped) this.#beginLater(); // the next may be due before the next beat
    });
    this.#sweeping = { controller, done };
  }

  async #sweep(term: Term, signal: AbortSignal, startedMs: number): Promise<void> {
    const { internals, policy, consumerId } = this.#options;
    const context = { signal, token: term.token };
    try {
      const { backend, emit } = internals;
      const report = await sweep({ backend, emit, policy, meter: this.#meter, nowMs: term.nowMs, context });
      this.#swept(term, report);
      const tookMs = internals.clock.monotonic() - startedMs;
      emit("retention.swept", { stream: policy.stream, consumerId, ...report, tookMs });
    } catch (cause) {
      if (signal.aborted) return; // it was told to end; that it did so by an error is no failure
      this.#failed(cause instanceof Error ? cause : new Error(String(cause)));
    }
  }

  #swept(term: Term, { removed, archived, heldBack }: SweepReport): void {
    this.#failures = 0;
    this.#removed += removed;
    this.#archived += archived;
    this.#heldBack = heldBack;
    this.#lastSweptAtMs = term.nowMs;
  }

  #failed(error: Error): void {
    const { internals, policy, consumerId } = this.#options;
    this.#meter = new ByteMeter();
    if (RheoError.is(error, "stream_not_found")) return; // there is nothing to sweep yet, or any more
    this.#failures += 1;
    const nextInMs = Math.min(policy.everyMs, backoffMs(this.#failures));
    this.#nextSweepMs = internals.clock.monotonic() + nextInMs;
    internals.emit("retention.failed", { stream: policy.stream, consumerId, failures: this.#failures, nextInMs, error });
  }
}
