/**
 * Watches a store from outside: every grant, settle and renewal that the port answers is held against what must be true. It sits
 * right above the store, so that it also sees the answers that are lost on their way to a member.
 */
import type { Backend, ExchangeAnswer, ExchangeRequest, RenewAnswer, RenewRequest } from "@rheo/core";
import { overlay } from "../overlay.ts";

/** One delivery of the watched group. */
interface Delivery {
  token: number;
  attempt: number;
  consumerId: string;
  expiresAtMs: number;
  /** Whether a lease on it is the current one. */
  held: boolean;
  finished: "acked" | "dead" | null;
  /** Waits until then after a nack. */
  dueAtMs: number;
}

/** The last lease of a delivery that was dead-lettered for expiring. */
export interface Condemned {
  readonly place: string;
  readonly consumerId: string;
  readonly expiresAtMs: number;
}

export interface WitnessOptions {
  readonly now: () => number;
  readonly maxAttempts: number;
}

export class Witness {
  /** What was wrong, in order; empty if nothing was. */
  readonly violations: string[] = [];
  readonly condemned: Condemned[] = [];
  readonly counts = { granted: 0, accepted: 0, refused: 0, renewed: 0, renewalsRefused: 0 };
  readonly #deliveries = new Map<string, Delivery>();
  readonly #highest = new Map<number, number>();
  readonly #options: WitnessOptions;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** The store as its members see it, watched. */
  watch(store: Backend): Backend {
    return overlay(store, {
      exchange: async (request) => {
        const answer = await store.exchange(request);
        this.exchanged(request, answer);
        return answer;
      },
      renew: async (request) => {
        const answer = await store.renew(request);
        this.renewed(request, answer);
        return answer;
      },
    });
  }

  /** Hears an answer, for those who watch the store themselves. In the order in which the store gave them. */
  exchanged(request: ExchangeRequest, answer: ExchangeAnswer): void {
    this.#settled(request, answer);
    this.#granted(request, answer);
  }

  /** Places that are acked, and those that are dead. */
  finished(state: "acked" | "dead"): string[] {
    return [...this.#deliveries].filter(([, delivery]) => delivery.finished === state).map(([place]) => place);
  }

  /** The highest sequence of a partition up to which everything is finished. */
  frontier(partition: number): number {
    let frontier = 0;
    while (this.#deliveries.get(`${partition}/${frontier + 1}`)?.finished != null) frontier += 1;
    return frontier;
  }

  /** What became of the delivery at a place such as "0/7". Null: it is open, or was never leased. */
  stateOf(place: string): "acked" | "dead" | null {
    return this.#deliveries.get(place)?.finished ?? null;
  }

  /** Deliveries that a replay, redrive or reset made pending again: nobody holds them, and their attempts count anew. */
  reopen(isReopened: (partition: number, sequence: number) => boolean): void {
    for (const [place, delivery] of this.#deliveries) {
      const [partition, sequence] = place.split("/").map(Number);
      if (!isReopened(partition ?? 0, sequence ?? 0)) continue;
      Object.assign(delivery, { held: false, finished: null, attempt: 0, dueAtMs: 0 });
    }
  }

  /** Whether a settle or renewal of this lease must be accepted now. */
  isCurrent(lease: { readonly partition: number; readonly sequence: number; readonly token: number }): boolean {
    const delivery = this.#deliveries.get(`${lease.partition}/${lease.sequence}`);
    return delivery?.held === true && delivery.token === lease.token;
  }

  /** Whether it is the current lease, and has not run out. */
  isLive(lease: { readonly partition: number; readonly sequence: number; readonly token: number }): boolean {
    const delivery = this.#deliveries.get(`${lease.partition}/${lease.sequence}`);
    return this.isCurrent(lease) && delivery !== undefined && delivery.expiresAtMs > this.#options.now();
  }

  #fault(text: string): void {
    this.violations.push(`${this.#options.now()}: ${text}`);
  }

  #settled({ settlements }: ExchangeRequest, { settled }: ExchangeAnswer): void {
    for (const [part, { partition, token, sequences, outcome }] of settlements.entries()) {
      for (const [position, sequence] of sequences.entries()) {
        const state = settled[part]?.[position]?.state;
        this.#settledOne(partition, sequence, token, outcome.kind === "retry" ? outcome.delayMs : 0, state);
      }
    }
  }

