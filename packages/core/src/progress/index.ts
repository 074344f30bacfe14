export { type Claimed, claim, newTurn, type Turn } from "./claim.ts";
export { deliveryState, frontier, groupProgress, groupStats, holders, leaseRecords } from "./inspect.ts";
export {
  type Alone,
  type Candidate,
  type DeadLetter,
  type Exception,
  type Head,
  type Held,
  type ProgressStore,
  type RangeLease,
  REVOCATIONS_KEPT,
  type Revocation,
  type Survey,
} from "./records.ts";
export { redrive, replay, reset, startCursor, trimProgress } from "./reopen.ts";
export { renew, settle } from "./settle.ts";
