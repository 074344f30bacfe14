import type { Child, ChildStatus } from "../supervisor/child.ts";
import type { GroupActor } from "./actor.ts";
import { heldBy } from "./state.ts";

/** A group as a supervisor sees it. */
export const groupChild = (actor: GroupActor, consumerId: string): Child => ({
  start: () => actor.start(),
  status: () => groupStatus(actor, consumerId),
  pause: () => actor.pause(),
  resume: () => actor.resume(),
  drain: (timeoutMs) => actor.drain(timeoutMs),
  stop: (timeoutMs) => actor.stop(timeoutMs),
});

const groupStatus = (actor: GroupActor, consumerId: string): ChildStatus => {
  const { state } = actor;
  return {
    state: state.phase,
    details: {
      consumerId,
      inflight: heldBy(state),
      unstarted: state.unstarted,
      running: state.running,
      unsettled: state.unsettled,
      unanswered: actor.unanswered,
      demand: state.demand.size,
      slots: actor.slots,
      mailbox: actor.mailbox,
      failures: state.failures,
      renewFailures: state.renewFailures,
      healthy: state.failures === 0 && state.renewFailures === 0,
      ...actor.partDetails(),
    },
  };
};
