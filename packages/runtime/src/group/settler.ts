import type { ExchangeAnswer, ExchangeRequest } from "@rheo/core";
import { LIMITS, type RheoInternals } from "@rheo/core/internal";
import type { ConsumerDefinition } from "../consumer.ts";
import type { Ledger, Settling } from "./ledger.ts";

/** What is to be fetched now. */
export interface FetchScope {
  /** The partitions; null: all. */
  partitions(): readonly number[] | null;
  /** Deliveries of a key (or partition) at a time, where the group keeps order. */
  runLimit(): number;
}

/** What one round trip brought. */
export interface Exchanged {
  readonly granted: number;
  readonly settled: number;
  readonly more: boolean;
}

/**
 * The round trips of a group: outcomes to the store, new grants back, in one step. A failed one is repeated with the very same
 * settlements, so that an outcome whose answer was lost is never contradicted (F7): the store's "settled" then means it had worked.
 */
export class Settler {
  readonly #internals: RheoInternals;
  readonly #consumer: ConsumerDefinition;
  readonly #consumerId: string;
  readonly #ledger: Ledger;
  readonly #scope: FetchScope;
  #unanswered: readonly Settling[] = [];
  /** The partitions that are being fetched from. */
  #asked: readonly number[] | null = [];

  constructor(internals: RheoInternals, consumer: ConsumerDefinition, consumerId: string, ledger: Ledger, scope: FetchScope) {
    this.#internals = internals;
    this.#consumer = consumer;
    this.#consumerId = consumerId;
    this.#ledger = ledger;
    this.#scope = scope;
  }

  /** Whether an answer under way may bring deliveries of a partition. */
  isAskingFor(partition: number): boolean {
    return this.#asked?.includes(partition) ?? true;
  }

  /** Deliveries whose settlement failed and will be sent again. */
  get unanswered(): number {
    return this.#unanswered.reduce((sum, { indexes }) => sum + indexes.length, 0);
  }

  /**
   * @param fetch - how many to ask for, 0 for none
   * @param leaseMs - the length of the leases, by which their local deadline is known
   */
  async exchange(fetch: number, leaseMs: number): Promise<Exchanged> {
    const settling = [...this.#unanswered.filter(isOpen), ...this.#ledger.takeSettlements()];
    this.#unanswered = settling;
    const askedAtMs = this.#internals.clock.monotonic();
    const answer = await this.#ask(settling, fetch);
    this.#unanswered = [];
    const settled = this.#confirm(settling);
    let granted = 0;
    for (const grant of answer.grants) {
      this.#ledger.add(grant, askedAtMs, askedAtMs + leaseMs);
      granted += grant.events.length;
    }
    return { granted, settled, more: isMore(answer, fetch - granted) };
  }

  async #ask(settling: readonly Settling[], fetch: number): Promise<ExchangeAnswer> {
    const partitions = this.#scope.partitions();
    const nothing = fetch === 0 || partitions?.length === 0;
    this.#asked = nothing ? [] : partitions;
    try {
      return await this.#internals.exchange(this.#request(settling, nothing ? 0 : fetch, partitions));
    } finally {
      this.#asked = [];
    }
  }

  #request(settling: readonly Settling[], fetch: number, partitions: readonly number[] | null): ExchangeRequest {
    const { stream, group, leaseMs } = this.#consumer;
    return {
      stream,
      group,
      settlements: settling.map(({ settlement }) => settlement),
      fetch:
        fetch === 0
          ? null
          : {
              limit: fetch,
              maxBytes: LIMITS.fetchBytes,
              consumerId: this.#consumerId,
              leaseMs,
              partitions,
              runLimit: this.#scope.runLimit(),
            },
    };
  }

  /** Settled or stale: either way the store has spoken. The instance tells observers which. */
  #confirm(settling: readonly Settling[]): number {
    let settled = 0;
    for (const { batch, indexes } of settling) for (const index of indexes) if (this.#ledger.settled(batch, index)) settled += 1;
    return settled;
  }
}

/** Not all of its deliveries were found lost since. */
const isOpen = ({ batch }: Settling): boolean => batch.open > 0;

/** Whether another fetch may find more at once, though this one brought `missing` less than it asked for. */
const isMore = (answer: ExchangeAnswer, missing: number): boolean =>
  answer.more || answer.died.length > 0 || (missing > 0 && answer.grants.length > 0 && bytesOf(answer) >= LIMITS.fetchBytes / 2);

/** Roughly: near the bound on bytes it was that which ended the fetch. */
const bytesOf = ({ grants }: ExchangeAnswer): number =>
  grants.reduce((sum, { events }) => sum + events.reduce((bytes, { payload }) => bytes + payload.length, 0), 0);
