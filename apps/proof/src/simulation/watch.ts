/**
 * Stands right above the store and holds every answer against what must be true, whatever happens to it on the way to a member: tokens,
 * leases, attempts, order, frontier, and that a stored event stays what it was.
 */
import type { AppendAnswer, AppendRequest, Backend, EventRecord, ExchangeAnswer, ExchangeRequest, TrimStep } from "@rheo/core";
import { overlay, Witness } from "@rheo/testing/internal";
import type { Counts } from "./counts.ts";
import type { GroupPlan } from "./plan.ts";

export const STREAM = "events";

interface Logged {
  readonly id: string;
  readonly key: string | null;
  /** The number in its payload. */
  readonly n: number;
}

export class Watch {
  readonly violations: string[] = [];
  readonly groups: ReadonlyMap<string, GroupWatch>;
  /** By place, such as "0/7". */
  readonly log = new Map<string, Logged>();
  readonly #now: () => number;
  /** Null: nobody listens, and no line is put together. */
  readonly #trace: ((line: string) => void) | null;
  readonly #highest: number[] = [];

  /** `trace` is told what happens, a line each. */
  constructor(plans: readonly GroupPlan[], now: () => number, counts: Counts, trace: ((line: string) => void) | null) {
    this.#now = now;
    this.#trace = trace;
    this.groups = new Map(plans.map((plan) => [plan.name, new GroupWatch(plan, this, now, counts)]));
  }

  fault(text: string): void {
    this.violations.push(`${this.#now()}: ${text}`);
    this.note(`VIOLATION ${text}`);
  }

  note(text: string): void {
    this.#trace?.(`${this.#now()} ${text}`);
  }

  /** All that was found, here and in the groups. */
  get found(): string[] {
    return [...this.violations, ...[...this.groups.values()].flatMap(({ witness }) => witness.violations)];
  }

  /** The store as the hosts see it. */
  over(store: Backend): Backend {
    return overlay(store, {
      append: async (requests) => {
        const answers = await store.append(requests);
        for (const [index, request] of requests.entries()) this.#appended(request, answers[index]);
        return answers;
      },
      exchange: async (request) => {
        const answer = await store.exchange(request);
        if (request.stream === STREAM) this.#exchanged(request, answer);
        return answer;
      },
      renew: async (request) => {
        const answer = await store.renew(request);
        if (request.stream === STREAM) this.groups.get(request.group)?.renewed(request, answer);
        return answer;
      },
      replay: async (request) => {
        const reopened = await store.replay(request);
        this.note(`${request.group} is replayed: ${JSON.stringify(request.scope)} reopens ${reopened}`);
        const { scope } = request;
        if (scope.kind === "after" && !request.dryRun)
          this.groups.get(request.group)?.reopen((_, sequence) => sequence > scope.after);
        return reopened;
      },
      reset: async (stream, group, start) => {
        const reopened = await store.reset(stream, group, start);
        this.note(`${group} is reset`);
        this.groups.get(group)?.reopen(() => true);
        return reopened;
      },
      redrive: async (request) => {
        const reopened = await store.redrive(request);
        this.note(`${reopened} of ${request.group} are redriven`);
        const group = this.groups.get(request.group);
        group?.reopen((partition, sequence) => group.witness.stateOf(`${partition}/${sequence}`) === "dead");
        return reopened;
      },
      trim: async (request) => {
        // both are done by the store at once: nothing comes between them
        const [step, marks] = await Promise.all([store.trim(request), store.watermarks(request.stream)]);
        this.#trimmed(step);
        for (const { partition, firstSequence } of marks)
          for (const group of this.groups.values()) group.first[partition] = firstSequence;
        return step;
      },
    });
  }

  #exchanged(request: ExchangeRequest, answer: ExchangeAnswer): void {
    if (this.#trace !== null) this.#noteExchange(request, answer);
    this.groups.get(request.group)?.exchanged(request, answer);
  }

  #noteExchange(request: ExchangeRequest, answer: ExchangeAnswer): void {
    for (const [part, { partition, token, sequences, outcome }] of request.settlements.entries()) {
      const states = answer.settled[part]?.map(({ state, why }) => why ?? state).join(" ");
      this.note(`${request.group} settles ${partition}/[${sequences.join(" ")}] under ${token} as ${outcome.kind}: ${states}`);
    }
    for (const { partition, token, attempt, events } of answer.grants) {
      const sequences = events.map(bySequence).join(" ");
      this.note(
        `${request.fetch?.consumerId} of ${request.group} leases ${partition}/[${sequences}] under ${token}, attempt ${attempt}`,
      );
    }
    for (const { partition, sequence, reason } of answer.died)
      this.note(`${partition}/${sequence} dies in ${request.group}: ${reason}`);
  }

  #appended({ stream, events }: AppendRequest, answer: AppendAnswer | undefined): void {
    if (stream !== STREAM || answer?.kind !== "appended") return;
    for (const [index, { sequence, duplicate }] of answer.events.entries()) {
      const event = events[index];
      if (event === undefined) continue;
      const place = `${duplicate?.partition ?? event.partition}/${sequence}`;
      if (duplicate !== null) {
        const known = this.log.get(place);
        if (known?.id !== event.id) this.fault(`the duplicate of ${event.id} is said to be at ${place}, where ${known?.id} is`);
        continue;
      }
      if (sequence !== (this.#highest[event.partition] ?? 0) + 1) this.fault(`${place} does not follow what was there (L1)`);
      this.#highest[event.partition] = sequence;
      this.log.set(place, { id: event.id, key: event.key, n: numberIn(event.payload) });
    }
  }

  #trimmed({ heldBack }: TrimStep): void {
    if (heldBack < 0) this.fault(`a trim held back ${heldBack}`);
  }
}

