/**
 * Leases in, outcomes out: the one place that talks with the store. A round trip carries all outcomes there are and asks for what
 * the demand leaves, in one step.
 *
 * What holds at any time: at most one exchange is in flight; what is held never exceeds `maxDemand`; after a failed exchange nothing
 * is sent before the back-off ends, and then the very same settlements first (F7); once closed, nothing is left armed.
 */
import {
  type ExchangeAnswer,
  type ExchangeRequest,
  type GroupRecord,
  type Outcome,
  type Rheo,
  RheoError,
  type SettleOutcome,
  type SettleResult,
} from "@rheo/core";
import { failureText, internalsOf, isTransient, LIMITS, type RheoInternals } from "@rheo/core/internal";
import { deferred } from "../deferred.ts";
import { nextTurn } from "../turns.ts";
import { findGroup } from "./find-group.ts";
import { type Delivery, Holding, type LossReason, type Settling } from "./holding.ts";
import type { IntakeOptions } from "./options.ts";
import { Pace } from "./pace.ts";
import { type PartingHost, part } from "./part.ts";
import { Renewer } from "./renewer.ts";
import { asError, pollWaitMs, retryWaitMs } from "./retrying.ts";

export interface IntakeHost<Item> {
  /** In the order in which they are to be begun. */
  arrived(deliveries: readonly Delivery<Item>[]): void;
  /** The store has answered. */
  settled(delivery: Delivery<Item>, result: SettleResult): void;
  /** Its answer is not to be had any more. */
  unanswered(delivery: Delivery<Item>, error: Error): void;
  /** A delivery is no longer ours; with `expired`, as far as we know. */
  lost(delivery: Delivery<Item>, why: LossReason): void;
  /** Given back while somebody worked on it. */
  gaveBack(delivery: Delivery<Item>): void;
  /** Leases are fresh: what was held up by {@link Intake.isFresh} may go on. */
  refreshed(): void;
  /** The group has been met. */
  opened(): void;
  /** Whether somebody waits for a delivery. */
  isHungry(): boolean;
  /** How many more are worth holding. */
  ration(): number;
  /** Nothing is held, and nothing is fetched. */
  emptied(): void;
  /** It cannot go on; what was held has been given back as far as possible. Null: the instance was closed. */
  ended(error: Error | null): void;
}

/** Before the group is known, which no lease precedes. */
const FALLBACK_LEASE_MS = 30_000;
const ACK: SettleOutcome = Object.freeze({ kind: "ack" });
const RELEASE: SettleOutcome = Object.freeze({ kind: "release" });

export class Intake<Item> {
  readonly #internals: RheoInternals;
  readonly #rheo: Rheo;
  readonly #options: IntakeOptions;
  readonly #host: IntakeHost<Item>;
  readonly #pace: Pace;
  readonly #holding = new Holding<Item>();
  readonly #renewer: Renewer<Item>;
  readonly #closed = deferred();
  #phase: "new" | "opening" | "open" | "closing" | "closed" = "new";
  #group: GroupRecord | null = null;
  #isAccepting = true;
  /** The one round trip in flight. */
  #exchange: Promise<void> | null = null;
  /** Exchanges failed in a row. */
  #failures = 0;
  #unsubscribe: (() => void) | null = null;

  /** @param settleMs - outcomes wait at most this long for others to share the round trip; 0: for those of the same turn alone */
  constructor(rheo: Rheo, options: IntakeOptions, settleMs: number, host: IntakeHost<Item>) {
    this.#rheo = rheo;
    this.#internals = internalsOf(rheo);
    this.#options = options;
    this.#host = host;
    this.#pace = new Pace(this.#internals.clock, settleMs, () => this.pump());
    this.#renewer = new Renewer(this.#renewerHost());
  }

  /** Leases held, whatever becomes of them. */
  get held(): number {
    return this.#holding.open + this.#holding.unsettled;
  }

  get isEmpty(): boolean {
    return this.#exchange === null && this.#holding.isEmpty;
  }

  /** The length of the leases, in ms. */
  get leaseMs(): number {
    return this.#options.leaseMs ?? this.#group?.options.leaseMs ?? FALLBACK_LEASE_MS;
  }

