/**
 * Whether the lease of a delivery was all that its member held, so that its expiry proves something. `chance`: it was. `reserved`: it
 * was granted so, and its member is given nothing else meanwhile. `forgotten`: it was, and what its member was given after it had run
 * out may have made the store forget that.
 */
export type Proof = "none" | "chance" | "forgotten" | "reserved";

/** What is remembered of a delivery for this rule. */
export interface Suspicion {
  /** How often a lease on it that had run out was taken over, since it was opened or failed by itself. */
  takeovers: number;
  proof: Proof;
  consumerId: string;
  leasedAtMs: number;
  /** The same for those that were leased together and run out together. */
  batch: number;
  /** The store may have split the batch. */
  loose: boolean;
}

export const UNSUSPECTED: Suspicion = {
  takeovers: 0,
  proof: "none",
  consumerId: "",
  leasedAtMs: 0,
  batch: 0,
  loose: false,
};
