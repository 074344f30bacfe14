/**
 * What is held: each delivery with its place on the way from grant to settlement. The talk with the store is in `intake.ts` and
 * `renewer.ts`.
 */
import type { EventRecord, Grant, Settlement, SettleOutcome, SettleResult, StaleReason } from "@rheo/core";

/**
 * - `queued`: arrived, and nobody has begun it
 * - `taken`: somebody works on it
 * - `outside`: being settled in a transaction of the caller's
 * - `ended`: has an outcome, which waits to be sent
 * - `sent`: the outcome is on its way, or its answer was lost
 * - `done`: no longer ours to care for
 */
export type DeliveryState = "queued" | "taken" | "outside" | "ended" | "sent" | "done";

/** One delivery. `Item` is what its owner makes of it. */
export class Delivery<Item> {
  readonly grant: HeldGrant<Item>;
  readonly index: number;
  readonly sequence: number;
  state: DeliveryState = "queued";
  /** Null once it has an outcome, so that content need not outlive the work on it. */
  record: EventRecord | null;
  item: Item | null = null;
  outcome: SettleOutcome | null = null;
  /** Reported as expired. */
  isDoubtful = false;
  /** The outcome was sent before, and that answer was lost. */
  isRepeated = false;
  /** A renewal has come by since it was sent: the answer takes its time, so the lease must be kept. */
  isSlow = false;

  constructor(grant: HeldGrant<Item>, index: number, record: EventRecord) {
    this.grant = grant;
    this.index = index;
    this.sequence = record.sequence;
    this.record = record;
  }
}

/** Deliveries of one partition that were leased together. */
export class HeldGrant<Item> {
  readonly partition: number;
  readonly token: number;
  readonly attempt: number;
  /** By the store's clock, as is `expiresAt`; that is not moved by renewals. */
  readonly leasedAt: Date;
  readonly expiresAt: Date;
  /** When the lease has surely run out, by the monotonic clock. Only moves forward, except when the machine has slept. */
  deadlineMs: number;
  /** By place in the grant; null when done. */
  readonly deliveries: (Delivery<Item> | null)[];
  /** Deliveries not done. */
  open: number;
  /** Deliveries with an outcome that waits to be sent. */
  ended: Delivery<Item>[] = [];

  constructor(grant: Grant, deadlineMs: number) {
    this.partition = grant.partition;
    this.token = grant.token;
    this.attempt = grant.attempt;
    this.leasedAt = new Date(grant.leasedAtMs);
    this.expiresAt = new Date(grant.expiresAtMs);
    this.deadlineMs = deadlineMs;
    this.deliveries = grant.events.map((record, index) => new Delivery<Item>(this, index, record));
    this.open = grant.events.length;
  }
}

/** A settlement with the deliveries that it is for. */
export interface Settling<Item> {
  readonly deliveries: readonly Delivery<Item>[];
  readonly settlement: Settlement;
}

const ACK: SettleOutcome = Object.freeze({ kind: "ack" });
const RELEASE: SettleOutcome = Object.freeze({ kind: "release" });

export class Holding<Item> {
  readonly #grants = new Set<HeldGrant<Item>>();
  /** Grants with outcomes that wait to be sent. */
  readonly #dirty = new Set<HeldGrant<Item>>();
  /** Sent, and not answered. */
  #unanswered: readonly Settling<Item>[] = [];
  #open = 0;
  #ended = 0;
  #sent = 0;

  /** Leased, and without an outcome. */
  get open(): number {
    return this.#open;
  }

  /** With an outcome that waits to be sent, for the first time or again. */
  get unsettled(): number {
    return this.#ended + this.#sent;
  }

  get isEmpty(): boolean {
    return this.#grants.size === 0;
  }

  get grants(): ReadonlySet<HeldGrant<Item>> {
    return this.#grants;
  }

  /** Takes in what a fetch brought: in the order of each partition, however it was granted. */
  add(grants: readonly Grant[], deadlineMs: number): Delivery<Item>[] {
    const arrived: Delivery<Item>[] = [];
    for (const grant of grants) {
      if (grant.events.length === 0) continue;
      const held = new HeldGrant<Item>(grant, deadlineMs);
      this.#grants.add(held);
      for (const delivery of held.deliveries) if (delivery !== null) arrived.push(delivery);
    }
    this.#open += arrived.length;
    return grants.length < 2 ? arrived : arrived.sort(byPlace);
  }

  /** An outcome. False when there is nothing to settle: the lease was lost, or has its outcome already. */
  end(delivery: Delivery<Item>, outcome: SettleOutcome): boolean {
    if (delivery.state !== "queued" && delivery.state !== "taken") return false;
    delivery.state = "ended";
    delivery.outcome = outcome;
    delivery.record = null;
    delivery.grant.ended.push(delivery);
    this.#dirty.add(delivery.grant);
    this.#open -= 1;
    this.#ended += 1;
    return true;
  }

  /** Gives everything back that has no outcome; `each` is told of what somebody works on. */
  releaseAll(each: (delivery: Delivery<Item>) => void): void {
    for (const grant of this.#grants) {
      for (const delivery of grant.deliveries) {
        if (delivery === null) continue;
        const isTaken = delivery.state === "taken";
        if (this.end(delivery, RELEASE) && isTaken) each(delivery);
      }
    }
  }