  #settledOne(
    partition: number,
    sequence: number,
    token: number,
    delayMs: number,
    state: ExchangeAnswer["settled"][number][number]["state"] | undefined,
  ): void {
    const place = `${partition}/${sequence}`;
    const delivery = this.#deliveries.get(place);
    const current = this.isCurrent({ partition, sequence, token });
    if (state === "stale" || state === undefined) {
      this.counts.refused += 1;
      if (current) this.#fault(`a settle of ${place} under its current token ${token} was refused`);
      return;
    }
    this.counts.accepted += 1;
    if (delivery === undefined || !current)
      return this.#fault(`a stale settle of ${place} under ${token} was accepted (current: ${delivery?.token})`);
    delivery.held = false;
    if (state === "acked" || state === "dead") delivery.finished = state;
    else delivery.dueAtMs = this.#options.now() + delayMs;
    if (state === "pending") delivery.attempt -= 1;
  }

  #granted({ fetch }: ExchangeRequest, { grants, died }: ExchangeAnswer): void {
    if (fetch === null) return;
    const nowMs = this.#options.now();
    for (const { partition, sequence } of died) this.#died(`${partition}/${sequence}`, nowMs);
    const highest = new Map(this.#highest);
    for (const { partition, token, attempt, expiresAtMs, events } of grants) {
      if (token <= (highest.get(partition) ?? 0))
        this.#fault(`token ${token} of partition ${partition} is not above ${highest.get(partition)}`);
      this.#highest.set(partition, Math.max(token, this.#highest.get(partition) ?? 0));
      for (const { sequence } of events) {
        this.counts.granted += 1;
        this.#grantedOne(
          `${partition}/${sequence}`,
          { token, attempt, consumerId: fetch.consumerId, expiresAtMs, held: true, finished: null, dueAtMs: 0 },
          nowMs,
        );
      }
    }
  }

  #grantedOne(place: string, lease: Delivery, nowMs: number): void {
    const before = this.#deliveries.get(place);
    this.#deliveries.set(place, lease);
    if (before === undefined) {
      if (lease.attempt !== 1) this.#fault(`the first attempt of ${place} is ${lease.attempt}`);
      return;
    }
    if (before.finished !== null) this.#fault(`${place} is ${before.finished} and was leased again`);
    if (before.held && before.expiresAtMs > nowMs) this.#fault(`${place} was leased while another lease on it was live`);
    if (!before.held && before.dueAtMs > nowMs) this.#fault(`${place} was leased before its delay was over`);
    const capped = before.attempt >= this.#options.maxAttempts - 1 && lease.attempt === before.attempt;
    if (lease.attempt !== before.attempt + 1 && !capped)
      this.#fault(`${place} went from attempt ${before.attempt} to ${lease.attempt}`);
    if (lease.attempt > this.#options.maxAttempts) this.#fault(`${place} was started ${lease.attempt} times`);
  }

  #died(place: string, nowMs: number): void {
    const delivery = this.#deliveries.get(place);
    if (delivery === undefined || delivery.finished !== null)
      return this.#fault(`${place} died, though it is ${delivery?.finished ?? "unknown"}`);
    if (delivery.held && delivery.expiresAtMs > nowMs) this.#fault(`${place} died while its lease was live`);
    if (delivery.attempt < this.#options.maxAttempts) this.#fault(`${place} died at attempt ${delivery.attempt}`);
    delivery.held = false;
    delivery.finished = "dead";
    this.condemned.push({ place, consumerId: delivery.consumerId, expiresAtMs: delivery.expiresAtMs });
  }

  renewed({ items }: RenewRequest, { stale, expiresAtMs }: RenewAnswer): void {
    for (const [part, { partition, token, sequences }] of items.entries()) {
      for (const [position, sequence] of sequences.entries()) {
        const accepted = stale[part]?.[position] === null;
        const current = this.isCurrent({ partition, sequence, token });
        this.counts[accepted ? "renewed" : "renewalsRefused"] += 1;
        if (accepted !== current)
          this.#fault(
            `a renewal of ${partition}/${sequence} under ${token} was ${accepted ? "accepted, though stale" : "refused, though current"}`,
          );
        const delivery = this.#deliveries.get(`${partition}/${sequence}`);
        if (accepted && delivery !== undefined) delivery.expiresAtMs = Math.max(delivery.expiresAtMs, expiresAtMs);
      }
    }
  }
}
