/** For the sibling packages and for tests. Not covered by semver. */

export { blame, type Evidence, type Verdict } from "./group/blame.ts";
export { type Demand, initialDemand, MAX_ADAPTED_DEMAND, onFinished, onGranted, onOverdue } from "./group/demand.ts";
export type { GroupEffect } from "./group/effects.ts";
export { type Batch, Ledger, type Place, type Settling } from "./group/ledger.ts";
export type { GroupMessage, GroupTimer } from "./group/messages.ts";
export { type GroupPhase, type GroupSettings, type GroupState, heldBy, initialState } from "./group/state.ts";
export { BACKOFF_MAX_MS, backoffMs, SETTLE_MS, transition } from "./group/transition.ts";
export { MAX_SLICE, SliceMemory } from "./pool/protocol.ts";
export { SliceSizer } from "./pool/sizer.ts";
export { readBatchOutcomes, readOutcome, thrownOutcome } from "./read-outcome.ts";
export type { Child, ChildSpec, ChildStatus } from "./supervisor/child.ts";
export {
  DEFAULT_RESTART,
  NO_FAILURES,
  onFailure,
  type RestartDecision,
  type RestartHistory,
  type RestartPolicy,
} from "./supervisor/restart.ts";
export { ChildSupervisor, type Strategy, type SupervisorOptions } from "./supervisor/supervisor.ts";
