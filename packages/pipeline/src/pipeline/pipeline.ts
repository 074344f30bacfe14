/** Starts, pauses, drains and ends a pipeline, and tells how it is. What flows through it is in `flow.ts`. */
import { type Json, type Rheo, RheoError, type SettleResult, type Timer } from "@rheo/core";
import { decoderOf, internalsOf, LIMITS, parseNumber, parseOptions, type RheoInternals } from "@rheo/core/internal";
import { type Deferred, deferred } from "../deferred.ts";
import { Intake, type IntakeHost } from "../intake/intake.ts";
import { Flow } from "./flow.ts";
import type { OwnedMessage } from "./message.ts";
import { type PipelineOptions, type PipelineSettings, parsePipelineOptions } from "./pipeline-options.ts";

/**
 * - `starting`: waits for its stream and group
 * - `running`
 * - `paused`: begins nothing; what has begun goes on to its end
 * - `draining`: as paused, and stops when nothing is left
 * - `stopped`: for good
 * - `failed`: for good, since it could not go on
 */
export type PipelineState = "starting" | "running" | "paused" | "draining" | "stopped" | "failed";

/** How a pipeline is at this moment, and what came of its messages since it began. */
export interface PipelineStats {
  readonly state: PipelineState;
  /** Leases held: all of the following, and those that are not settled yet. At most `maxDemand`. */
  readonly held: number;
  /** Messages that have not begun. */
  readonly queued: number;
  /** Messages in processors. */
  readonly processing: number;
  /** By name: messages that wait in batches, and batches that run. */
  readonly batchers: Readonly<Record<string, { readonly waiting: number; readonly running: number }>>;
  /** As the store confirmed. */
  readonly acked: number;
  readonly retrying: number;
  readonly dead: number;
  readonly released: number;
  /** Settled in vain, since the lease was no longer ours; and leases known to be lost before. */
  readonly stale: number;
  readonly lost: number;
}

/** A pipeline at work. */
export interface RunningPipeline extends AsyncDisposable {
  readonly state: PipelineState;
  /** Name of the member that holds the leases. */
  readonly consumerId: string;
  /**
   * Resolves with the error when the pipeline cannot go on, such as when its group is not there; stays pending otherwise. Never
   * rejects. Without `onError`, such an end is also a process warning.
   */
  readonly failure: Promise<Error>;
  /** Begins nothing more, and gives back what has not begun. What has begun goes on: through its processor, batch and settlement. */
  pause(): void;
  /** Ends a pause, or a drain that is not complete. */
  resume(): void;
  /**
   * Begins nothing more, gives back what has not begun, hands over all batches, and settles. What still runs after `timeoutMs` (default
   * 10,000) is told to end by its signal, and given back uncharged. Resolves with true when nothing is held and the pipeline has stopped, with
   * false when a `resume` came first.
   * @throws invalid_option
   */
  drain(options?: { readonly timeoutMs?: number }): Promise<boolean>;
  /** Drains, not to be taken back. Idempotent; bounded even when the store is away or a handler never ends. @throws invalid_option */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>;
  /** How much flows, waits and failed, now. */
  stats(): PipelineStats;
}

/**
 * Runs the deliveries of a group through processors and batchers, and settles them by what comes of each. Starts at once. A store
 * that is away is waited for.
 * @throws invalid_option, invalid_name
 */
export const pipeline = <Payload = Json, Data = Payload>(options: PipelineOptions<Payload, Data>): RunningPipeline => {
  const settings = parsePipelineOptions(options.rheo, options);
  const running = new Running(options.rheo, settings, decoderOf(options.stream));
  running.start();
  return running;
};

/** Outcomes wait at most this long for others to share the round trip, in ms. */
const SETTLE_MS = 5;
const DRAIN_TIMEOUT_MS = 10_000;
/** After a drain has run out of time, handlers have this long to heed their signal before they are given up, in ms. */
const INTERRUPT_GRACE_MS = 100;

class Running implements RunningPipeline {
  readonly #internals: RheoInternals;
  readonly #settings: PipelineSettings;
  readonly #intake: Intake<OwnedMessage>;
  readonly #flow: Flow;
  readonly #failure = deferred<Error>();
  readonly #counts = { acked: 0, retrying: 0, dead: 0, pending: 0, stale: 0, lost: 0 };
  #state: PipelineState = "starting";
  /** Whether the group has been met. */
  #isOpen = false;
  #isStopping = false;
  #isInterrupted = false;
  #draining: Deferred<boolean> | null = null;
  #deadline: { readonly atMs: number; readonly timer: Timer } | null = null;

  constructor(rheo: Rheo, settings: PipelineSettings, decode: ReturnType<typeof decoderOf>) {
    this.#internals = internalsOf(rheo);
    this.#settings = settings;
    this.#intake = new Intake<OwnedMessage>(rheo, settings.member, SETTLE_MS, this.#intakeHost());
    this.#flow = new Flow(rheo, settings, { intake: this.#intake, decode, calmed: () => this.#stopIfDrained() });
  }

  start(): void {
    this.#intake.start();
  }

  get state(): PipelineState {
    return this.#state;
  }

  get consumerId(): string {
    return this.#settings.member.consumerId;
  }

  get failure(): Promise<Error> {
    return this.#failure.promise;
  }

