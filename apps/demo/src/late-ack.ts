/** An ack that may come too late: asked for, put into words, and judged. */
import { type Lease, type Rheo, RheoError } from "@rheo/core";
import type { AckAnswer } from "./messages.ts";

/** Acks once. A refusal as stale is an answer; anything else is thrown. */
export const ack = async (rheo: Rheo, lease: Lease): Promise<AckAnswer> => {
  try {
    await rheo.ack(lease);
    return { kind: "acked" };
  } catch (error) {
    if (!RheoError.is(error, "stale_lease")) throw error;
    return { kind: "refused", code: error.code, why: error.details.why ?? null };
  }
};

export const words = (answer: AckAnswer): string =>
  answer.kind === "acked" ? "accepted" : `refused, ${answer.code} (${answer.why})`;

export const isStale = (answer: AckAnswer): boolean => answer.kind === "refused" && answer.code === "stale_lease";
