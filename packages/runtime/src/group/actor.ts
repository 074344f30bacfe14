/**
 * A group at work: takes one message at a time out of its mailbox, asks `transition` what to do, and carries that out. It decides
 * nothing itself. The parts it holds: the ledger (what is held), the settler and the renewer (the store), a runner (the handlers).
 */
import { type GroupRecord, type Outcome, type Rheo, RheoError, type StaleReason, type Timer } from "@rheo/core";
import { backoffMs, GROUP_MEMORY_MS, internalsOf, isTransient, type RheoInternals } from "@rheo/core/internal";
import { Assignment } from "../assignment/assignment.ts";
import type { ConsumerDefinition } from "../consumer.ts";
import { type Deferred, deferred } from "../deferred.ts";
import type { Logger } from "../handler.ts";
import type { ChildDetails } from "../supervisor/child.ts";
import { waitAtMost } from "../time-limit.ts";
import { Admission } from "./admission.ts";
import type { GroupEffect } from "./effects.ts";
import { HandlerTimes } from "./handler-times.ts";
import { type Batch, HELD, Ledger } from "./ledger.ts";
import type { GroupMessage, GroupTimer } from "./messages.ts";
import { Opening } from "./opening.ts";
import { Renewer } from "./renewer.ts";
import { INTERRUPT_GRACE_MS, type Runner, type RunnerHost } from "./runner.ts";
import { Settler } from "./settler.ts";
import { type GroupState, initialState } from "./state.ts";
import { transition } from "./transition.ts";

export interface GroupActorOptions {
  readonly rheo: Rheo;
  readonly consumer: ConsumerDefinition;
  readonly consumerId: string;
  readonly logger: Logger;
  readonly createRunner: (host: RunnerHost) => Runner;
  /** Called once, when the group cannot go on. */
  readonly onFailure: (error: Error) => void;
}

/** More messages than this at once mean that something posts in a loop; a group posts a few for each slice. */
const MAILBOX_LIMIT = 100_000;
/** Exchanges in a row that neither settled nor fetched, though they were meant to: then the counts are wrong, and a fresh start is due. */
const MAX_EMPTY_EXCHANGES = 10;
/** Bound on giving back what is held when a group fails. */
const FAREWELL_MS = 1_000;

export class GroupActor {
  readonly #options: GroupActorOptions;
  readonly #internals: RheoInternals;
  readonly #consumer: ConsumerDefinition;
  readonly #ledger = new Ledger();
  readonly #opening: Opening;
  readonly #settler: Settler;
  readonly #renewer: Renewer;
  readonly #admission: Admission | null;
  readonly #runner: Runner;
  readonly #timers = new Map<GroupTimer, Timer>();
  /** Null unless the partitions are assigned. */
  #assignment: Assignment | null = null;
  #mailbox: GroupMessage[] = [];
  #isBusy = false;
  #state: GroupState;
  #group: GroupRecord | null = null;
  /** When it was read last, and when somebody last told of anything in its stream, on the monotonic clock. */
  #readAtMs = Number.NEGATIVE_INFINITY;
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #unsubscribe: (() => void) | null = null;
  #failure: Error | null = null;
  #told = false;
  #closing: Promise<void> | null = null;
  /** After a failure: what is held is given back. */
  #farewell: Promise<void> | null = null;
  #draining: Deferred<boolean> | null = null;
  #isStopping = false;
  #emptyExchanges = 0;

