import type { Backend } from "@rheo/core";
import { isMissing, retentionStream } from "@rheo/core/internal";
import { type Claim, ClaimStore } from "../claims/claim-store.ts";

/** A term of office that was confirmed just now. */
export interface Term {
  readonly token: number;
  /** The store's time, in ms since the epoch. */
  readonly nowMs: number;
}

type Kind = "leader";

/** The one place among those who could sweep a stream: a lease on an event of an internal stream. */
export class Leadership {
  readonly #claims: ClaimStore<Kind>;
  #claim: Claim | null = null;

  constructor(backend: Backend, { stream, consumerId, leaseMs }: { stream: string; consumerId: string; leaseMs: number }) {
    const kinds = { leader: ["leader"] };
    this.#claims = new ClaimStore(backend, { stream: retentionStream(stream), kinds, consumerId, leaseMs: () => leaseMs });
  }

  /** Keeps the place, or takes it if it is free; null: another has it. */
  async confirm(): Promise<Term | null> {
    try {
      await this.#claims.ensure();
      return this.#claim === null ? await this.#take() : await this.#keep(this.#claim);
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.#claims.forget(); // deleted with the stream, or by hand: made again the next time
      this.#claim = null;
      return null;
    }
  }

  /** Forgets the place without giving it up: its lease may have run out. */
  lose(): void {
    this.#claim = null;
  }

  async resign(): Promise<void> {
    const claim = this.#claim;
    this.#claim = null;
    if (claim !== null) await this.#claims.release("leader", [claim]);
  }

  async #take(): Promise<Term | null> {
    const [claim] = await this.#claims.take("leader", 1);
    return claim === undefined ? null : await this.#keep(claim);
  }

  async #keep(claim: Claim): Promise<Term | null> {
    const { stale, nowMs } = await this.#claims.renew("leader", [claim]);
    this.#claim = stale[0] === null ? claim : null;
    return this.#claim === null ? null : { token: claim.token, nowMs };
  }
}
