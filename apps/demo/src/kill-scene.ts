/** What the steps of one killed process share: where they play, and what they have found out so far. */
import type { Event, Lease, Rheo } from "@rheo/core";
import type { Member, Members } from "./members.ts";
import type { AckAnswer, GroupName } from "./messages.ts";
import type { KillPoint } from "./points.ts";
import { Found } from "./step.ts";
import type { StoryTime } from "./story-time.ts";

export interface KillScene {
  readonly rheo: Rheo;
  readonly names: GroupName;
  readonly point: KillPoint;
  readonly time: StoryTime;
  readonly members: Members;
  readonly signal: AbortSignal;
  readonly found: KillFindings;
}

/** Set by steps for the steps after them. */
export class KillFindings {
  readonly events: Found<readonly Event[]> = new Found();
  readonly victim: Found<Member> = new Found();
  readonly survivor: Found<Member> = new Found();
  readonly ghost: Found<Member> = new Found();
  /** The lease that the victim reported before it was killed. */
  readonly lost: Found<Lease> = new Found();
  /** Whether the victim's event was settled when it was dead. */
  readonly settled: Found<boolean> = new Found();
  /** The survivor's lease on the same event. */
  readonly again: Found<Lease> = new Found();
  /** What the ghost was last answered. */
  readonly lateAck: Found<AckAnswer> = new Found();
  readonly lag: Found<number> = new Found();
}
