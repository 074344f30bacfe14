import type { LeaseRef } from "@rheo/core";
import type { BatchContext, HandlerContext, Logger } from "./handler.ts";

/** What the contexts of one consumer in one thread share. */
export interface ContextOwner {
  readonly stream: string;
  readonly group: string;
  readonly value: unknown;
  readonly logger: Logger;
  /** Null: none. */
  readonly timeoutMs: number | null;
  /** Wall clock, ms since the epoch. Called only when there is a timeout. */
  now(): number;
  extend(context: DeliveryContext, ms: number): void;
}

const MAX_DATE_MS = 8_640_000_000_000_000;

/** The context of one delivery. Made for each event, so it holds little and builds its signal only when asked. */
export class DeliveryContext implements HandlerContext {
  readonly attempt: number;
  readonly token: number;
  readonly partition: number;
  readonly sequence: number;
  /** The end of the time allowed, ms since the epoch; `Infinity` without a timeout. */
  deadlineMs: number;
  readonly #owner: ContextOwner;
  #controller: AbortController | null = null;
  #aborted = false;
  #reason: unknown = undefined;

  constructor(owner: ContextOwner, attempt: number, token: number, partition: number, sequence: number) {
    this.attempt = attempt;
    this.token = token;
    this.partition = partition;
    this.sequence = sequence;
    this.deadlineMs = owner.timeoutMs === null ? Number.POSITIVE_INFINITY : owner.now() + owner.timeoutMs;
    this.#owner = owner;
  }

  get value(): unknown {
    return this.#owner.value;
  }

  get logger(): Logger {
    return this.#owner.logger;
  }

  get lease(): LeaseRef {
    const { stream, group } = this.#owner;
    const { partition, sequence, token, attempt } = this;
    return { stream, group, partition, sequence, token, attempt };
  }

  get deadline(): Date | null {
    return this.deadlineMs > MAX_DATE_MS ? null : new Date(this.deadlineMs);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  extend(ms: number): void {
    if (!(ms >= 0 && ms <= MAX_DATE_MS)) throw new TypeError(`extend takes milliseconds from 0 up, not ${String(ms)}.`);
    if (this.#owner.timeoutMs !== null) this.deadlineMs = this.#owner.now() + ms;
    this.#owner.extend(this, ms);
  }

  /** Idempotent. Not part of {@link HandlerContext}. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

/** The context of a batch: its own signal follows those of its deliveries. */
export class BatchOfDeliveries implements BatchContext {
  readonly deliveries: readonly DeliveryContext[];
  readonly value: unknown;
  readonly logger: Logger;
  #controller: AbortController | null = null;

  constructor(owner: ContextOwner, deliveries: readonly DeliveryContext[]) {
    this.deliveries = deliveries;
    this.value = owner.value;
    this.logger = owner.logger;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) this.#controller = new AbortController();
    this.update();
    return this.#controller.signal;
  }

  /** To be called after a delivery was aborted. */
  update(): void {
    const first = this.deliveries[0];
    if (this.#controller === null || first === undefined || this.#controller.signal.aborted) return;
    if (this.deliveries.every((delivery) => delivery.aborted)) this.#controller.abort(first.signal.reason);
  }
}
