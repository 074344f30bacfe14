/** Where in a consumer's loop the process is killed: the lines of `consume` in member.ts, in their order. */
export const KILL_POINTS = ["after-fetch", "in-handler", "after-handler", "in-ack", "after-ack"] as const;
export type KillPoint = (typeof KILL_POINTS)[number];

/** The kill "in-ack" comes up to this many ms after the ack was sent, at random: about as long as a store takes to write it. */
export const RACE_MS = 2;

/** How long a server is given to finish what a client sent that is dead by now. */
export const LANDING_MS = 1_000;

/** What a kill at a point leaves behind. `either`: the ack is on its way, so the store alone knows whether it landed. */
export type Aftermath = "unsettled" | "settled" | "either";

export const KILLS: Readonly<Record<KillPoint, { readonly when: string; readonly leaves: Aftermath }>> = {
  "after-fetch": { when: "with the lease in hand, before the handler", leaves: "unsettled" },
  "in-handler": { when: "inside the handler", leaves: "unsettled" },
  "after-handler": { when: "with the work done, right before the ack", leaves: "unsettled" },
  "in-ack": { when: "while the ack is on its way", leaves: "either" },
  "after-ack": { when: "after the ack was answered", leaves: "settled" },
};