  /** Resolves when it has ended and let go of everything. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Begins. Idempotent. A store that is away is waited for. */
  start(): void {
    if (this.#phase !== "new") return;
    this.#phase = "opening";
    void this.#open().catch((cause: unknown) => this.#fail(cause));
  }

  /** Whether anything is fetched. While not, outcomes go to the store at once, and `emptied` follows when nothing is held. */
  accept(isAccepting: boolean): void {
    this.#isAccepting = isAccepting;
    this.pump();
    this.#tellEmpty();
  }

  /** Begins work on a delivery. False when it is no longer ours. */
  take(delivery: Delivery<Item>): boolean {
    if (delivery.state !== "queued") return false;
    delivery.state = "taken";
    return true;
  }

  /** Whether its lease is good enough to begin work on; if not, it is being renewed, and `refreshed` follows. */
  isFresh(delivery: Delivery<Item>): boolean {
    return this.#renewer.isFresh(delivery.grant);
  }

  /** An outcome; {@link pump} sends it. False when there is nothing to settle: the lease is lost, or has its outcome already. */
  end(delivery: Delivery<Item>, outcome: Outcome): boolean {
    return this.#holding.end(delivery, this.#resolve(outcome, delivery.grant.attempt));
  }

  /** The same for work that may have failed, which observers are told of. */
  fail(delivery: Delivery<Item>, outcome: Outcome): boolean {
    if (!this.end(delivery, outcome)) return false;
    if (outcome.kind !== "retry" && outcome.kind !== "reject") return true;
    const { stream, group } = this.#options;
    const { partition, attempt } = delivery.grant;
    const { sequence } = delivery;
    const { kind, reason } = outcome;
    this.#internals.emit("handler.failed", { stream, group, partition, sequence, attempt, outcome: kind, reason });
    return true;
  }

  /** Settles outside: `settle` is the caller's, in a transaction of his own. False when it is not ours to settle. */
  async endOutside(delivery: Delivery<Item>, settle: () => Promise<void>): Promise<boolean> {
    if (!this.#holding.leave(delivery)) return false;
    let isSettled = false;
    try {
      await settle();
      isSettled = true;
    } catch (cause) {
      isSettled = RheoError.is(cause, "stale_lease");
      throw cause;
    } finally {
      this.#holding.back(delivery, isSettled);
      this.pump();
      this.#tellEmpty();
    }
    return true;
  }

  /** Sends and asks for what there is to send and to ask for. Cheap when there is nothing. Whether a round trip was begun. */
  pump(): boolean {
    if (this.#phase !== "open" || this.#exchange !== null || this.#pace.wait === "backoff") return false;
    const fetch = this.#wanted();
    const isSettling = this.#holding.unsettled > 0 && this.#isTimeToSettle(fetch);
    if (!isSettling && (fetch === 0 || this.#pace.wait === "poll")) {
      if (this.#holding.unsettled > 0) this.#pace.settleSoon();
      return false;
    }
    this.#pace.begin(fetch > 0);
    this.#exchange = this.#roundTrip(fetch).finally(() => {
      this.#exchange = null;
      this.pump();
      this.#tellEmpty();
    });
    return true;
  }

  /** Gives back, uncharged, everything that has no outcome, and ends. Idempotent; bounded even when the store is away. */
  close(): Promise<void> {
    if (this.#phase !== "closing" && this.#phase !== "closed") void this.#close(null);
    return this.#closed.promise;
  }

  // Opening

  async #open(): Promise<void> {
    const group = await this.#meet();
    if (group === null || this.#phase !== "opening") return;
    this.#group = group;
    const { stream } = this.#options;
    this.#unsubscribe = this.#internals.backend.subscribe((wake) => {
      if (wake.stream === null || wake.stream === stream) this.#pace.wake();
    });
    this.#renewer.start();
    this.#phase = "open";
    this.#internals.emit("consumer.started", this.#names());
    this.#host.opened();
    this.pump();
  }

  /** The group, once the store answers; null when closed meanwhile. @throws stream_not_found, group_not_found, invalid_option */
  async #meet(): Promise<GroupRecord | null> {
    while (this.#phase === "opening") {
      try {
        return await findGroup(this.#rheo, this.#options);
      } catch (cause) {
        if (!isTransient(cause)) throw cause;
        await this.#backOff(asError(cause), true);
      }
    }
    return null;
  }

  // Deciding

  /**
   * How many to ask for: what the demand leaves, once that is half of it, or as soon as somebody waits. What waits to be settled goes
   * in the same step, so it no longer counts.
   */
  #wanted(): number {
    if (!this.#isAccepting || this.#renewer.failures > 0) return 0;
    const { maxDemand } = this.#options;
    const room = Math.min(maxDemand - this.#holding.open, this.#host.ration(), LIMITS.fetchLimit);
    return room > 0 && (room >= maxDemand / 2 || this.#host.isHungry()) ? room : 0;
  }

  /** At once when nothing else can end, when half the demand waits, or when the fetch can use the round trip; else after a moment. */
  #isTimeToSettle(fetch: number): boolean {
    return (
      this.#pace.isSettleDue ||
      !this.#isAccepting ||
      this.#holding.open === 0 ||
      this.#holding.unsettled >= this.#options.maxDemand / 2 ||
      (fetch > 0 && this.#pace.wait === "none")
    );
  }

  // Round trips

  async #roundTrip(fetch: number): Promise<void> {
    try {
      const renewal = this.#renewer.wokeUp();
      if (renewal !== null) await renewal;
      const settling = this.#holding.takeSettlements();
      const askedAtMs = this.#monotonic();
      const answer = await this.#internals.exchange(this.#request(settling, fetch));
      if (this.#phase === "closed") return; // it came too late: what it brought runs out
      this.#failures = 0;
      const arrived = this.#holding.add(answer.grants, askedAtMs + this.leaseMs);
      if (fetch > 0) this.#planNext(answer, fetch, arrived.length);
      this.#answered(settling, answer.settled);
      if (arrived.length > 0 && this.#phase === "open") this.#host.arrived(arrived);
      if (arrived.length === 0 && answer.more) await nextTurn(); // a filter that passes over much must not hold up everybody
    } catch (cause) {
      await this.#failed(asError(cause), fetch);
    }
  }

  #request(settling: readonly Settling<Item>[], fetch: number): ExchangeRequest {
    const { stream, group, consumerId, leaseMs, partitions } = this.#options;
    return {
      stream,
      group,
      settlements: settling.map(({ settlement }) => settlement),
      fetch: fetch === 0 ? null : { limit: fetch, maxBytes: LIMITS.fetchBytes, consumerId, leaseMs, partitions, runLimit: 1 },
    };
  }

  #planNext(answer: ExchangeAnswer, asked: number, granted: number): void {
    const isMore = granted >= asked || mayFindMore(answer, granted);
    this.#pace.fetched(isMore, pollWaitMs(this.#options.pollMs, this.#internals.random()));
  }

  #answered(settling: readonly Settling<Item>[], answers: ExchangeAnswer["settled"]): void {
    this.#holding.answered(settling, answers, (delivery, result) => {
      const { outcome, isRepeated, grant } = delivery;
      const hasWorked = isRepeated && outcome !== null && result.state === "stale" && result.why === "settled";
      this.#host.settled(delivery, hasWorked ? { state: this.#stateAfter(outcome, grant.attempt) } : result);
    });
  }

