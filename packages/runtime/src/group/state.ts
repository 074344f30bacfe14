import { type Demand, initialDemand } from "./demand.ts";

/**
 * - `starting`: waits for its stream and group
 * - `running`
 * - `paused`: fetches nothing; what runs may finish
 * - `draining`: as paused, then stops; can still be resumed
 * - `stopped`: for good
 */
export type GroupPhase = "starting" | "running" | "paused" | "draining" | "stopped";

/** What the options of a consumer mean to the decisions. */
export interface GroupSettings {
  /** Deliveries that can run at once: concurrency × batch size. */
  readonly capacity: number;
  readonly maxDemand: number | null;
  readonly pollMs: number;
}

/** Everything that a group decides by. The deliveries themselves are in the ledger; here they are counted. */
export interface GroupState {
  readonly settings: GroupSettings;
  readonly phase: GroupPhase;
  /** Paused before it was ready. */
  readonly pauseAsked: boolean;
  /** Leased, and not handed to a handler. */
  readonly unstarted: number;
  /** Handed to a handler. */
  readonly running: number;
  /** With an outcome that the store has not confirmed. */
  readonly unsettled: number;
  /** The one round trip in flight, with what it asks for. */
  readonly exchange: { readonly asked: number } | null;
  /** What the next fetch waits for. `backoff` holds settlements too. */
  readonly wait: "none" | "poll" | "backoff";
  /** A wake-up came that no fetch has answered. */
  readonly woken: boolean;
  /** Since when polls find nothing, on the monotonic clock; null: not since the last delivery, settlement or wake-up. */
  readonly idleSinceMs: number | null;
  /** Exchanges failed in a row. */
  readonly failures: number;
  /** Renewals failed in a row. Above 0 nothing new is taken: it could not be kept. */
  readonly renewFailures: number;
  /** Unstarted deliveries worth holding; null: as many as the demand says. 0: nothing is started at all, and what is held goes back. */
  readonly ration: number | null;
  /** Whether there is any partition to fetch from. */
  readonly hasPartitions: boolean;
  /** Whether outcomes wait for company, or have waited long enough. */
  readonly settle: "idle" | "armed" | "due";
  /** The drain has run out of time. */
  readonly interrupted: boolean;
  readonly demand: Demand;
}

export const initialState = (
  settings: GroupSettings,
  ration: number | null = null,
  hasPartitions: boolean = true,
): GroupState => ({
  settings,
  phase: "starting",
  pauseAsked: false,
  unstarted: 0,
  running: 0,
  unsettled: 0,
  exchange: null,
  wait: "none",
  woken: false,
  idleSinceMs: null,
  failures: 0,
  renewFailures: 0,
  ration,
  hasPartitions,
  settle: "idle",
  interrupted: false,
  demand: initialDemand(settings.capacity, settings.maxDemand),
});

/** Leases held, whatever becomes of them. */
export const heldBy = (state: GroupState): number => state.unstarted + state.running + state.unsettled;
