/** What the model knows of an event and of a delivery, and what it throws. */
import type { Suspicion } from "./suspicion.ts";

export interface ModelEvent {
  readonly partition: number;
  readonly sequence: number;
  readonly id: string;
  readonly key: string | null;
}

export interface ModelDelivery extends Suspicion {
  readonly event: ModelEvent;
  state: "new" | "pending" | "leased" | "retrying" | "dead" | "acked";
  attempt: number;
  token: number;
  expiresAtMs: number;
  dueAtMs: number;
  /** Before the group's start: it counts as acked, and nothing re-opens it. */
  outside: boolean;
}

export const placeOf = ({ partition, sequence }: { readonly partition: number; readonly sequence: number }): string =>
  `${partition}/${sequence}`;

export class Fault extends Error {}

/** @throws Fault */
export const must = (holds: boolean, what: string): void => {
  if (!holds) throw new Fault(what);
};
