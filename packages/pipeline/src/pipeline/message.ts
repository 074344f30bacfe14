import type { Event, Json, LeaseRef } from "@rheo/core";
import type { Delivery } from "../intake/holding.ts";
import type { Batch } from "./batcher.ts";
import type { Line } from "./key-order.ts";

/** A delivery on its way through a pipeline. It stands for its lease, too, such as in `rheo.renew(message)`. */
export interface Message<Payload = Json, Data = Payload> extends LeaseRef {
  readonly event: Event<Payload>;
  /** Of the event. */
  readonly key: string | null;
  /** What the processor made of it; before that, the payload. */
  readonly data: Data;
  /** How many times this delivery has been started, from 1. */
  readonly attempt: number;
  /** The fencing token of the lease: safe to hand to another system (F1). */
  readonly token: number;
  /** Aborts when the lease is lost, or a drain has run out of time. */
  readonly signal: AbortSignal;
}

export type MessageDelivery = Delivery<OwnedMessage>;

interface Names {
  readonly stream: string;
  readonly group: string;
}

/** The message that is handed to handlers. Made for each event, so it holds little, and builds its signal only when asked. */
export class OwnedMessage implements Message<unknown, unknown> {
  readonly event: Event<unknown>;
  data: unknown;
  /** Not part of {@link Message}, nor are the next three. */
  readonly delivery: MessageDelivery;
  batch: Batch | null = null;
  /** Those of its partition key; null: it keeps no order. */
  line: Line | null = null;
  /** It was told to end by us: an ack still counts, anything else goes back uncharged. */
  isInterrupted = false;
  readonly #names: Names;
  #controller: AbortController | null = null;
  #abortReason: Error | null = null;

  constructor(names: Names, delivery: MessageDelivery, event: Event<unknown>) {
    this.event = event;
    this.data = event.payload;
    this.delivery = delivery;
    this.#names = names;
  }

  get key(): string | null {
    return this.event.key;
  }

  get stream(): string {
    return this.#names.stream;
  }

  get group(): string {
    return this.#names.group;
  }

  get partition(): number {
    return this.delivery.grant.partition;
  }

  get sequence(): number {
    return this.delivery.sequence;
  }

  get token(): number {
    return this.delivery.grant.token;
  }

  get attempt(): number {
    return this.delivery.grant.attempt;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** Why its signal has aborted; null when it has not. */
  get abortReason(): Error | null {
    return this.#abortReason;
  }

  /** Idempotent. Not part of {@link Message}. */
  abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    this.batch?.follow();
  }
}