  pause(): void {
    if (this.#state !== "running" && this.#state !== "starting") return;
    this.#state = "paused";
    this.#close(false);
    if (this.#isOpen) this.#tell("paused");
  }

  resume(): void {
    if (this.#isStopping || this.#isInterrupted || (this.#state !== "paused" && this.#state !== "draining")) return;
    this.#state = this.#isOpen ? "running" : "starting";
    this.#deadline?.timer.cancel();
    this.#deadline = null;
    this.#draining?.resolve(false);
    this.#draining = null;
    if (this.#isOpen) this.#tell("resumed");
    this.#flow.open();
    this.#intake.accept(true);
  }

  async drain(options?: { readonly timeoutMs?: number }): Promise<boolean> {
    return await this.#drain(parseTimeout("drain", options));
  }

  async stop(options?: { readonly timeoutMs?: number }): Promise<void> {
    const timeoutMs = parseTimeout("stop", options);
    this.#isStopping = true;
    await this.#drain(timeoutMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  stats(): PipelineStats {
    const { pending: released, ...counts } = this.#counts;
    const batchers = [...this.#flow.batchers].map(([name, { waiting, running }]) => [name, { waiting, running }] as const);
    return {
      state: this.#state,
      held: this.#intake.held,
      queued: this.#flow.queued,
      processing: this.#flow.processing,
      batchers: Object.fromEntries(batchers),
      ...counts,
      released,
    };
  }

  // Draining

  #drain(timeoutMs: number): Promise<boolean> {
    if (this.#state === "stopped" || this.#state === "failed") return this.#intake.closed.then(() => true);
    this.#draining ??= deferred<boolean>();
    const { promise } = this.#draining;
    this.#endBy(timeoutMs);
    if (this.#state !== "draining") {
      this.#state = "draining";
      if (this.#isOpen) this.#tell("draining");
      this.#close(true);
    }
    return promise;
  }

  /** First nothing more is fetched, so that what goes back does not come again. */
  #close(drain: boolean): void {
    this.#intake.accept(false);
    this.#flow.close(drain);
    this.#intake.pump();
  }

  /** A second drain may only bring the end forward. */
  #endBy(timeoutMs: number): void {
    const { clock } = this.#internals;
    const atMs = clock.monotonic() + timeoutMs;
    if (this.#isInterrupted || (this.#deadline !== null && this.#deadline.atMs <= atMs)) return;
    this.#deadline?.timer.cancel();
    this.#deadline = { atMs, timer: clock.schedule(timeoutMs, () => this.#interrupt()) };
  }

  /** Time is up: handlers are told to end, and given up a moment later. */
  #interrupt(): void {
    this.#isInterrupted = true;
    const { stream, group } = this.#settings.member;
    this.#flow.interrupt(new RheoError("draining", `The pipeline of ${stream}/${group} stops: the time for its drain is over.`));
    const timer = this.#internals.clock.schedule(INTERRUPT_GRACE_MS, () => this.#end("stopped"));
    this.#deadline = { atMs: 0, timer };
  }

  #stopIfDrained(): void {
    if (this.#state === "draining" && this.#intake.isEmpty && this.#flow.isCalm) this.#end("stopped");
  }

  #end(state: "stopped" | "failed"): void {
    if (this.#state === "stopped" || this.#state === "failed") return;
    this.#state = state;
    this.#deadline?.timer.cancel();
    this.#flow.stop();
    void this.#intake.close().then(() => this.#draining?.resolve(true));
  }

  #fail(error: Error): void {
    const { stream, group, onError } = this.#settings.member;
    this.#end("failed");
    this.#failure.resolve(error);
    if (onError === null) process.emitWarning(`The pipeline of ${stream}/${group} cannot go on: ${error.message}`, "RheoWarning");
  }

  // The intake

  #intakeHost(): IntakeHost<OwnedMessage> {
    return {
      opened: () => this.#opened(),
      arrived: (deliveries) => this.#flow.arrived(deliveries),
      settled: (_, result) => this.#count(result),
      unanswered: () => undefined,
      lost: ({ item, sequence }, why) => {
        this.#counts.lost += 1;
        item?.abort(new RheoError("stale_lease", `The lease on ${this.#settings.member.stream}@${sequence} is lost: ${why}.`));
      },
      gaveBack: ({ item }) => item?.abort(new RheoError("aborted", "The lease was given back: the pipeline has ended.")),
      refreshed: () => this.#flow.pump(),
      isHungry: () => this.#flow.isHungry,
      ration: () => this.#flow.ration,
      emptied: () => this.#stopIfDrained(),
      ended: (error) => (error === null ? this.#end("stopped") : this.#fail(error)),
    };
  }

  #opened(): void {
    this.#isOpen = true;
    if (this.#state === "starting") this.#state = "running";
    else if (this.#state === "paused") this.#tell("paused");
  }

  #count({ state }: SettleResult): void {
    this.#counts[state] += 1;
  }

  #tell(what: "paused" | "resumed" | "draining"): void {
    const { stream, group, consumerId } = this.#settings.member;
    this.#internals.emit(`consumer.${what}`, { stream, group, consumerId });
  }
}

const parseTimeout = (what: string, options: unknown): number => {
  const { timeoutMs } = parseOptions(what, options, ["timeoutMs"]);
  return parseNumber(`${what}.timeoutMs`, timeoutMs, { min: 0, max: LIMITS.durationMs, fallback: DRAIN_TIMEOUT_MS });
};
