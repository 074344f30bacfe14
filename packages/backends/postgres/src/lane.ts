/** One connection of the pool for statements that are sent without waiting for one another's answers, and done in the order in which they came. */
import type { ClientLike, Lender } from "./pool.ts";

interface Lent {
  readonly client: Promise<ClientLike>;
  sharers: number;
  isReturned: boolean;
}

export class Lane implements Lender {
  readonly #pool: Lender;
  /** What the next one shares. */
  #lent: Lent | null = null;

  constructor(pool: Lender) {
    this.#pool = pool;
  }

  /** The connection that others are using now, or one from the pool. @throws unavailable */
  async borrow(): Promise<ClientLike> {
    this.#lent ??= { client: this.#pool.borrow(), sharers: 0, isReturned: false };
    const lent = this.#lent;
    lent.sharers += 1;
    try {
      const client = await lent.client;
      return {
        query: (query) => client.query(query),
        on: (event, listener) => client.on(event, listener),
        release: (error) => this.#leave(lent, client, error),
      };
    } catch (error) {
      this.#leave(lent, null);
      throw error;
    }
  }

  /** The last one gives it back; an error of one does so at once, which ends it for the others. */
  #leave(lent: Lent, client: ClientLike | null, error?: Error | boolean): void {
    lent.sharers -= 1;
    const isBroken = error !== undefined && error !== false;
    if (lent.isReturned || (lent.sharers > 0 && !isBroken)) return;
    lent.isReturned = true;
    if (this.#lent === lent) this.#lent = null;
    client?.release(error);
  }
}