const numberIn = (payload: string): number => Number(Reflect.get(Object(JSON.parse(payload)), "n"));

/** One group, watched. */
export class GroupWatch {
  readonly plan: GroupPlan;
  readonly witness: Witness;
  /** First retained sequences, by partition. */
  readonly first: number[] = [];
  readonly #watch: Watch;
  readonly #counts: Counts;
  readonly #seen = new Set<string>();
  /** Times that something was re-opened. */
  #reopenings = 0;
  /** What they were when a token was given, by partition and token. */
  readonly #reopeningsAt = new Map<string, number>();

  constructor(plan: GroupPlan, watch: Watch, now: () => number, counts: Counts) {
    this.plan = plan;
    this.witness = new Witness({ now, maxAttempts: plan.maxAttempts });
    this.#watch = watch;
    this.#counts = counts;
  }

  exchanged(request: ExchangeRequest, answer: ExchangeAnswer): void {
    const before = this.witness.counts.refused;
    this.witness.exchanged(request, answer);
    this.#counts.staleSettles += this.witness.counts.refused - before;
    this.#counts.deadLetters += answer.died.length + answer.settled.flat().filter(({ state }) => state === "dead").length;
    if (request.fetch === null) return;
    this.#checkOrder(answer, request.fetch.runLimit);
    for (const { partition, token } of answer.grants) this.#reopeningsAt.set(`${partition}/${token}`, this.#reopenings);
    for (const { partition, events } of answer.grants) for (const { sequence } of events) this.#deliver(partition, sequence);
  }

  renewed(...[request, answer]: Parameters<Witness["renewed"]>): void {
    const { renewed, renewalsRefused } = this.witness.counts;
    this.witness.renewed(request, answer);
    this.#counts.renewals += this.witness.counts.renewed - renewed;
    this.#counts.staleRenewals += this.witness.counts.renewalsRefused - renewalsRefused;
  }

  reopen(isReopened: (partition: number, sequence: number) => boolean): void {
    this.#reopenings += 1;
    this.witness.reopen((partition, sequence) => sequence >= (this.first[partition] ?? 1) && isReopened(partition, sequence));
  }

  /**
   * Whether something was re-opened after one lease was given and before another was. What it re-opened behind the first waits until that has run
   * out; if it is renewed after all, both are live for a while (G9).
   */
  reopenedBetween(partition: number, token: number, later: number): boolean {
    const [before, after] = [token, later].map((one) => this.#reopeningsAt.get(`${partition}/${one}`) ?? 0);
    return (before ?? 0) < (after ?? 0);
  }

  /** Whether an event is for this group. */
  wants({ n }: { readonly n: number }): boolean {
    return this.plan.filter === null || n % 3 === this.plan.filter;
  }

  /** Up to where everything is finished, or not for this group. */
  frontier(partition: number, highWatermark: number): number {
    let frontier = 0;
    while (frontier < highWatermark && this.#isDone(`${partition}/${frontier + 1}`)) frontier += 1;
    return frontier;
  }

  #isDone(place: string): boolean {
    const logged = this.#watch.log.get(place);
    return this.witness.stateOf(place) !== null || (logged !== undefined && !this.wants(logged));
  }

  #deliver(partition: number, sequence: number): void {
    const place = `${partition}/${sequence}`;
    const logged = this.#watch.log.get(place);
    if (logged === undefined) this.#watch.fault(`${place} was delivered, and nobody has appended it`);
    else if (!this.wants(logged))
      this.#watch.fault(`${place} was delivered to ${this.plan.name}, whose filter it does not pass (G7)`);
    if (this.#seen.has(place)) this.#counts.redeliveries += 1;
    this.#seen.add(place);
  }

  /** G9: nothing of a lane is leased before all before it is finished, but for a run that is leased together. */
  #checkOrder({ grants }: ExchangeAnswer, runLimit: number): void {
    if (this.plan.ordering === "none") return;
    for (const { partition, events } of grants) {
      const together = new Set(grants.flatMap((grant) => (grant.partition === partition ? grant.events.map(bySequence) : [])));
      for (const event of events) {
        for (let sequence = this.first[partition] ?? 1; sequence < event.sequence; sequence++) {
          const place = `${partition}/${sequence}`;
          const earlier = this.#watch.log.get(place);
          if (earlier === undefined || this.#isDone(place) || !this.#sameLane(earlier, event)) continue;
          if (together.has(sequence) && runLimit > 1) continue;
          this.#watch.fault(`${partition}/${event.sequence} was leased to ${this.plan.name} before ${place}, which is open (G9)`);
        }
      }
    }
  }

  #sameLane(earlier: Logged, event: EventRecord): boolean {
    return this.plan.ordering === "partition" || (event.key !== null && earlier.key === event.key);
  }
}

const bySequence = ({ sequence }: EventRecord): number => sequence;
