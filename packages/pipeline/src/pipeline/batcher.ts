/**
 * Gathers messages into batches, by key, up to a size and for a time, and runs so many at once. A batch whose time is up goes on
 * growing until it can run.
 */
import { type Clock, type Outcome, RheoError, type Timer } from "@rheo/core";
import { isThenable } from "@rheo/core/internal";
import { readBatchHandled } from "./handled.ts";
import type { Line } from "./key-order.ts";
import type { OwnedMessage } from "./message.ts";
import type { BatcherSettings } from "./pipeline-options.ts";

/** What a batcher's handler is told beside the messages. */
export interface BatchInfo {
  /** Name of the batcher. */
  readonly batcher: string;
  /** What its messages have in common; null when nothing was asked for. */
  readonly key: string | null;
  /** Why it is handed over now: it is full, its time is up, or the pipeline drains. */
  readonly trigger: "size" | "time" | "drain";
  /** Aborts when the signals of all its messages have. */
  readonly signal: AbortSignal;
}

export interface BatcherHost {
  readonly clock: Clock;
  /** Whether a message is still ours to work on. */
  isOurs(message: OwnedMessage): boolean;
  settle(message: OwnedMessage, outcome: Outcome): void;
  /** What a failed handler means for each of its messages. */
  failure(cause: unknown): Outcome;
  /** A batch is over. */
  done(batch: Batch): void;
}

export class Batch {
  readonly key: string | null;
  readonly messages: OwnedMessage[] = [];
  trigger: BatchInfo["trigger"] | null = null;
  timer: Timer | null = null;
  /** Partition keys of its messages, and how many of them wait for an earlier batch. */
  readonly lines: Line[] = [];
  blockers = 0;
  #controller: AbortController | null = null;

  constructor(key: string | null) {
    this.key = key;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    this.follow();
    return this.#controller.signal;
  }

  /** To be called when the signal of a message has aborted. */
  follow(): void {
    if (this.#controller === null || this.#controller.signal.aborted) return;
    if (this.messages.every((message) => message.abortReason !== null))
      this.#controller.abort(this.messages[0]?.abortReason ?? undefined);
  }
}

export class Batcher {
  readonly name: string;
  readonly #settings: BatcherSettings;
  readonly #host: BatcherHost;
  /** Batches that take more, by key. */
  readonly #open = new Map<string | null, Batch>();
  /** Batches that are to run, oldest first. */
  #due: Batch[] = [];
  readonly #running = new Set<Batch>();
  #waiting = 0;
  #isPumping = false;

  constructor(name: string, settings: BatcherSettings, host: BatcherHost) {
    this.name = name;
    this.#settings = settings;
    this.#host = host;
  }

  /** Messages in batches that do not run yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Batches that run. */
  get running(): number {
    return this.#running.size;
  }

  /** The batch key of a message that was given none. @throws invalid_option - `by` returned no text */
  keyOf(message: OwnedMessage): string | null {
    const key = this.#settings.by?.(message) ?? null;
    if (key === null || typeof key === "string") return key;
    throw new RheoError("invalid_option", `The \`by\` of batcher "${this.name}" returned a ${typeof key}, not a string or null.`);
  }

  /** The batch that it joined. */
  add(message: OwnedMessage, key: string | null): Batch {
    const batch = this.#open.get(key) ?? this.#begin(key);
    batch.messages.push(message);
    message.batch = batch;
    this.#waiting += 1;
    if (batch.messages.length >= this.#settings.size) {
      this.#open.delete(key);
      this.#makeDue(batch, "size");
    }
    return batch;
  }

  /** Hands over what there is, full or not. */
  flush(): void {
    for (const batch of this.#open.values()) this.#makeDue(batch, "drain");
    this.pump();
  }

  /** Runs what may run. Handlers that end at once call it again from within. */
  pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    for (let batch = this.#takeDue(); batch !== null; batch = this.#takeDue()) {
      this.#waiting -= batch.messages.length;
      this.#run(batch);
    }
    this.#isPumping = false;
  }

  /** The oldest batch that may run; null when none may. */
  #takeDue(): Batch | null {
    if (this.#running.size >= this.#settings.concurrency) return null;
    const at = this.#due.findIndex(({ blockers }) => blockers === 0);
    const [batch] = at < 0 ? [] : this.#due.splice(at, 1);
    if (batch === undefined) return null;
    if (this.#open.get(batch.key) === batch) this.#open.delete(batch.key);
    return batch;
  }

  /** Takes out what does not run; `each` is told of what does. */
  interrupt(each: (message: OwnedMessage) => void): OwnedMessage[] {
    for (const batch of this.#running) {
      batch.messages.forEach(each);
      batch.follow();
    }
    const waiting = new Set([...this.#due, ...this.#open.values()]);
    for (const batch of waiting) batch.timer?.cancel();
    this.#due = [];
    this.#open.clear();
    this.#waiting = 0;
    return [...waiting].flatMap(({ messages }) => messages);
  }

  #begin(key: string | null): Batch {
    const batch = new Batch(key);
    this.#open.set(key, batch);
    batch.timer = this.#host.clock.schedule(this.#settings.waitMs, () => {
      this.#makeDue(batch, "time");
      this.pump();
    });
    return batch;
  }

  #makeDue(batch: Batch, trigger: BatchInfo["trigger"]): void {
    batch.timer?.cancel();
    if (batch.trigger === null) this.#due.push(batch);
    if (batch.trigger === null || trigger === "size") batch.trigger = trigger;
  }

  #run(batch: Batch): void {
    const ours = batch.messages.filter((message) => this.#host.isOurs(message));
    this.#running.add(batch);
    if (ours.length === 0) return this.#end(batch, ours, []);
    let result: unknown;
    try {
      result = this.#settings.handle(ours, this.#infoOf(batch));
    } catch (cause) {
      return this.#fail(batch, ours, cause);
    }
    if (!isThenable(result)) return this.#finish(batch, ours, result);
    Promise.resolve(result).then(
      (value) => this.#finish(batch, ours, value),
      (cause: unknown) => this.#fail(batch, ours, cause),
    );
  }

  #infoOf(batch: Batch): BatchInfo {
    return {
      batcher: this.name,
      key: batch.key,
      trigger: batch.trigger ?? "size",
      get signal() {
        return batch.signal;
      },
    };
  }

  #finish(batch: Batch, ours: readonly OwnedMessage[], value: unknown): void {
    let outcomes: readonly Outcome[];
    try {
      outcomes = readBatchHandled(value, ours.length);
    } catch (cause) {
      return this.#fail(batch, ours, cause);
    }
    this.#end(batch, ours, outcomes);
  }

  #fail(batch: Batch, ours: readonly OwnedMessage[], cause: unknown): void {
    const outcome = this.#host.failure(cause);
    this.#end(batch, ours, new Array<Outcome>(ours.length).fill(outcome));
  }

  #end(batch: Batch, ours: readonly OwnedMessage[], outcomes: readonly Outcome[]): void {
    this.#running.delete(batch);
    for (const [index, message] of ours.entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined) this.#host.settle(message, outcome);
    }
    this.#host.done(batch);
    this.pump();
  }
}
