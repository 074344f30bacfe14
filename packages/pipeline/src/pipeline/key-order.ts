/**
 * Keeps messages of one partition key in order: one at a time is in a processor, and batches that hold some run one after the other.
 *
 * So that no two batches can wait for each other, a message goes into another batcher, or under another batch key, only when the
 * batches that hold earlier ones of its key are done. A batch then waits for earlier batches of its own kind alone.
 */
import { Queue } from "../queue.ts";
import type { Batch, Batcher } from "./batcher.ts";
import type { MessageDelivery, OwnedMessage } from "./message.ts";

/** Where a message wants to go. */
export interface Destination {
  readonly batcher: Batcher;
  readonly key: string | null;
}

/** The messages of one partition key. */
export interface Line {
  readonly key: string;
  /** One is in a processor, or about to be. */
  isBusy: boolean;
  /** Null until one has to wait. */
  waiting: Queue<MessageDelivery> | null;
  /** Batches that hold some, and are not done, in order; all for one destination. */
  readonly batches: Batch[];
  destination: Destination | null;
  /** Through with its processor, and waits for those batches. */
  stalled: Stalled | null;
}

interface Stalled {
  readonly message: OwnedMessage;
  readonly destination: Destination;
}

export class KeyOrder {
  readonly #lines = new Map<string, Line>();
  #waiting = 0;
  #stalled = 0;

  /** Messages that wait for an earlier one before they begin. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Messages that wait for the batches of earlier ones. */
  get stalled(): number {
    return this.#stalled;
  }

  /** Whether a message may begin now; if not, it comes back from {@link leave}. */
  arrive(message: OwnedMessage, key: string): boolean {
    const line = this.#lines.get(key) ?? this.#begin(key);
    message.line = line;
    if (line.isBusy) {
      line.waiting ??= new Queue();
      line.waiting.push(message.delivery);
      this.#waiting += 1;
      return false;
    }
    line.isBusy = true;
    return true;
  }

  /** Whether a message may go there now; if not, it comes back from {@link done}. */
  mayEnter(message: OwnedMessage, destination: Destination): boolean {
    const { line } = message;
    if (line === null || line.batches.length === 0 || isSame(line.destination, destination)) return true;
    line.stalled = { message, destination };
    this.#stalled += 1;
    return false;
  }

  /** A message has gone into a batch, which may not begin before earlier ones with its key. */
  entered({ line }: OwnedMessage, batch: Batch, destination: Destination): void {
    if (line === null || line.batches.at(-1) === batch) return;
    line.destination = destination;
    line.batches.push(batch);
    batch.lines.push(line);
    if (line.batches.length > 1) batch.blockers += 1;
  }

  /** A message is in no processor any more. The next of its key, which may begin now. */
  leave(line: Line | null): MessageDelivery | null {
    if (line === null) return null;
    const next = line.waiting?.shift();
    if (next !== undefined) {
      this.#waiting -= 1;
      return next;
    }
    line.isBusy = false;
    this.#forget(line);
    return null;
  }

  /** A batch is done: later ones have one blocker less. Messages that may go on to theirs come back. */
  done(batch: Batch): Stalled[] {
    const moving: Stalled[] = [];
    for (const line of batch.lines) {
      line.batches.shift();
      const next = line.batches[0];
      if (next !== undefined) next.blockers -= 1;
      else if (line.stalled !== null) {
        moving.push(line.stalled);
        line.stalled = null;
        this.#stalled -= 1;
      } else this.#forget(line);
    }
    return moving;
  }

  /** Takes out everything that has not begun. */
  takeWaiting(): MessageDelivery[] {
    this.#waiting = 0;
    return [...this.#lines.values()].flatMap((line) => line.waiting?.drain() ?? []);
  }

  /** Takes out everything that waits for batches; its lines may go on. */
  takeStalled(): OwnedMessage[] {
    this.#stalled = 0;
    return [...this.#lines.values()].flatMap((line) => {
      const { stalled } = line;
      line.stalled = null;
      return stalled === null ? [] : [stalled.message];
    });
  }

  #begin(key: string): Line {
    const line = { key, isBusy: false, waiting: null, batches: [], destination: null, stalled: null };
    this.#lines.set(key, line);
    return line;
  }

  #forget(line: Line): void {
    if (!line.isBusy && line.batches.length === 0) this.#lines.delete(line.key);
  }
}

const isSame = (a: Destination | null, b: Destination): boolean => a !== null && a.batcher === b.batcher && a.key === b.key;
