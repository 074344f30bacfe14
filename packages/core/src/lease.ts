import type { StaleReason } from "./errors.ts";
import type { Event, Json } from "./event.ts";

/** A timed claim on one delivery. Plain data: it may be kept, sent elsewhere and settled from there. */
export interface Lease<Payload = Json> {
  /** Names this lease among all leases of its group. */
  readonly id: string;
  /** The fencing token: greater than that of every earlier lease on this delivery, so safe to hand to another system (F1). */
  readonly token: number;
  readonly stream: string;
  readonly group: string;
  readonly partition: number;
  readonly sequence: number;
  /** How many times this delivery has been started, from 1. */
  readonly attempt: number;
  readonly consumerId: string;
  /** By the store's clock, as is `expiresAt`. */
  readonly leasedAt: Date;
  readonly expiresAt: Date;
  readonly event: Event<Payload>;
}

/** What settling and renewing need of a lease. */
export type LeaseRef = Pick<Lease<unknown>, "stream" | "group" | "partition" | "sequence" | "token"> & {
  readonly attempt?: number;
};

/** The answer for one item of `settle`. */
export type SettleAnswer =
  | { readonly status: "settled"; readonly state: "acked" | "retrying" | "dead" | "pending" }
  | { readonly status: "stale_lease"; readonly why: StaleReason };

/** The answer for one item of `renewMany`. */
export type Renewal =
  | { readonly status: "renewed"; readonly expiresAt: Date }
  | { readonly status: "stale_lease"; readonly why: StaleReason };
