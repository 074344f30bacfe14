/** What a run of the demo found: the document that `--json` prints, and all that the printers read. */
import type { RheoErrorCode, StaleReason } from "@rheo/core";
import type { KillPoint } from "./points.ts";
import type { ClockKind } from "./story-time.ts";

export interface DemoReport {
  /** Whether every step of every story was as expected. */
  readonly ok: boolean;
  /** URL of the store, without a password. */
  readonly store: string;
  readonly clock: ClockKind;
  readonly node: string;
  readonly ms: number;
  readonly stories: readonly StoryReport[];
}

export interface StoryReport {
  /** Who was killed: a process at one of the kill points, or a worker thread. */
  readonly killed: "process" | "thread";
  /** Null for a thread: that ends inside its handler. */
  readonly killAt: KillPoint | null;
  readonly ok: boolean;
  readonly ms: number;
  readonly outcome: Outcome;
  /** In the order they ran. After one that is not ok there is none. */
  readonly steps: readonly StepReport[];
}

/** What became of the victim's event. Null where the story did not get that far, or there was no such thing. */
export interface Outcome {
  /** Whether the victim's ack was in the store when it was dead. */
  readonly ackLanded: boolean | null;
  /** Of the lease that the survivor got on the same event. */
  readonly redelivery: Redelivery | null;
  /** What the victim's lease was answered when it was used once more. */
  readonly lateAck: { readonly code: "accepted" | RheoErrorCode; readonly why: StaleReason | null } | null;
  /** At the end. */
  readonly lag: number | null;
}

interface Redelivery {
  readonly attempt: number;
  readonly victimToken: number;
  readonly token: number;
  /** From the start of the attempt that died; null for a process, where the lease has to end first. */
  readonly afterMs: number | null;
}

export interface StepReport {
  readonly name: string;
  readonly ok: boolean;
  /** What was seen, in words. */
  readonly detail: string;
  readonly ms: number;
  /** What had to be so. */
  readonly expected: readonly { readonly what: string; readonly ok: boolean }[];
}