  /** A repeated outcome that finds itself settled had worked the first time (F7). */
  #stateAfter(outcome: SettleOutcome, attempt: number): "acked" | "retrying" | "dead" | "pending" {
    if (outcome.kind !== "retry") return STATE_AFTER[outcome.kind];
    return attempt >= this.#knownGroup().options.maxAttempts ? "dead" : "retrying";
  }

  async #failed(error: Error, fetch: number): Promise<void> {
    if (RheoError.is(error, "outcome_unknown")) this.#holding.lostAnswer();
    if (this.#phase !== "open") return; // whoever closes tries by himself
    if (isTransient(error)) await this.#backOff(error, fetch > 0);
    else void this.#fail(error);
  }

  /** While opening it is waited for; later the timer goes on. */
  async #backOff(error: Error, isFetch: boolean): Promise<void> {
    this.#failures += 1;
    const failures = this.#failures;
    const nextInMs = retryWaitMs(failures, this.#internals.random());
    const count = this.#holding.unsettled;
    if (count > 0) this.#internals.emit("settle.failed", { ...this.#names(), count, failures, error });
    if (isFetch) this.#internals.emit("fetch.failed", { ...this.#names(), failures, nextInMs, error });
    this.#report(error);
    const over = this.#pace.backOff(nextInMs);
    if (this.#phase === "opening") await over;
  }

  #report(error: Error): void {
    const { onError } = this.#options;
    if (onError === null) return;
    const failed = (cause: unknown): void => {
      const { reason } = failureText(cause, "it threw nothing readable");
      process.emitWarning(`onError of ${this.#options.stream}/${this.#options.group} failed: ${reason}`, "RheoWarning");
    };
    try {
      Promise.resolve(onError(error)).catch(failed);
    } catch (cause) {
      failed(cause);
    }
  }

  #resolve(outcome: Outcome, attempt: number): SettleOutcome {
    if (outcome.kind === "ack") return ACK;
    return outcome.kind === "release" ? RELEASE : this.#internals.resolveOutcome(outcome, this.#knownGroup(), attempt);
  }

  #knownGroup(): GroupRecord {
    if (this.#group === null) throw new Error("There are no outcomes before the group is known.");
    return this.#group;
  }

  // Renewing

  #renewerHost(): ConstructorParameters<typeof Renewer<Item>>[0] {
    return {
      internals: this.#internals,
      holding: this.#holding,
      ...this.#names(),
      askedMs: this.#options.leaseMs,
      leaseMs: () => this.leaseMs,
      lost: (delivery, why) => this.#lost(delivery, why),
      renewed: () => {
        this.#host.refreshed();
        this.pump();
      },
      failed: (error, count, failures) => {
        this.#internals.emit("renew.failed", { ...this.#names(), count, failures, error });
        this.#report(error);
      },
      interval: () => this.#lookAtGroup(),
    };
  }

  /** What has expired may still be ours: work on it is told to end, and its outcome is offered to the store, which decides (F3). */
  #lost(delivery: Delivery<Item>, why: LossReason): void {
    const isTaken = delivery.state === "taken";
    const mayBeOurs = why === "expired" && delivery.state !== "queued";
    if (mayBeOurs ? !isTaken || delivery.isDoubtful : !this.#holding.lose(delivery)) return;
    delivery.isDoubtful = true;
    if (isTaken) {
      const { sequence, grant } = delivery;
      const { partition, token } = grant;
      this.#internals.emit("lease.lost", { ...this.#names(), partition, sequence, token, why });
    }
    this.#host.lost(delivery, why);
    this.#tellEmpty();
  }

  /** Changed group options are seen. */
  #lookAtGroup(): void {
    this.#internals.group(this.#options.stream, this.#options.group).then(
      (group) => {
        this.#group = group;
      },
      () => undefined, // the next exchange says what is wrong
    );
  }

  // Ending

  #tellEmpty(): void {
    if (this.#isAccepting || this.#phase === "closing" || this.#phase === "closed") return;
    if (this.isEmpty) this.#host.emptied();
  }

  async #fail(cause: unknown): Promise<void> {
    if (this.#phase === "closing" || this.#phase === "closed") return;
    const error = asError(cause);
    const isClosed = RheoError.is(error, "closed");
    if (!isClosed) this.#report(error);
    await this.#close(error);
    this.#host.ended(isClosed ? null : error);
  }

  async #close(error: Error | null): Promise<void> {
    const hadBegun = this.#phase === "open";
    this.#phase = "closing";
    this.#pace.stop();
    this.#unsubscribe?.();
    const failure = await part(this.#partingHost());
    this.#renewer.stop();
    this.#phase = "closed";
    this.#holding.giveUp((delivery) => this.#host.unanswered(delivery, error ?? failure));
    if (hadBegun) this.#internals.emit("consumer.stopped", this.#names());
    this.#closed.resolve();
  }

  #partingHost(): PartingHost {
    const { clock, random } = this.#internals;
    return {
      clock,
      random,
      inFlight: this.#exchange,
      giveBack: () => {
        this.#holding.releaseAll((delivery) => this.#host.gaveBack(delivery));
        return this.#holding.unsettled;
      },
      settle: async () => {
        const settling = this.#holding.takeSettlements();
        const { settled } = await this.#internals.exchange(this.#request(settling, 0));
        if (this.#phase === "closing") this.#answered(settling, settled);
      },
      lostAnswer: () => this.#holding.lostAnswer(),
    };
  }

  #monotonic(): number {
    return this.#internals.clock.monotonic();
  }

  #names(): { stream: string; group: string; consumerId: string } {
    const { stream, group, consumerId } = this.#options;
    return { stream, group, consumerId };
  }
}

const STATE_AFTER = { ack: "acked", reject: "dead", release: "pending" } as const;

/** Whether another fetch may find more at once, though this one brought less than it asked for. */
const mayFindMore = (answer: ExchangeAnswer, granted: number): boolean =>
  answer.more || answer.died.length > 0 || (granted > 0 && bytesOf(answer) >= LIMITS.fetchBytes / 2);

/** Roughly: near the bound on bytes it was that which ended the fetch. */
const bytesOf = ({ grants }: ExchangeAnswer): number =>
  grants.reduce((sum, { events }) => sum + events.reduce((bytes, { payload }) => bytes + payload.length, 0), 0);
