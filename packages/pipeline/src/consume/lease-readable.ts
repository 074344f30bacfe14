import { Readable } from "node:stream";
import type { HeldLease } from "./held-lease.ts";

/** A Node stream of leases, in object mode. */
export interface LeaseStream<Payload> extends Readable {
  /** Its leases, in turn; to break off ends the stream. */
  [Symbol.asyncIterator](): NodeJS.AsyncIterator<HeldLease<Payload>, undefined, unknown>;
}

/** Where its leases come from. */
export interface LeaseSource<Payload> {
  /** A lease that waits; null when there is none. */
  takeNow(): HeldLease<Payload> | null;
  next(): Promise<IteratorResult<HeldLease<Payload>, void>>;
  close(): Promise<void>;
}

export class LeaseReadable<Payload> extends Readable implements LeaseStream<Payload> {
  readonly #source: LeaseSource<Payload>;
  #isFilling = false;
  /** The stream has asked for more. */
  #isWanted = false;
  /** The source has come to its end by itself: what it handed out may still be settled. */
  #isOver = false;

  constructor(source: LeaseSource<Payload>, highWaterMark: number) {
    super({ objectMode: true, highWaterMark });
    this.#source = source;
  }

  /** May come at any time, also from within a push. One that is not heeded would be the last. */
  override _read(): void {
    this.#isWanted = true;
    if (!this.#isFilling) this.#fill().catch((error: Error) => this.destroy(error));
  }

  /** Until the stream has enough: it asks again after each push, while it has room. */
  async #fill(): Promise<void> {
    this.#isFilling = true;
    while (this.#isWanted && !this.#isOver) {
      this.#isWanted = false;
      const waiting = this.#source.takeNow();
      const result = waiting === null ? await this.#source.next() : null;
      this.#isOver = result?.done === true;
      this.push(waiting ?? result?.value ?? null);
    }
    this.#isFilling = false;
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const tell = (): void => callback(error);
    if (this.#isOver) tell();
    else this.#source.close().then(tell, tell);
  }
}
