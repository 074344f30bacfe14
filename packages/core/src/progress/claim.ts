/**
 * Fetch: which deliveries a member is given (G2–G4, G6–G9, T1, T4, T5). Due retries and expired leases come first, then new
 * events. Crash suspects are found by halving, and a last attempt runs alone. Ordering lives in `order.ts`.
 */
import type { ExchangeAnswer, FetchRequest, Grant } from "../backend.ts";
import type { EventRecord } from "../event.ts";
import { compileFilter } from "../filter.ts";
import { LIMITS } from "../limits.ts";
import { keyOrder, type OrderView, openOrder } from "./order.ts";
import { openSequences, rangeOf, withoutSequences } from "./ranges.ts";
import type { Alone, Candidate, Exception, Head, Held, ProgressStore, RangeLease } from "./records.ts";
import { bury, replaceLease, revoke } from "./writes.ts";

/** Fairness that outlives a call, kept by the backend for each group it has seen. Losing it costs nothing but fairness. */
export interface Turn {
  /** Where the next fetch in plain rotation begins, so that partitions take turns (G3). */
  partition: number;
  /** Fetches in a row that looked for due deliveries first while new events waited (G4). */
  dueStreak: number;
}

export const newTurn = (): Turn => ({ partition: 0, dueStreak: 0 });

/** Due exceptions whose events are read together. */
const EXCEPTION_CHUNK = 100;

/** Events read at a time where not all of them are leased. */
const SCAN_PAGE = 500;

/** After this many fetches that put due deliveries first, one rotates plainly and keeps half of itself for new events. */
const DUE_STREAK = 3;

export type Claimed = Pick<ExchangeAnswer, "grants" | "died" | "more">;

const NOTHING: Claimed = { grants: [], died: [], more: false };

export const claim = (store: ProgressStore, request: FetchRequest, nowMs: number, turn: Turn): Claimed => {
  if (store.group.paused) return NOTHING;
  const survey = store.survey(nowMs, request.partitions);
  if (survey.candidates.length === 0) return NOTHING;
  const room = (store.group.options.maxInflight ?? LIMITS.inflightPerPartition * store.partitions) - survey.inflight;
  const pass = new Pass(store, request, nowMs, Math.min(request.limit, room), survey.alone);
  const { candidates, reserveHalf } = inTurn(survey.candidates, turn, store.partitions);
  return pass.run(candidates, reserveHalf);
};

const inTurn = (
  candidates: readonly Candidate[],
  turn: Turn,
  partitions: number,
): { candidates: readonly Candidate[]; reserveHalf: boolean } => {
  const isDue = (candidate: Candidate): boolean => candidate.due || candidate.expired;
  const contested = candidates.some(isDue) && candidates.some((candidate) => candidate.backlog);
  const dueFirst = contested && turn.dueStreak < DUE_STREAK;
  turn.dueStreak = dueFirst ? turn.dueStreak + 1 : 0;
  if (candidates.length === 1) return { candidates, reserveHalf: contested && !dueFirst };
  const start = turn.partition % partitions;
  const rotated = [
    ...candidates.filter(({ partition }) => partition >= start),
    ...candidates.filter(({ partition }) => partition < start),
  ];
  if (dueFirst)
    return { candidates: [...rotated.filter(isDue), ...rotated.filter((candidate) => !isDue(candidate))], reserveHalf: false };
  turn.partition = ((rotated[0]?.partition ?? 0) + 1) % partitions;
  return { candidates: rotated, reserveHalf: contested };
};

/** One fetch. */
class Pass {
  readonly #store: ProgressStore;
  readonly #request: FetchRequest;
  readonly #nowMs: number;
  readonly #leaseMs: number;
  readonly #expiresAtMs: number;
  readonly #maxAttempts: number;
  readonly #someAlone: boolean;
  readonly #matches: ReturnType<typeof compileFilter> | null;
  /** Heads of the partitions that this pass claims in, with their new token; written at the end. */
  readonly #heads = new Map<number, { head: Head; token: number; cursor: number }>();
  readonly #grants = new Map<string, Grant & { readonly events: EventRecord[] }>();
  readonly #died: { partition: number; sequence: number; reason: string }[] = [];
  #held: readonly Held[] | null = null;
  #left: number;
  #bytesLeft: number;
  #granted = 0;
  #suspectsGranted = 0;
  #scanLeft: number = LIMITS.scanPerFetch;
  #more = false;
  /** Set when a last attempt was granted alone, or waits for this member to become idle: nothing else is given. */
  #closed = false;

