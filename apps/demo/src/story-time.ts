/** How a story waits for a lease to end: by moving a frozen clock, or by living through it. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, FrozenClock } from "@rheo/core";

export type ClockKind = "frozen" | "real";

export interface StoryTime {
  /** For `Rheo.open`; null: the store's own time. */
  readonly clock: Clock | null;
  /** Length of the leases, in ms. */
  readonly leaseMs: number;
  /** The instant to hand to member processes; null: they have the real time too. */
  nowMs(): number | null;
  /** Lets a whole lease go by. `tell` hears how many ms are left. Returns how to say it. */
  passLease(tell: (leftMs: number) => void, signal: AbortSignal): Promise<string>;
}

const FROZEN_LEASE_MS = 30_000;
/** Short, as somebody watches; long enough for the steps before it on a slow machine. */
const REAL_LEASE_MS = 1_500;
/** How far past the end of a lease the real wait goes, in ms. */
const MARGIN_MS = 50;
const TICK_MS = 100;

export const storyTime = (kind: ClockKind): StoryTime => (kind === "frozen" ? frozenTime() : realTime);

const frozenTime = (): StoryTime => {
  const clock = new FrozenClock();
  return {
    clock,
    leaseMs: FROZEN_LEASE_MS,
    nowMs: () => clock.now(),
    passLease: (_tell, signal) => {
      signal.throwIfAborted();
      clock.advance(FROZEN_LEASE_MS);
      return Promise.resolve(`frozen clock moved ${FROZEN_LEASE_MS / 1_000} s ahead`);
    },
  };
};

const realTime: StoryTime = {
  clock: null,
  leaseMs: REAL_LEASE_MS,
  nowMs: () => null,
  passLease: async (tell, signal) => {
    for (let leftMs = REAL_LEASE_MS + MARGIN_MS; leftMs > 0; leftMs -= TICK_MS) {
      tell(leftMs);
      await sleep(Math.min(TICK_MS, leftMs), undefined, { signal });
    }
    return `waited ${REAL_LEASE_MS / 1_000} s`;
  },
};
