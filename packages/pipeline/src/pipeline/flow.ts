/**
 * The way of a message: from its arrival through a processor, into a batch if there are batchers, to its outcome. What is leased is
 * the intake's business; here it is decided what runs.
 *
 * What holds at any time: no more messages are in processors than `concurrency`; of one partition key at most one is; a message
 * that is no longer ours is not begun.
 */
import { ack, type Clock, type Outcome, type Rheo, RheoError, reject, release, retry } from "@rheo/core";
import { type Decode, internalsOf, isThenable, undecodable } from "@rheo/core/internal";
import type { Intake } from "../intake/intake.ts";
import { Queue } from "../queue.ts";
import { Turns } from "../turns.ts";
import { type Batch, Batcher } from "./batcher.ts";
import { isOutcome, type Route, readHandled } from "./handled.ts";
import { type Destination, KeyOrder } from "./key-order.ts";
import { type MessageDelivery, OwnedMessage } from "./message.ts";
import type { BatcherSettings, PipelineSettings } from "./pipeline-options.ts";
import { RateLimit } from "./rate-limit.ts";

export interface FlowHost {
  readonly intake: Intake<OwnedMessage>;
  readonly decode: Decode;
  /** Nothing runs or waits any more. */
  calmed(): void;
}

/** Requests to the store are looked at again after so many messages. */
const STRIDE = 64;
const ACK = ack();
const RELEASE = release();

export class Flow {
  readonly #settings: PipelineSettings;
  readonly #host: FlowHost;
  readonly #clock: Clock;
  readonly #turns: Turns;
  readonly #ready = new Queue<MessageDelivery>();
  readonly #order: KeyOrder | null;
  readonly #limit: RateLimit | null;
  readonly #batchers: ReadonlyMap<string, Batcher>;
  /** Where messages go that name no batcher; null when that cannot be known. */
  readonly #defaultBatcher: Batcher | null;
  /** In processors that have returned a promise. */
  readonly #processing = new Set<OwnedMessage>();
  #isOpen = true;
  #isDraining = false;
  #isStopped = false;
  #isBursting = false;
  #freshGrant: MessageDelivery["grant"] | null = null;
  #turn: NodeJS.Immediate | null = null;

  constructor(rheo: Rheo, settings: PipelineSettings, host: FlowHost) {
    this.#settings = settings;
    this.#host = host;
    this.#clock = internalsOf(rheo).clock;
    this.#turns = new Turns(this.#clock);
    this.#order = settings.partitionBy === null ? null : new KeyOrder();
    this.#limit = settings.rateLimit === null ? null : new RateLimit(settings.rateLimit, this.#clock, () => this.pump());
    this.#batchers = new Map([...settings.batchers].map(([name, batcher]) => [name, this.#newBatcher(name, batcher)]));
    const [only, ...others] = this.#batchers.values();
    this.#defaultBatcher = this.#batchers.get("default") ?? (others.length === 0 ? (only ?? null) : null);
  }

  /** Messages that have not begun. */
  get queued(): number {
    return this.#ready.length + (this.#order?.waiting ?? 0);
  }

  /** Messages in processors. */
  get processing(): number {
    return this.#processing.size;
  }

  get batchers(): ReadonlyMap<string, Batcher> {
    return this.#batchers;
  }