  constructor(store: ProgressStore, request: FetchRequest, nowMs: number, limit: number, someAlone: boolean) {
    this.#store = store;
    this.#request = request;
    this.#nowMs = nowMs;
    this.#leaseMs = request.leaseMs ?? store.group.options.leaseMs;
    this.#expiresAtMs = nowMs + this.#leaseMs;
    this.#maxAttempts = store.group.options.maxAttempts;
    this.#someAlone = someAlone;
    this.#left = limit;
    this.#bytesLeft = request.maxBytes;
    this.#matches = store.group.options.filter === null ? null : compileFilter(store.group.options.filter);
  }

  run(candidates: readonly Candidate[], reserveHalf: boolean): Claimed {
    if (this.#left > 0 && !(this.#someAlone && this.#isReserved())) {
      const reserved = reserveHalf ? Math.ceil(this.#left / 2) : 0;
      for (const candidate of candidates) if (this.#isOpen()) this.#takeFrom(candidate, reserved);
      if (reserved > 0) for (const candidate of candidates) if (this.#isOpen()) this.#takeFrom(candidate, 0);
    }
    this.#finish();
    const grants = [...this.#grants.values()];
    for (const grant of grants) if (grant.events.length > 1) grant.events.sort((a, b) => a.sequence - b.sequence);
    return { grants, died: this.#died, more: this.#more };
  }

  #isOpen(): boolean {
    return this.#left > 0 && this.#bytesLeft > 0 && !this.#closed;
  }

  #finish(): void {
    for (const [partition, { head, token, cursor }] of this.#heads) {
      if (token !== head.token || cursor !== head.cursor) this.#store.putHead(partition, { ...head, token, cursor });
    }
    if (this.#granted === 0) return;
    if (this.#someAlone) this.#clearChanceAlone();
    if (this.#granted === 1) this.#markChanceAlone();
    this.#store.touchMember(this.#request.consumerId, this.#nowMs);
  }

  #takeFrom(candidate: Candidate, reserved: number): void {
    const { partition } = candidate;
    const { ordering } = this.#store.group.options;
    const order = ordering === "none" ? openOrder : keyOrder(this.#store, partition, ordering, this.#nowMs, candidate.exceptions);
    const spare = Math.min(reserved, this.#left);
    this.#left -= spare;
    if (candidate.expired) this.#takeExpired(partition, order);
    if (candidate.due || (ordering !== "none" && candidate.exceptions)) this.#takeDue(partition, order);
    this.#left += spare;
    if (candidate.backlog && this.#isOpen()) this.#takeNew(partition, order);
  }

  // Expired range leases

  #takeExpired(partition: number, order: OrderView): void {
    for (const lease of this.#store.expiredLeases(partition, this.#nowMs)) {
      if (!this.#isOpen()) return;
      const eligible = openSequences(lease).filter((sequence) => order.isFree(sequence));
      if (eligible.length > 0) this.#takeOver(partition, lease, eligible, order);
    }
  }

  /**
   * The first takeover takes the whole rest; each later one half of it, so that a crasher is found in log2(n) crashes. Only a
   * delivery that is by itself gets its last attempt; until then its suspects' attempts stop short of it (T5).
   */
  #takeOver(partition: number, lease: RangeLease, eligible: readonly number[], order: OrderView): void {
    const single = lease.open === 1;
    const last = lease.attempt + 1 >= this.#maxAttempts;
    if (single && lease.attempt >= this.#maxAttempts && lease.alone > 0) return this.#expireDead(partition, lease);
    if (single && last)
      return this.#takeLast(lease.expiresAtMs, (alone) =>
        this.#moveLease(partition, lease, eligible, this.#maxAttempts, alone, order),
      );
    const probing = lease.takeovers > 0 || last;
    if (probing && (this.#holdsProbe() || this.#suspectsGranted > 0)) return;
    const wanted = probing && !single ? Math.ceil(lease.open / 2) : lease.open;
    const attempt = last ? Math.max(lease.attempt, this.#maxAttempts - 1) : lease.attempt + 1;
    this.#moveLease(partition, lease, eligible.slice(0, wanted), attempt, 0, order);
  }

  #moveLease(
    partition: number,
    lease: RangeLease,
    wanted: readonly number[],
    attempt: number,
    alone: Alone,
    order: OrderView,
  ): void {
    const events = this.#affordable(this.#store.eventsAt(partition, wanted.slice(0, this.#left)));
    if (events.length === 0) return;
    const sequences = events.map((event) => event.sequence);
    replaceLease(this.#store, partition, lease, withoutSequences(lease, sequences));
    revoke(this.#store, partition, lease.token, sequences, "reclaimed");
    this.#store.putLease(partition, {
      ...rangeOf(sequences),
      token: this.#token(partition),
      attempt,
      takeovers: lease.takeovers + 1,
      alone,
      consumerId: this.#request.consumerId,
      leasedAtMs: this.#nowMs,
      expiresAtMs: this.#expiresAtMs,
      firstFailedAtMs: lease.firstFailedAtMs ?? lease.expiresAtMs,
    });
    order.take(sequences);
    this.#suspectsGranted += sequences.length;
    this.#grant(partition, attempt, events);
  }

  #expireDead(partition: number, lease: RangeLease): void {
    const reason = expiryReason(lease.consumerId, lease.attempt);
    replaceLease(this.#store, partition, lease, null);
    revoke(this.#store, partition, lease.token, openSequences(lease), "reclaimed");
    const firstFailedAtMs = lease.firstFailedAtMs ?? lease.expiresAtMs;
    for (const sequence of openSequences(lease)) {
      this.#bury(partition, {
        sequence,
        attempts: lease.attempt,
        reason,
        stack: null,
        consumerId: lease.consumerId,
        firstFailedAtMs,
      });
    }
  }

  // Due exceptions

  #takeDue(partition: number, order: OrderView): void {
    const found = order.claimable ?? this.#store.dueExceptions(partition, this.#nowMs, this.#left);
    for (let i = 0; i < found.length && this.#isOpen(); i += EXCEPTION_CHUNK) {
      const chunk = found.slice(i, i + EXCEPTION_CHUNK).filter((exception) => order.isFree(exception.sequence));
      const sequences = chunk.map((exception) => exception.sequence).sort((a, b) => a - b);
      const events = new Map(this.#store.eventsAt(partition, sequences).map((event) => [event.sequence, event]));
      for (const exception of chunk) {
        const event = events.get(exception.sequence);
        if (event !== undefined && this.#isOpen() && order.isFree(exception.sequence))
          this.#takeException(partition, exception, event, order);
      }
    }
  }

  #takeException(partition: number, exception: Exception, event: EventRecord, order: OrderView): void {
    const next = exception.attempt + 1;
    const spent = exception.attempt >= this.#maxAttempts;
    const expired = exception.state === "leased";
    if (spent && (!expired || exception.alone > 0)) return this.#exceptionDead(partition, exception);
    const suspect = expired || exception.takeovers > 0;
    if (suspect && next >= this.#maxAttempts) {
      return this.#takeLast(exception.dueAtMs ?? 0, (alone) =>
        this.#leaseException(partition, exception, event, this.#maxAttempts, alone, order),
      );
    }
    const probing = exception.takeovers > 0;
    if (probing && (this.#holdsProbe() || this.#suspectsGranted > 0)) return;
    this.#leaseException(partition, exception, event, next, 0, order);
  }

  #leaseException(
    partition: number,
    exception: Exception,
    event: EventRecord,
    attempt: number,
    alone: Alone,
    order: OrderView,
  ): void {
    if (this.#granted > 0 && sizeOf(event) > this.#bytesLeft) return;
    const expired = exception.state === "leased";
    if (expired) revoke(this.#store, partition, exception.token, [exception.sequence], "reclaimed");
    const takeovers = exception.takeovers + (expired ? 1 : 0);
    this.#store.putException(partition, {
      ...exception,
      state: "leased",
      attempt,
      takeovers,
      alone,
      token: this.#token(partition),
      consumerId: this.#request.consumerId,
      leasedAtMs: this.#nowMs,
      dueAtMs: this.#expiresAtMs,
      firstFailedAtMs: exception.firstFailedAtMs ?? (expired ? exception.dueAtMs : null),
    });
    order.take([exception.sequence]);
    if (takeovers > 0) this.#suspectsGranted += 1;
    this.#grant(partition, attempt, [event]);
  }

  #exceptionDead(partition: number, exception: Exception): void {
    const consumerId = exception.consumerId ?? "";
    const expired = exception.state === "leased";
    if (expired) revoke(this.#store, partition, exception.token, [exception.sequence], "reclaimed");
    this.#store.deleteException(partition, exception.sequence);
    this.#bury(partition, {
      sequence: exception.sequence,
      attempts: exception.attempt,
      reason: expired || exception.reason === null ? expiryReason(consumerId, exception.attempt) : exception.reason,
      stack: expired ? null : exception.stack,
      consumerId,
      firstFailedAtMs: exception.firstFailedAtMs ?? exception.dueAtMs ?? this.#nowMs,
    });
  }

  // New events

  #takeNew(partition: number, order: OrderView): void {
    const { exceptionsPerPartition, fetchBytes } = LIMITS;
    if (!order.acceptsNew || this.#store.exceptionCount(partition) >= exceptionsPerPartition) return;
    const place = this.#place(partition);
    if (this.#matches === null && !order.parks) {
      const events = this.#store.events(partition, place.cursor, Math.min(this.#left, order.newLimit), this.#bytesLeft);
      return this.#leaseNew(partition, events, events[events.length - 1]?.sequence ?? place.cursor, order);
    }
    while (this.#isOpen() && this.#scanLeft > 0) {
      const page = this.#store.events(
        partition,
        place.cursor,
        Math.min(this.#scanLeft, Math.max(this.#left, SCAN_PAGE)),
        fetchBytes,
      );
      this.#scanLeft -= page.length;
      const { leased, parked, cursor } = this.#sift(page, place.cursor, order);
      for (const event of parked) this.#store.putException(partition, parkedException(event));
      this.#leaseNew(partition, leased, cursor, order);
      if (page.length === 0 || cursor !== page[page.length - 1]?.sequence) return;
    }
    this.#more ||= this.#scanLeft <= 0;
  }

  #leaseNew(partition: number, events: readonly EventRecord[], cursor: number, order: OrderView): void {
    this.#place(partition).cursor = cursor;
    if (events.length === 0) return;
    const sequences = events.map((event) => event.sequence);
    this.#store.putLease(partition, {
      ...rangeOf(sequences),
      token: this.#token(partition),
      attempt: 1,
      takeovers: 0,
      alone: 0,
      consumerId: this.#request.consumerId,
      leasedAtMs: this.#nowMs,
      expiresAtMs: this.#expiresAtMs,
      firstFailedAtMs: null,
    });
    order.take(sequences);
    this.#grant(partition, 1, events);
  }

  /** New events one by one: past what the filter drops and what waits behind its key. */
  #sift(
    events: readonly EventRecord[],
    from: number,
    order: OrderView,
  ): { leased: EventRecord[]; parked: EventRecord[]; cursor: number } {
    const leased: EventRecord[] = [];
    const parked: EventRecord[] = [];
    let cursor = from;
    let bytesLeft = this.#bytesLeft;
    for (const event of events) {
      if (this.#matches === null || this.#matches(this.#store.group.stream, event)) {
        if (order.isNewFree(event.key)) {
          if (leased.length >= Math.min(this.#left, order.newLimit) || (bytesLeft <= 0 && leased.length > 0)) break;
          leased.push(event);
          order.occupy(event);
          bytesLeft -= sizeOf(event);
        } else if (order.parks && order.parked + parked.length < LIMITS.parkedPerPartition) parked.push(event);
        else break;
      }
      cursor = event.sequence;
    }
    return { leased, parked, cursor };
  }

  // Last attempts (T5)

  /**
   * A suspect's last attempt: granted to a member that holds nothing else, which then gets nothing else. Past one lease length
   * of waiting, so that a member that is never idle cannot hold it up for ever, it is enough that the member holds no other suspect.
   */
  #takeLast(waitingSinceMs: number, take: (alone: Alone) => void): void {
    if (this.#isIdle()) {
      take(2);
      this.#closed = this.#granted > 0;
    } else if (this.#nowMs - waitingSinceMs > this.#leaseMs) {
      if (this.#suspectsGranted === 0 && this.#heldNow().every((held) => held.takeovers === 0)) take(3);
    } else if (this.#granted === 0) this.#closed = true;
  }

  /** Whether this member must be given nothing: it holds a last attempt granted alone, for at most one lease length. */
  #isReserved(): boolean {
    return this.#heldNow().some((held) => held.alone === 2 && this.#nowMs - held.leasedAtMs < this.#leaseMs);
  }

  /** Whether this member holds suspects that are being searched, or a last attempt. */
  #holdsProbe(): boolean {
    return this.#heldNow().some((held) => held.takeovers > 1 || held.alone > 1);
  }

  #isIdle(): boolean {
    return this.#granted === 0 && this.#heldNow().length === 0;
  }

  /** What this member held before this fetch. */
  #heldNow(): readonly Held[] {
    this.#held ??= this.#store
      .heldBy(this.#request.consumerId, this.#nowMs)
      .filter((held) => this.#heads.get(held.partition)?.token !== held.token);
    return this.#held;
  }

  /** A last attempt that happens to be all that its member holds. */
  #markChanceAlone(): void {
    const [grant] = this.#grants.values();
    const event = grant?.events[0];
    if (grant === undefined || event === undefined || grant.attempt < this.#maxAttempts || this.#heldNow().length > 0) return;
    const [lease] = this.#store.leasesOfToken(grant.partition, grant.token);
    if (lease?.alone === 0) this.#store.putLease(grant.partition, { ...lease, alone: 1 });
    const exception = this.#store.exception(grant.partition, event.sequence);
    if (exception?.alone === 0) this.#store.putException(grant.partition, { ...exception, alone: 1 });
  }

  /** It no longer is. */
  #clearChanceAlone(): void {
    const { consumerId } = this.#request;
    for (let partition = 0; partition < this.#store.partitions; partition++) {
      const token = this.#heads.get(partition)?.token;
      for (const lease of this.#store.leases(partition)) {
        if (lease.alone === 1 && lease.consumerId === consumerId && lease.token !== token)
          this.#store.putLease(partition, { ...lease, alone: 0 });
      }
      for (const exception of this.#store.exceptions(partition)) {
        if (exception.alone === 1 && exception.consumerId === consumerId && exception.token !== token) {
          this.#store.putException(partition, { ...exception, alone: 0 });
        }
      }
    }
  }

  // Common

  #grant(partition: number, attempt: number, events: readonly EventRecord[]): void {
    this.#left -= events.length;
    this.#granted += events.length;
    for (const event of events) this.#bytesLeft -= sizeOf(event);
    const name = `${partition}/${attempt}`;
    const known = this.#grants.get(name);
    if (known !== undefined) {
      for (const event of events) known.events.push(event);
      return;
    }
    const token = this.#token(partition);
    this.#grants.set(name, {
      partition,
      token,
      attempt,
      leasedAtMs: this.#nowMs,
      expiresAtMs: this.#expiresAtMs,
      events: [...events],
    });
  }

  #place(partition: number): { head: Head; token: number; cursor: number } {
    const known = this.#heads.get(partition);
    if (known !== undefined) return known;
    const head = this.#store.head(partition);
    const place = { head, token: head.token, cursor: head.cursor };
    this.#heads.set(partition, place);
    return place;
  }

  /** One token for all that this fetch claims in a partition: the next after the last (F1). */
  #token(partition: number): number {
    const place = this.#place(partition);
    if (place.token === place.head.token) place.token += 1;
    return place.token;
  }

  #bury(partition: number, letter: Parameters<typeof bury>[2]): void {
    bury(this.#store, partition, letter, this.#nowMs);
    this.#died.push({ partition, sequence: letter.sequence, reason: letter.reason });
  }

  #affordable(events: readonly EventRecord[]): readonly EventRecord[] {
    let bytes = this.#bytesLeft;
    let count = 0;
    for (const event of events) {
      bytes -= sizeOf(event);
      if (bytes < 0 && (count > 0 || this.#granted > 0)) break;
      count += 1;
    }
    return count === events.length ? events : events.slice(0, count);
  }
}

const sizeOf = (event: EventRecord): number => event.payload.length + event.metadata.length;

const expiryReason = (consumerId: string, attempt: number): string =>
  `The lease of attempt ${attempt} ran out: consumer "${consumerId}" stopped, hung or was cut off before settling.`;

const parkedException = (event: EventRecord): Exception => ({
  sequence: event.sequence,
  state: "parked",
  attempt: 0,
  takeovers: 0,
  token: 0,
  alone: 0,
  consumerId: null,
  leasedAtMs: 0,
  dueAtMs: null,
  key: event.key,
  reason: null,
  stack: null,
  firstFailedAtMs: null,
  failedAtMs: null,
});
