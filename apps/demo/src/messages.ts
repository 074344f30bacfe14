/**
 * What the parent asks of a member process, and what that answers: one answer for each request, in order. Sent with
 * structured clone ("advanced" serialization), so leases keep their dates.
 */
import type { Event, Lease, RheoErrorCode, StaleReason } from "@rheo/core";
import type { KillPoint } from "./points.ts";

export interface GroupName {
  readonly stream: string;
  readonly group: string;
}

export type Command =
  | { readonly kind: "open"; readonly url: string; readonly consumerId: string }
  /** The whole loop for one event, halting at a line until the process is killed there. */
  | ({ readonly kind: "consume"; readonly haltAt: KillPoint } & GroupName)
  | ({ readonly kind: "fetch"; readonly limit: number } & GroupName)
  | { readonly kind: "ack"; readonly lease: Lease };

/** `nowMs`: the instant of a frozen clock, which the member's own clock is set to first; null: real time. */
export type Request = Command & { readonly nowMs: number | null };

export type Answer =
  | { readonly kind: "ready" }
  | { readonly kind: "reached"; readonly point: KillPoint; readonly lease: Lease }
  | { readonly kind: "leased"; readonly leases: readonly Lease[] }
  | { readonly kind: "acked" }
  | { readonly kind: "refused"; readonly code: RheoErrorCode; readonly why: StaleReason | null }
  | { readonly kind: "failed"; readonly message: string };

/** The answer to an ack. */
export type AckAnswer = Extract<Answer, { readonly kind: "acked" | "refused" }>;

/** The place of a lease or event as people read it: partition@sequence. */
export const place = ({ partition, sequence }: Pick<Event, "partition" | "sequence">): string => `${partition}@${sequence}`;