  /** Whether nothing runs, or waits to. */
  get isCalm(): boolean {
    if (this.#processing.size > 0 || (this.#order?.stalled ?? 0) > 0) return false;
    for (const { waiting, running } of this.#batchers.values()) if (waiting + running > 0) return false;
    return true;
  }

  /** Whether a processor stands idle for want of messages. */
  get isHungry(): boolean {
    return this.#ready.length < this.#settings.concurrency - this.#processing.size;
  }

  /** How many more are worth holding. */
  get ration(): number {
    if (this.#limit === null) return Number.POSITIVE_INFINITY;
    const { worth } = this.#limit;
    return this.queued > worth / 2 ? 0 : worth - this.queued;
  }

  arrived(deliveries: readonly MessageDelivery[]): void {
    for (const delivery of deliveries) {
      if (!this.#isOpen) this.#host.intake.end(delivery, RELEASE);
      else if (this.#order === null) this.#ready.push(delivery);
      else this.#lineUp(delivery, this.#order);
    }
    this.pump();
    this.#host.intake.pump();
  }

  /** Begins nothing more, and gives back what has not begun. With `drain`, batches do not wait to be full any longer. */
  close(drain: boolean): void {
    this.#isOpen = false;
    this.#isDraining ||= drain;
    const unstarted = this.#ready.drain();
    for (const delivery of [...unstarted, ...(this.#order?.takeWaiting() ?? [])]) this.#host.intake.end(delivery, RELEASE);
    for (const { item } of unstarted) if (item !== null) this.#order?.leave(item.line);
    this.#flushIfLast();
  }

  open(): void {
    this.#isOpen = true;
    this.#isDraining = false;
    this.pump();
  }

  /** Tells everything that runs to end, and gives back what waits for a batch. */
  interrupt(reason: Error): void {
    const end = (message: OwnedMessage): void => {
      message.isInterrupted = true;
      message.abort(reason);
    };
    for (const message of this.#processing) end(message);
    const waiting = [...this.#batchers.values()].flatMap((batcher) => batcher.interrupt(end));
    for (const message of [...waiting, ...(this.#order?.takeStalled() ?? [])]) this.#settle(message, RELEASE);
    this.#host.intake.pump();
  }

  /** Lets go of all timers. Whatever still runs is ignored. */
  stop(): void {
    this.#isOpen = false;
    this.#isStopped = true;
    this.#limit?.stop();
    if (this.#turn !== null) clearImmediate(this.#turn);
    for (const batcher of this.#batchers.values()) batcher.interrupt(() => undefined);
  }

  /** Starts what may start. */
  pump(): void {
    if (!this.#isOpen || this.#isBursting || this.#turn !== null || this.#ready.length === 0) return;
    if (this.#turns.isOver) this.#later();
    else this.#burst();
  }

  // Processors

  #later(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = null;
      this.#turns.begin();
      this.#burst();
    });
  }

  #burst(): void {
    this.#isBursting = true;
    this.#freshGrant = null;
    const isCut = this.#startReady();
    this.#isBursting = false;
    if (isCut) this.#later();
    else this.#host.intake.pump();
  }

  /** Whether it stopped for others to have their turn: a request to the store leaves before handlers take the thread again. */
  #startReady(): boolean {
    for (let started = 1; this.#isOpen && this.#processing.size < this.#settings.concurrency; started++) {
      const delivery = this.#nextReady();
      if (delivery === null) return false;
      this.#start(delivery);
      if (started % STRIDE > 0) continue;
      if (this.#host.intake.pump() || this.#turns.isOver) return true;
    }
    return false;
  }

  /** The next that may start: still ours, with a fresh lease, and within the rate. */
  #nextReady(): MessageDelivery | null {
    for (let delivery = this.#ready.peek(); delivery !== undefined; delivery = this.#ready.peek()) {
      if (delivery.state === "queued") {
        if (!this.#isFresh(delivery)) return null; // `pump` follows
        if (this.#limit !== null && !this.#limit.take()) return null;
        this.#ready.shift();
        return delivery;
      }
      this.#ready.shift();
      this.#leave(delivery.item);
    }
    return null;
  }

  /** Looked at once for each grant and burst, which is short. */
  #isFresh(delivery: MessageDelivery): boolean {
    if (delivery.grant === this.#freshGrant) return true;
    if (!this.#host.intake.isFresh(delivery)) return false;
    this.#freshGrant = delivery.grant;
    return true;
  }

  /** The message of a delivery; null when it cannot be decoded, and so has its outcome. */
  #messageOf(delivery: MessageDelivery): OwnedMessage | null {
    if (delivery.item !== null || delivery.record === null) return delivery.item;
    try {
      const event = this.#host.decode(delivery.record);
      delivery.record = null;
      delivery.item = new OwnedMessage(this.#settings.member, delivery, event);
      return delivery.item;
    } catch (cause) {
      this.#host.intake.fail(delivery, undecodable(cause));
      return null;
    }
  }

  #lineUp(delivery: MessageDelivery, order: KeyOrder): void {
    const message = this.#messageOf(delivery);
    if (message === null) return;
    try {
      const key = this.#settings.partitionBy?.(message) ?? null;
      if (key !== null && typeof key !== "string")
        throw new RheoError("invalid_option", `partitionBy returned a ${typeof key}: it returns a string, or null for no order.`);
      if (key === null || order.arrive(message, key)) this.#ready.push(delivery);
    } catch (cause) {
      this.#settle(message, this.#failure(cause));
    }
  }

  #start(delivery: MessageDelivery): void {
    const message = this.#messageOf(delivery);
    if (message === null || !this.#host.intake.take(delivery)) return;
    let result: unknown;
    try {
      result = this.#settings.handle(message);
    } catch (cause) {
      return this.#end(message, this.#failure(cause));
    }
    if (!isThenable(result)) return this.#handled(message, result);
    this.#processing.add(message);
    Promise.resolve(result).then(
      (value) => {
        this.#processing.delete(message);
        if (this.#isStopped) return;
        this.#handled(message, value);
        this.#goOn();
      },
      (cause: unknown) => {
        this.#processing.delete(message);
        if (this.#isStopped) return;
        this.#end(message, this.#failure(cause));
        this.#goOn();
      },
    );
  }

  #goOn(): void {
    this.pump();
    this.#host.intake.pump();
    this.#flushIfLast();
  }

  #handled(message: OwnedMessage, value: unknown): void {
    try {
      const handled = readHandled(value);
      if (handled !== null && isOutcome(handled)) return this.#end(message, handled);
      if (this.#batchers.size === 0 && handled?.batcher === undefined) return this.#end(message, ACK);
      if (message.isInterrupted) return this.#end(message, RELEASE);
      this.#route(message, handled ?? {});
    } catch (cause) {
      this.#end(message, this.#failure(cause));
    }
  }

  /** Not in a processor any more, and settled. */
  #end(message: OwnedMessage, outcome: Outcome): void {
    this.#settle(message, outcome);
    this.#leave(message);
  }

  /** The next of its partition key may begin. */
  #leave(message: OwnedMessage | null): void {
    const next = message === null ? null : this.#order?.leave(message.line);
    if (next != null) this.#ready.push(next);
  }

  #failure(cause: unknown): Outcome {
    return this.#settings.onFailure === "reject" ? reject(cause) : retry(cause);
  }

  #settle(message: OwnedMessage, outcome: Outcome): void {
    const { intake } = this.#host;
    const { delivery } = message;
    if (outcome.kind === "ack") intake.end(delivery, outcome);
    else if (message.isInterrupted) intake.end(delivery, RELEASE);
    else intake.fail(delivery, outcome);
    delivery.item = null; // content need not outlive the work on it
  }

  // Batches

  /** @throws invalid_option - there is no such batcher, or its `by` returned no text */
  #route(message: OwnedMessage, { batcher: name, key, data }: Route): void {
    const batcher = name === undefined ? this.#defaultBatcher : this.#batchers.get(name);
    if (batcher == null) throw new RheoError("invalid_option", this.#noBatcher(name));
    if (data !== undefined) message.data = data;
    const destination = { batcher, key: key ?? batcher.keyOf(message) };
    if (this.#order !== null && !this.#order.mayEnter(message, destination)) return; // it keeps its place until then
    this.#enter(message, destination);
    this.#leave(message);
  }

  #noBatcher(name: string | undefined): string {
    const known = [...this.#batchers.keys()].join(", ") || "none";
    if (name !== undefined) return `A processor returned the batcher "${name}". There are: ${known}.`;
    return `A processor returned no batcher, and none of several is named "default". There are: ${known}.`;
  }

  #enter(message: OwnedMessage, destination: Destination): void {
    const { batcher, key } = destination;
    const batch = batcher.add(message, key);
    this.#order?.entered(message, batch, destination);
    batcher.pump();
  }

  #batchDone(batch: Batch): void {
    if (this.#isStopped) return;
    for (const { message, destination } of this.#order?.done(batch) ?? []) {
      this.#enter(message, destination);
      this.#leave(message);
    }
    this.#goOn();
  }

  /** While draining, batches are handed over once nothing can join them any more. */
  #flushIfLast(): void {
    if (this.#isDraining && this.#processing.size === 0) for (const batcher of this.#batchers.values()) batcher.flush();
    if (!this.#isOpen && this.isCalm) this.#host.calmed();
  }

  #newBatcher(name: string, settings: BatcherSettings): Batcher {
    return new Batcher(name, settings, {
      clock: this.#clock,
      isOurs: ({ delivery }) => delivery.state === "taken",
      settle: (message, outcome) => this.#settle(message, outcome),
      failure: (cause) => this.#failure(cause),
      done: (batch) => this.#batchDone(batch),
    });
  }
}