  /** The lease is no longer ours. False when that makes no difference: it is done, or the answer to its settlement will tell. */
  lose(delivery: Delivery<Item>): boolean {
    switch (delivery.state) {
      case "queued":
      case "taken":
        this.#open -= 1;
        break;
      case "ended":
        this.#ended -= 1;
        break;
      case "outside":
      case "sent":
      case "done":
        return false;
      default:
        return delivery.state satisfies never;
    }
    this.#done(delivery);
    return true;
  }

  /** It is being settled elsewhere: not to be settled or renewed here meanwhile. False when it is not ours to settle. */
  leave(delivery: Delivery<Item>): boolean {
    if (delivery.state !== "taken") return false;
    delivery.state = "outside";
    return true;
  }

  /** What became of that. */
  back(delivery: Delivery<Item>, isSettled: boolean): void {
    if (delivery.state !== "outside") return;
    delivery.state = "taken";
    if (!this.#grants.has(delivery.grant))
      delivery.state = "done"; // it was given up meanwhile
    else if (isSettled) this.lose(delivery);
  }

  /** All outcomes that wait: what was not answered, unchanged (F7), then for each grant its acks, its releases, each failure. */
  takeSettlements(): readonly Settling<Item>[] {
    const taken: Settling<Item>[] = [...this.#unanswered];
    for (const grant of this.#dirty) this.#takeFrom(grant, taken);
    this.#dirty.clear();
    this.#unanswered = taken;
    return taken;
  }

  #takeFrom(grant: HeldGrant<Item>, taken: Settling<Item>[]): void {
    const acked: Delivery<Item>[] = [];
    const released: Delivery<Item>[] = [];
    for (const delivery of grant.ended) {
      if (delivery.state !== "ended" || delivery.outcome === null) continue; // lost since
      delivery.state = "sent";
      this.#ended -= 1;
      this.#sent += 1;
      if (delivery.outcome.kind === "ack") acked.push(delivery);
      else if (delivery.outcome.kind === "release") released.push(delivery);
      else taken.push(asSettling(grant, [delivery], delivery.outcome));
    }
    grant.ended = [];
    if (acked.length > 0) taken.push(asSettling(grant, acked, ACK));
    if (released.length > 0) taken.push(asSettling(grant, released, RELEASE));
  }

  /** The store has spoken: settled or stale, either way it is done. `each` is told. */
  answered(
    settling: readonly Settling<Item>[],
    answers: readonly (readonly SettleResult[])[],
    each: (delivery: Delivery<Item>, result: SettleResult) => void,
  ): void {
    this.#unanswered = [];
    for (const [part, { deliveries }] of settling.entries()) {
      for (const [position, delivery] of deliveries.entries()) {
        this.#sent -= 1;
        this.#done(delivery);
        each(delivery, answers[part]?.[position] ?? GONE);
      }
    }
  }

  /** That answer was lost: what was sent may have been applied. */
  lostAnswer(): void {
    for (const { deliveries } of this.#unanswered) for (const delivery of deliveries) delivery.isRepeated = true;
  }

  /** The answers will not be waited for any longer. `each` is told. */
  giveUp(each: (delivery: Delivery<Item>) => void): void {
    const settling = this.takeSettlements();
    this.#unanswered = [];
    this.#grants.clear();
    this.#open = 0;
    this.#sent = 0;
    for (const { deliveries } of settling) for (const delivery of deliveries) each(delivery);
  }

  /**
   * What a renewal has to cover: all that is still ours. A settlement that has just been sent is left out once, since it would
   * most likely be settled by the time the renewal arrives.
   */
  renewable(grant: HeldGrant<Item>): Delivery<Item>[] {
    const found: Delivery<Item>[] = [];
    for (const delivery of grant.deliveries) {
      if (delivery === null || delivery.state === "outside") continue;
      if (delivery.state === "sent" && !delivery.isSlow) delivery.isSlow = true;
      else found.push(delivery);
    }
    return found;
  }

  #done(delivery: Delivery<Item>): void {
    const { grant } = delivery;
    delivery.state = "done";
    delivery.record = null;
    grant.deliveries[delivery.index] = null;
    grant.open -= 1;
    if (grant.open === 0) this.#grants.delete(grant);
  }
}

const GONE: SettleResult = { state: "stale", why: "gone" };

const byPlace = (a: Delivery<unknown>, b: Delivery<unknown>): number =>
  a.grant.partition - b.grant.partition || a.sequence - b.sequence;

const bySequence = (a: Delivery<unknown>, b: Delivery<unknown>): number => a.sequence - b.sequence;

const asSettling = <Item>(grant: HeldGrant<Item>, deliveries: Delivery<Item>[], outcome: SettleOutcome): Settling<Item> => {
  if (deliveries.length > 1) deliveries.sort(bySequence);
  const sequences = deliveries.map(({ sequence }) => sequence);
  return { deliveries, settlement: { partition: grant.partition, token: grant.token, sequences, outcome } };
};

/** Why a lease is no longer ours: as the store says, or `expired` as far as we know. */
export type LossReason = StaleReason | "expired";
