export { allGone, mayWake, resultOf } from "./answers.ts";
export { claim } from "./claim.ts";
export {
  checkCursor,
  deadLetterRecords,
  deliveryState,
  frontier,
  groupProgress,
  groupStats,
  holders,
  leaseRecords,
} from "./inspect.ts";
export type { Claimed } from "./pass.ts";
export { storedLease } from "./ranges.ts";
export {
  type Alone,
  type Candidate,
  type DeadLetter,
  type EventHeader,
  type Exception,
  type ExceptionTally,
  type Head,
  type Held,
  type ProgressStore,
  type RangeLease,
  REVOCATIONS_KEPT,
  type Revocation,
  type Survey,
} from "./records.ts";
export { redrive, replay, reset, startCursor } from "./reopen.ts";
export { renew, settle } from "./settle.ts";
export { lastToTrim, trimProgress } from "./trim.ts";
export { newTurn, nextVisit, type Turn, Turns } from "./turn.ts";
