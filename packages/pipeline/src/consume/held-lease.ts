import type { Lease } from "@rheo/core";

/** How a lease is settled: each call waits for its own answer, though many share a round trip. */
export interface HeldLease<Payload> extends Lease<Payload> {
  /** Aborts when the lease is lost, or given back by the end of the iteration. */
  readonly signal: AbortSignal;
  /**
   * Done, for good. With `{ transaction }` it commits or rolls back with that, in a round trip of its own (T8).
   * @throws stale_lease - lost, given back, or settled already
   * @throws outcome_unknown, unavailable - the iteration has ended, and the store did not answer in time
   */
  readonly ack: (options?: SettleInside) => Promise<void>;
  /** Failed for now: offered again after `delayMs` (default by the group's retry policy), or dead (T3, T4). @throws as `ack` */
  readonly nack: (
    options?: SettleInside & { readonly reason?: string | Error; readonly delayMs?: number },
  ) => Promise<{ readonly state: "retrying" | "dead" }>;
  /** Failed for good: a dead letter (T6). @throws as `ack` */
  readonly reject: (options?: SettleInside & { readonly reason?: string | Error }) => Promise<void>;
  /** Back to pending, the attempt given back. @throws as `ack` */
  readonly release: (options?: SettleInside) => Promise<void>;
}

/** The caller's transaction, of which the settle becomes a part (T8). */
export interface SettleInside {
  /** The caller's own open transaction. */
  readonly transaction?: unknown;
}
