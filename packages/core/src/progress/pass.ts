/** One fetch under way: what it may still take, what it has taken, and what its member already holds. */
import type { ExchangeAnswer, FetchRequest, Grant } from "../backend.ts";
import type { EventRecord } from "../event.ts";
import { LIMITS } from "../limits.ts";
import { utf8Bytes } from "../text.ts";
import type { Head, Held, ProgressStore } from "./records.ts";
import { bury } from "./writes.ts";

export type Claimed = Pick<ExchangeAnswer, "grants" | "died" | "more">;

/** A partition's head as this fetch will leave it. */
interface Place {
  readonly head: Head;
  token: number;
  cursor: number;
  /** Deliveries whose events are not there. */
  missing: number;
}

export class Pass {
  readonly store: ProgressStore;
  readonly consumerId: string;
  readonly nowMs: number;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly runLimit: number;
  /** Deliveries that may still be given. */
  left: number;
  /** Bytes that may still be given; one event is always given. */
  bytesLeft: number;
  /** Events that may still be examined without being given. */
  scanLeft: number = LIMITS.scanPerFetch;
  /** Deliveries given. */
  granted = 0;
  /** Of these, crash suspects. */
  suspectsGranted = 0;
  /** A bound of its own ended this fetch. */
  more = false;
  /** A last attempt was granted alone, or waits for this member to become idle: nothing else is given. */
  closed = false;
  readonly #places = new Map<number, Place>();
  readonly #grants = new Map<string, Grant & { readonly events: EventRecord[] }>();
  readonly #died: { readonly partition: number; readonly sequence: number; readonly reason: string }[] = [];
  #held: readonly Held[] | null = null;

  constructor(store: ProgressStore, request: FetchRequest, nowMs: number, limit: number) {
    this.store = store;
    this.consumerId = request.consumerId;
    this.nowMs = nowMs;
    this.leaseMs = request.leaseMs ?? store.group.options.leaseMs;
    this.maxAttempts = store.group.options.maxAttempts;
    this.runLimit = request.runLimit;
    this.left = limit;
    this.bytesLeft = request.maxBytes;
  }

  get expiresAtMs(): number {
    return this.nowMs + this.leaseMs;
  }

  /** Whether anything more may be given. */
  get isOpen(): boolean {
    return this.left > 0 && this.bytesLeft > 0 && !this.closed;
  }

  /** What the member held before this fetch, over all partitions. */
  get held(): readonly Held[] {
    this.#held ??= this.store.heldBy(this.consumerId, this.nowMs).filter(({ partition, token }) => !this.isOwn(partition, token));
    return this.#held;
  }

  /** Whether the member holds nothing, this fetch included. */
  get isIdle(): boolean {
    return this.granted === 0 && this.held.length === 0;
  }

  /** Where a partition stands. */
  place(partition: number): Place {
    const known = this.#places.get(partition);
    if (known !== undefined) return known;
    const head = this.store.head(partition);
    const place = { head, token: head.token, cursor: head.cursor, missing: 0 };
    this.#places.set(partition, place);
    return place;
  }

  /** The token for all that this fetch claims in a partition: the next after the last (F1). */
  token(partition: number): number {
    const place = this.place(partition);
    if (place.token === place.head.token) place.token += 1;
    return place.token;
  }

  /** Whether a token was given by this fetch. */
  isOwn(partition: number, token: number): boolean {
    const place = this.#places.get(partition);
    return place !== undefined && place.token === token && token !== place.head.token;
  }

  /** The longest prefix that fits in the bytes left; at least one event if nothing was given yet. */
  affordable(events: readonly EventRecord[]): readonly EventRecord[] {
    let bytes = this.bytesLeft;
    for (const [index, event] of events.entries()) {
      bytes -= sizeOf(event);
      if (bytes < 0 && index + this.granted > 0) return events.slice(0, index);
    }
    return events;
  }

  /** Notes deliveries of one partition and attempt as given. */
  grant(partition: number, attempt: number, events: readonly EventRecord[]): void {
    this.left -= events.length;
    this.granted += events.length;
    for (const event of events) this.bytesLeft -= sizeOf(event);
    const name = `${partition}/${attempt}`;
    const known = this.#grants.get(name);
    if (known !== undefined) {
      for (const event of events) known.events.push(event);
      return;
    }
    const { nowMs: leasedAtMs, expiresAtMs } = this;
    this.#grants.set(name, { partition, token: this.token(partition), attempt, leasedAtMs, expiresAtMs, events: [...events] });
  }

  /** Writes a dead letter for a delivery whose record the caller has removed. */
  bury(partition: number, letter: Parameters<typeof bury>[2]): void {
    bury(this.store, partition, letter, this.nowMs);
    this.#died.push({ partition, sequence: letter.sequence, reason: letter.reason });
  }

  /** Writes the heads; what was claimed, by sequence within each grant. */
  finish(): Claimed {
    for (const [partition, { head, token, cursor, missing }] of this.#places) {
      if (token !== head.token || cursor !== head.cursor || missing > 0)
        this.store.putHead(partition, { ...head, token, cursor, skipped: head.skipped + missing });
    }
    if (this.granted > 0) this.store.touchMember(this.consumerId, this.nowMs);
    const grants = [...this.#grants.values()];
    for (const { events } of grants) if (events.length > 1) events.sort((a, b) => a.sequence - b.sequence);
    return { grants, died: this.#died, more: this.more };
  }

  /** The only grant, when there is one event in it and no other. */
  get onlyGrant(): {
    readonly partition: number;
    readonly token: number;
    readonly attempt: number;
    readonly sequence: number;
  } | null {
    const [grant] = this.#grants.values();
    const sequence = grant?.events[0]?.sequence;
    if (grant === undefined || sequence === undefined || this.granted !== 1) return null;
    return { partition: grant.partition, token: grant.token, attempt: grant.attempt, sequence };
  }
}

/** UTF-8 bytes of an event. */
export const sizeOf = (event: EventRecord): number => event.bytes ?? utf8Bytes(event.payload) + utf8Bytes(event.metadata);
