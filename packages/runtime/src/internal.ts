/** For the sibling packages and for tests. Not covered by semver. */

export { AssignmentStore } from "./assignment/assignment-store.ts";
export { type ShareRequest, shareOf } from "./assignment/share.ts";
export type { Claim } from "./claims/claim-store.ts";
export { blame, type Evidence, type Verdict } from "./group/blame.ts";
export {
  type Breaker,
  type BreakerPolicy,
  CLOSED,
  onFailure as onBreakerFailure,
  onSuccess as onBreakerSuccess,
  onWaited,
} from "./group/breaker.ts";
export { type Demand, initialDemand, MAX_ADAPTED_DEMAND, onFinished, onGranted, onOverdue } from "./group/demand.ts";
export type { GroupEffect } from "./group/effects.ts";
export { type Batch, Ledger, type Place, type Settling } from "./group/ledger.ts";
export type { GroupMessage, GroupTimer } from "./group/messages.ts";
export { type GroupPhase, type GroupSettings, type GroupState, heldBy, initialState } from "./group/state.ts";
export { available, fullBucket, type RateLimit, refill, type TokenBucket, take, waitMs } from "./group/token-bucket.ts";
export { SETTLE_MS, transition } from "./group/transition.ts";
export { asLoaded } from "./load-handler.ts";
export type { PoolOptions, RunningTask, TaskEnd, WorkerPool } from "./pool/pool.ts";
export { MAX_SLICE, SessionGate, type SessionTask, SliceMemory, type ThreadTask, type ToThread } from "./pool/protocol.ts";
export { SliceSizer } from "./pool/sizer.ts";
export { ThreadSession } from "./pool/thread-session.ts";
export { App, type AppHost, type AppOptions, isUsageError } from "./process/app.ts";
export type { FleetEffect, FleetEvent } from "./process/effects.ts";
export { EXIT } from "./process/exit-code.ts";
export { configHref, loadConfig } from "./process/load-config.ts";
export { LineSplitter, printLine } from "./process/log-line.ts";
export type { FleetMessage, Untimed } from "./process/messages.ts";
export { type NarratorOutput, narrate } from "./process/narrator.ts";
export { parseProcessesOptions } from "./process/options.ts";
export { ProcessParent } from "./process/parent.ts";
export { ECHO_MS, type Runnable, runToEnd, type SignalSource } from "./process/run-to-end.ts";
export {
  countReady,
  FAN_OUT_MS,
  type FleetSettings,
  type FleetState,
  FORCE_GRACE_MS,
  GRACE_MS,
  hasStarted,
  initialFleet,
  STOP_TIMEOUT_MS,
} from "./process/state.ts";
export { nextDueAtMs, transition as fleetTransition } from "./process/transition.ts";
export { asPrefix, readBatchOutcomes, readOutcome, thrownOutcome } from "./read-outcome.ts";
export { ByteMeter } from "./retention/byte-meter.ts";
export { superviseIn } from "./supervise.ts";
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
