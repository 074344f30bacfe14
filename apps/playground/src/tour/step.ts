import type { Event, FrozenClock, Lease, Rheo } from "@rheo/core";

/** One step of the tour: it does something real, says what it saw, and names what had to be so. */
export interface TourStep {
  readonly title: string;
  /** What the reader should expect, told before. */
  readonly expect: string;
  readonly run: (scene: Scene) => Promise<Seen>;
}

export interface Seen {
  readonly detail: string;
  /** What must be so, in words, and whether it is. */
  readonly checks: Readonly<Record<string, boolean>>;
}

/** Where a tour plays, and what its steps leave for those after them. */
export interface Scene {
  readonly rheo: Rheo;
  readonly clock: FrozenClock;
  events: readonly Event[];
  /** A's lease: what is left of A after its death. */
  lost: Lease | null;
  /** B's on the same event. */
  again: Lease | null;
}

export const STREAM = "orders";
export const GROUP = "billing";
export const LEASE_MS = 30_000;

/** @throws when an earlier step has not left it: the steps are in a wrong order */
export const left = <Value>(value: Value | null): Value => {
  if (value === null) throw new Error("This step needs what an earlier one leaves.");
  return value;
};
