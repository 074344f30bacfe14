import { type Event, type Outcome, RheoError, type SettleResult, type StaleReason } from "@rheo/core";
import { leaseId, staleLease } from "@rheo/core/internal";
import type { Delivery, LossReason } from "../intake/holding.ts";
import type { HeldLease } from "./held-lease.ts";
import { parseAck, parseNack, parseReject, parseRelease, type Settle } from "./settle-options.ts";

/** Who hands leases out. */
export interface LeaseOwner {
  readonly stream: string;
  readonly group: string;
  readonly consumerId: string;
  /** An outcome. False when the delivery has one already. */
  end(delivery: Delivery<OwnedLease<unknown>>, outcome: Outcome): boolean;
  /** Settles within the caller's transaction. False when the delivery has an outcome already. */
  endInside(delivery: Delivery<OwnedLease<unknown>>, outcome: Outcome, transaction: unknown): Promise<string | null>;
}

/** The lease that is handed out: the data of a lease as its own members, how to settle it beside them. */
export class OwnedLease<Payload> implements HeldLease<Payload> {
  readonly id: string;
  readonly token: number;
  readonly stream: string;
  readonly group: string;
  readonly partition: number;
  readonly sequence: number;
  readonly attempt: number;
  readonly consumerId: string;
  readonly leasedAt: Date;
  readonly expiresAt: Date;
  readonly event: Event<Payload>;
  readonly #owner: LeaseOwner;
  readonly #delivery: Delivery<OwnedLease<unknown>>;
  #controller: AbortController | null = null;
  #abortReason: Error | null = null;
  /** Why it can be settled no longer. */
  #stale: StaleReason | null = null;
  /** For whoever settled it. */
  #answer: Pick<Answer<unknown>, "give" | "refuse"> | null = null;

  constructor(owner: LeaseOwner, delivery: Delivery<OwnedLease<unknown>>, event: Event<Payload>) {
    const { partition, token, attempt, leasedAt, expiresAt } = delivery.grant;
    this.id = leaseId(partition, delivery.sequence, token);
    this.token = token;
    this.stream = owner.stream;
    this.group = owner.group;
    this.partition = partition;
    this.sequence = delivery.sequence;
    this.attempt = attempt;
    this.consumerId = owner.consumerId;
    this.leasedAt = leasedAt;
    this.expiresAt = expiresAt;
    this.event = event;
    this.#owner = owner;
    this.#delivery = delivery;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  // getters, so that each may be taken apart from its lease, and none is part of its data

  get ack(): HeldLease<Payload>["ack"] {
    return (options) => this.#settle(parseAck, options, toNothing);
  }

  get nack(): HeldLease<Payload>["nack"] {
    return (options) => this.#settle(parseNack, options, toNacked);
  }

  get reject(): HeldLease<Payload>["reject"] {
    return (options) => this.#settle(parseReject, options, toNothing);
  }

  get release(): HeldLease<Payload>["release"] {
    return (options) => this.#settle(parseRelease, options, toNothing);
  }

  async #settleInside<Value>({ outcome, transaction }: Settle, read: (state: string) => Value): Promise<Value> {
    const state = await this.#owner.endInside(this.#delivery, outcome, transaction);
    if (state === null) throw staleLease(this, this.#stale ?? "settled");
    return read(state);
  }

  #settle<Value>(parse: (options: unknown) => Settle, options: unknown, read: (state: string) => Value): Promise<Value> {
    const answer = new Answer(read);
    try {
      const settle = parse(options);
      if (settle.transaction !== undefined) return this.#settleInside(settle, read);
      if (this.#owner.end(this.#delivery, settle.outcome)) this.#answer = answer;
      else answer.refuse(staleLease(this, this.#stale ?? "settled"));
    } catch (error) {
      answer.fail(error);
    }
    return answer.promise;
  }

  // for its owner

  settled(result: SettleResult): void {
    if (result.state === "stale") {
      this.#stale = result.why;
      this.#answer?.refuse(staleLease(this, result.why));
    } else this.#answer?.give(result.state);
  }

  unanswered(error: Error): void {
    this.#answer?.refuse(error);
  }

  lost(why: LossReason): void {
    if (why !== "expired") {
      this.#stale = why;
      this.#answer?.refuse(staleLease(this, why));
    }
    this.#abort(new RheoError("stale_lease", `The lease on ${this.#place()} is lost: ${why}.`));
  }

  gaveBack(): void {
    this.#abort(new RheoError("aborted", `The lease on ${this.#place()} was given back: its iteration has ended.`));
  }

  #abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }

  #place(): string {
    return `${this.stream}/${this.partition}@${this.sequence}`;
  }
}

const toNothing = (): void => undefined;

const toNacked = (state: string): { readonly state: "retrying" | "dead" } => ({ state: state === "dead" ? "dead" : "retrying" });

/** What somebody waits for, or does not. */
class Answer<Value> {
  readonly promise: Promise<Value>;
  readonly #read: (state: string) => Value;
  #resolve: ((value: Value) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;

  constructor(read: (state: string) => Value) {
    this.#read = read;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  give(state: string): void {
    this.#resolve?.(this.#read(state));
  }

  /** A stale lease that nobody waits to hear of is no unhandled rejection: `rheo.events` tells of it anyway. */
  refuse(error: Error): void {
    this.promise.catch(() => undefined);
    this.fail(error);
  }

  fail(error: unknown): void {
    this.#reject?.(error);
  }
}