  constructor(options: GroupActorOptions) {
    this.#options = options;
    this.#consumer = options.consumer;
    this.#internals = internalsOf(options.rheo);
    const { concurrency, batch, maxDemand, pollMs, breaker, rateLimit } = options.consumer;
    this.#admission = breaker === null && rateLimit === null ? null : new Admission(this.#admissionHost());
    const capacity = concurrency * (batch?.size ?? 1);
    const isAssigned = options.consumer.partitions === "assigned";
    this.#state = initialState({ capacity, maxDemand, pollMs: pollMs ?? POLL_MS }, this.#admission?.ration ?? null, !isAssigned);
    this.#opening = new Opening(options.rheo, options.consumer, options.consumerId);
    this.#settler = new Settler(this.#internals, options.consumer, options.consumerId, this.#ledger, {
      partitions: () => this.#partitions(),
      runLimit: () => (this.#keepsRuns() ? (batch?.size ?? 1) : 1),
    });
    this.#renewer = new Renewer(this.#renewerHost());
    this.#runner = options.createRunner(this.#runnerHost());
  }

  get state(): GroupState {
    return this.#state;
  }

  /** Handlers that may run at once. */
  get slots(): number {
    return this.#consumer.concurrency;
  }

  /** Messages waiting, this moment. */
  get mailbox(): number {
    return this.#mailbox.length;
  }

  /** Deliveries whose settlement failed and is being repeated. */
  get unanswered(): number {
    return this.#settler.unanswered;
  }

  /** What its parts have to tell. */
  partDetails(): ChildDetails {
    return { ...this.#runner.details(), ...this.#admission?.details(), ...this.#assignment?.details() };
  }

  /**
   * Begins. Resolves when the group is running, or has failed, or waits for a store that cannot be reached: then it goes on
   * trying by itself.
   */
  async start(): Promise<void> {
    const tried = deferred();
    void this.#prepare(() => tried.resolve()).then(
      () => tried.resolve(),
      (cause: unknown) => {
        this.#fail(asError(cause));
        tried.resolve();
      },
    );
    await tried.promise;
  }

  pause(): void {
    this.#post({ type: "pause" });
  }

  resume(): void {
    if (!this.#isStopping) this.#post({ type: "resume" });
  }

  /**
   * Resolves when nothing is held any more, at the latest a moment after `timeoutMs`: with true, or with false when a `resume`
   * came first.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    this.#draining ??= deferred<boolean>();
    const { promise } = this.#draining;
    if (this.#isAlive()) this.#post({ type: "drain", timeoutMs });
    else this.#draining.resolve(true);
    return await promise;
  }

  /** Drains, then lets go of everything. Idempotent; not to be taken back. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    await this.drain(timeoutMs);
    await this.#farewell;
    await this.#close();
  }

  // Starting

  async #prepare(onWait: () => void): Promise<void> {
    await this.#runner.start();
    const opened = this.#isAlive() ? await this.#opening.run(onWait) : null;
    if (opened === null || !this.#isAlive()) return;
    this.#group = opened.group;
    const { stream } = this.#consumer;
    this.#unsubscribe = this.#internals.backend.subscribe((wake) => {
      if (wake.stream === null || wake.stream === stream) {
        this.#heardAtMs = this.#internals.clock.monotonic();
        this.#wake();
      } else if (wake.stream === this.#assignment?.stream) this.#assignment.poke();
    });
    this.#renewer.start();
    if (this.#consumer.partitions === "assigned") this.#assignment = new Assignment(this.#assignmentHost(opened.partitions));
    this.#post({ type: "ready" });
    if (this.#isAlive()) this.#assignment?.start();
  }

  // Mailbox

  /** Wake-ups may come with each append: one unanswered is enough. */
  #wake(): void {
    if (!this.#state.woken || this.#state.wait === "poll") this.#post({ type: "wakeup" });
  }

  #post(message: GroupMessage): void {
    this.#mailbox.push(message);
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let at = 0; at < this.#mailbox.length; at++) {
        if (at === MAILBOX_LIMIT) throw new RangeError(`The mailbox took more than ${MAILBOX_LIMIT} messages in one turn.`);
        const next = this.#mailbox[at];
        if (next !== undefined && this.#isAlive()) this.#handle(next);
      }
    } catch (cause) {
      this.#fail(asError(cause));
    } finally {
      this.#mailbox = [];
      this.#isBusy = false;
    }
  }

  #handle(message: GroupMessage): void {
    const [state, effects] = transition(this.#state, message);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: GroupEffect): void {
    switch (effect.type) {
      case "exchange":
        this.#runner.giveWay();
        return void this.#exchange(effect.fetch);
      case "run":
        this.#choosePlausibleProbe();
        return this.#runner.pump();
      case "release_unstarted":
        if (effect.recall) this.#runner.recall();
        return this.#release(Number.POSITIVE_INFINITY, false);
      case "interrupt":
        return this.#runner.interrupt();
      case "arm":
        return this.#arm(effect.timer, this.#spread(effect.delayMs, effect.jitter));
      case "disarm":
        return this.#disarm(effect.timer);
      case "tell":
        return this.#tell(effect.what);
      case "finish":
        this.#finish();
        return void this.#close();
      default:
        return effect satisfies never;
    }
  }

  #release(beforeMs: number, overdue: boolean): void {
    const count = this.#ledger.releaseHeld(beforeMs);
    if (count > 0) this.#post({ type: "released", count, overdue });
  }

  /** Of what was fetched for a probe, those that were one and failed go back, unless there is nothing else. */
  #choosePlausibleProbe(): void {
    const admission = this.#admission;
    // of a run that has to keep its order nothing can be left out
    if (admission === null || !admission.wantsProbe || this.#keepsRuns()) return;
    const hasFailed = (batch: Batch, index: number): boolean => admission.hasFailed(batch, index);
    if (!this.#ledger.holds((batch, index) => !hasFailed(batch, index))) return;
    const count = this.#ledger.releaseWhere(hasFailed);
    if (count === 0) return;
    this.#post({ type: "ration", ration: 1, recall: false }); // first, or those that went back would be fetched again
    this.#post({ type: "released", count, overdue: false });
  }

  #arm(timer: GroupTimer, delayMs: number): void {
    this.#disarm(timer);
    const pending = this.#internals.clock.schedule(delayMs, () => {
      this.#timers.delete(timer);
      this.#post({ type: "tick", timer });
    });
    this.#timers.set(timer, pending);
  }

  #disarm(timer: GroupTimer): void {
    this.#timers.get(timer)?.cancel();
    this.#timers.delete(timer);
  }

  /** Rare waits end at instants that the groups of a process share, so that it wakes up once for many. */
  #spread(delayMs: number, jitter: number): number {
    if (jitter === 0) return delayMs;
    const spreadMs = delayMs * (1 + jitter * (2 * this.#internals.random() - 1));
    if (delayMs < SHARED_FROM_MS) return spreadMs;
    const nowMs = this.#internals.clock.monotonic();
    return Math.round((nowMs + spreadMs) / SHARED_EVERY_MS) * SHARED_EVERY_MS - nowMs;
  }

  #tell(what: "started" | "paused" | "resumed" | "draining" | "stopped"): void {
    if (what === "started") this.#told = true;
    if (what === "resumed") this.#endDrain();
    this.#assignment?.setActive(what === "started" || what === "resumed");
    if (what === "stopped" && !this.#told) return; // it was never told to have started
    this.#internals.emit(`consumer.${what}`, this.#names());
    if (what === "stopped") this.#told = false;
  }

  /** Taken back. */
  #endDrain(): void {
    this.#draining?.resolve(false);
    this.#draining = null;
  }

  // The store

  async #exchange(fetch: number): Promise<void> {
    try {
      await this.#renewer.wokeUp();
      const { granted, settled, more } = await this.#settler.exchange(fetch, this.#leaseMs());
      if (!this.#isAlive()) return await this.#giveBack(); // it came too late for us
      const foreign = this.#releaseForeign();
      this.#emptyExchanges = fetch === 0 && settled === 0 ? this.#emptyExchanges + 1 : 0;
      if (this.#emptyExchanges > MAX_EMPTY_EXCHANGES) throw new Error("The group counts outcomes that its ledger does not hold.");
      const longestPollMs = this.#longestPollMs();
      this.#post({
        type: "fetched",
        asked: fetch,
        granted,
        settled,
        more,
        longestPollMs,
        atMs: this.#internals.clock.monotonic(),
      });
      if (foreign > 0) this.#post({ type: "released", count: foreign, overdue: false });
      this.#assignment?.settled();
    } catch (cause) {
      this.#exchangeFailed(asError(cause), fetch);
    }
  }

  #exchangeFailed(error: Error, fetch: number): void {
    if (!isTransient(error)) return this.#fail(error);
    this.#post({ type: "fetch_failed" });
    const { failures } = this.#state;
    const count = this.#settler.unanswered;
    if (count > 0) this.#internals.emit("settle.failed", { ...this.#names(), count, failures, error });
    if (fetch > 0)
      this.#internals.emit("fetch.failed", { ...this.#names(), failures, nextInMs: Math.round(backoffMs(failures)), error });
  }

  // The partitions

  #partitions(): readonly number[] | null {
    const { partitions } = this.#consumer;
    return partitions === "assigned" ? (this.#assignment?.held ?? []) : partitions;
  }

  #assignmentHost(partitions: number): ConstructorParameters<typeof Assignment>[0] {
    const { stream, group } = this.#consumer;
    return {
      internals: this.#internals,
      stream,
      group,
      consumerId: this.#options.consumerId,
      partitions,
      leaseMs: () => this.#leaseMs(),
      isFree: (partition) => !this.#ledger.hasOf(partition) && !this.#settler.isAskingFor(partition),
      onChange: () => this.#partitionsChanged(),
      onFailure: (error) => this.#fail(error),
    };
  }

  #partitionsChanged(): void {
    if (!this.#isAlive()) return;
    const held = new Set(this.#assignment?.held);
    if ([...this.#ledger.batches].some(({ partition }) => !held.has(partition))) this.#runner.recall();
    const count = this.#releaseForeign();
    if (count > 0) this.#post({ type: "released", count, overdue: false });
    this.#post({ type: "partitions", any: held.size > 0 });
  }

  /** Turns what has not begun of partitions that are not, or no longer, this member's into releases. How many. */
  #releaseForeign(): number {
    if (this.#assignment === null) return 0;
    const held = new Set(this.#assignment.held);
    return this.#ledger.releaseWhere(({ partition }) => !held.has(partition));
  }

  /** Where every wake-up comes through, polls find only what time brings, and dead members: so they may come rarely, for the length of a lease. */
  #longestPollMs(): number {
    const { pollMs } = this.#consumer;
    if (pollMs !== null || this.#internals.backend.hearsAll?.() !== true) return pollMs ?? POLL_MS;
    return Math.min(LONGEST_POLL_MS, this.#leaseMs() * POLL_SHARE);
  }

  #leaseMs(): number {
    return this.#consumer.leaseMs ?? this.#group?.options.leaseMs ?? FALLBACK_LEASE_MS;
  }

  #renewerHost(): ConstructorParameters<typeof Renewer>[0] {
    return {
      internals: this.#internals,
      consumer: this.#consumer,
      consumerId: this.#options.consumerId,
      ledger: this.#ledger,
      leaseMs: () => this.#leaseMs(),
      lost: (batch, index, why) => this.#lost(batch, index, why),
      renewed: (failures) => this.#post({ type: "renewed", failures }),
      gaveUp: () => this.#gaveUp(),
      interval: () => this.#interval(),
    };
  }

  /** With `expired` it may still be ours: the handler is told to end, and its ack is offered to the store, which decides (F3). */
  #lost(batch: Batch, index: number, why: StaleReason | "expired"): void {
    const mayBeOurs = why === "expired" && batch.states[index] !== HELD;
    if (mayBeOurs) this.#ledger.interrupt(batch, index);
    const place = mayBeOurs ? "running" : this.#ledger.lose(batch, index);
    if (place === "done") return;
    if (place !== "running") {
      return this.#post({ type: "lost", unstarted: place === "unstarted" ? 1 : 0, unsettled: place === "unsettled" ? 1 : 0 });
    }
    const sequence = batch.sequenceAt(index);
    this.#runner.abort(
      batch,
      index,
      new RheoError("stale_lease", `The lease on ${this.#consumer.stream}/${batch.partition}@${sequence} is lost: ${why}.`),
    );
    this.#internals.emit("lease.lost", { ...this.#names(), partition: batch.partition, sequence, token: batch.token, why });
  }

  /** If the store answers all but renewals, no lease can be kept here: a fresh start may help, and shows (B43). */
  #gaveUp(): void {
    if (this.#state.failures > 0) return;
    this.#fail(
      new RheoError(
        "unavailable",
        `Renewals of ${this.#consumer.stream}/${this.#consumer.group} kept failing until the leases ran out.`,
      ),
    );
  }

  /**
   * Every renewal: leases that wait for a slot for over half their length go to others, and changed group options are seen. A change wakes
   * everybody up, so that where wake-ups come through, a group of whose stream nobody told anything is not read again.
   */
  #interval(): void {
    const nowMs = this.#internals.clock.monotonic();
    this.#release(nowMs - this.#leaseMs() / 2, true);
    // what was read may have been remembered from before somebody told
    const isKnown = this.#heardAtMs < this.#readAtMs - GROUP_MEMORY_MS;
    if (isKnown && this.#internals.backend.hearsAll?.() === true) return;
    this.#internals.group(this.#consumer.stream, this.#consumer.group).then(
      (group) => {
        this.#group = group;
        this.#readAtMs = nowMs;
      },
      () => undefined, // the next exchange says what is wrong
    );
  }

  // The handlers

  #admissionHost(): ConstructorParameters<typeof Admission>[0] {
    return {
      internals: this.#internals,
      consumer: this.#consumer,
      consumerId: this.#options.consumerId,
      onRation: (ration, recall) => this.#post({ type: "ration", ration, recall }),
      onFree: () => this.#runner.pump(),
    };
  }

  #runnerHost(): RunnerHost {
    return {
      internals: this.#internals,
      consumer: this.#consumer,
      logger: this.#options.logger,
      ledger: this.#ledger,
      admission: this.#admission,
      times: new HandlerTimes(this.#internals, this.#names()),
      ordering: () => this.#knownGroup().options.ordering,
      keepsRuns: () => this.#keepsRuns(),
      resolve: (outcome: Outcome, attempt) => this.#internals.resolveOutcome(outcome, this.#knownGroup(), attempt),
      mayStart: (batch) => this.#renewer.isFresh(batch),
      started: (count) => this.#post({ type: "started", count }),
      ended: (count, dropped) => this.#post({ type: "outcome", count, dropped, atMs: this.#internals.clock.monotonic() }),
      returned: (count, dropped) => this.#post({ type: "returned", count, dropped }),
      released: (count) => this.#post({ type: "released", count, overdue: false }),
      renew: () => void this.#renewer.renewNow(),
      fail: (error) => this.#fail(error),
    };
  }

  #keepsRuns(): boolean {
    const by = this.#consumer.batch?.by ?? null;
    return by !== null && by === this.#group?.options.ordering;
  }

  #knownGroup(): GroupRecord {
    if (this.#group === null) throw new Error("A group has no outcomes before it has started.");
    return this.#group;
  }

  // Ending

  #isAlive(): boolean {
    return this.#failure === null && this.#state.phase !== "stopped";
  }

  #finish(): void {
    for (const timer of this.#timers.keys()) this.#disarm(timer);
    this.#opening.cancel();
    this.#renewer.stop();
    this.#admission?.stop();
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#draining?.resolve(true);
  }

  #fail(error: Error): void {
    if (!this.#isAlive()) return;
    this.#failure = error;
    this.#state = { ...this.#state, phase: "stopped" };
    this.#tell("stopped");
    this.#finish();
    this.#farewell = this.#part();
    void this.#farewell.then(() => this.#options.onFailure(error));
  }

  /** What is held goes back uncharged, as far as the store answers; what runs is told to end. */
  async #part(): Promise<void> {
    this.#runner.interrupt();
    if (this.#state.running > 0) await waitAtMost(this.#internals.clock, INTERRUPT_GRACE_MS, new Promise(() => undefined));
    await this.#close();
    await this.#giveBack();
  }

  /** Everything that has no outcome, as far as the store answers; otherwise the leases expire. */
  async #giveBack(): Promise<void> {
    if (this.#ledger.isEmpty) return;
    this.#ledger.releaseAll();
    const exchange = this.#settler.exchange(0, this.#leaseMs()).catch(() => undefined);
    await waitAtMost(this.#internals.clock, FAREWELL_MS, exchange);
  }

  #close(): Promise<void> {
    this.#closing ??= Promise.all([this.#runner.stop(), this.#assignment?.stop()]).then(() => undefined);
    return this.#closing;
  }

  #names(): { stream: string; group: string; consumerId: string } {
    return { stream: this.#consumer.stream, group: this.#consumer.group, consumerId: this.#options.consumerId };
  }
}

/** Before the group is known, which no lease precedes. */
const FALLBACK_LEASE_MS = 30_000;
/** Between two polls of an idle group, unless its consumer says otherwise. */
const POLL_MS = 200;
/** At most that, and at most that share of a lease, once it has been idle for long. */
const LONGEST_POLL_MS = 3_000;
const POLL_SHARE = 1 / 10;
/** Waits of at least so long end at multiples of that, of the monotonic clock: in another process it began at another time. */
const SHARED_FROM_MS = 1_000;
const SHARED_EVERY_MS = 250;

const asError = (cause: unknown): Error => (cause instanceof Error ? cause : new Error(String(cause)));
