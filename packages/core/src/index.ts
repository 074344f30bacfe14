export type * from "./backend.ts";
export type { EventHistory } from "./calls/operations.ts";
export type { Count, EventLineage, LineageNode } from "./calls/search.ts";
export type { Capabilities } from "./capabilities.ts";
export { type Clock, FrozenClock, systemClock, type Timer } from "./clock.ts";
export type { Diagnosis } from "./diagnosis.ts";
export { RheoError, type RheoErrorCode, type RheoErrorDetails, type StaleReason } from "./errors.ts";
export type { Event, EventInput, EventRecord, Json, Metadata } from "./event.ts";
export type {
  Emit,
  HandledDeliveries,
  Hears,
  LeasedDeliveries,
  RheoEvent,
  RheoEventMap,
  RheoEventOf,
  RheoEvents,
  RheoEventType,
  SettledDeliveries,
} from "./events.ts";
export type { Condition, Filter } from "./filter.ts";
export type { CreateGroupOptions, GroupOptions, GroupStart, Ordering, ResolvedGroupOptions, ResolvedStart } from "./group.ts";
export type { Lease, LeaseRef, Renewal, SettleAnswer } from "./lease.ts";
export { caused, type Lineage, lineage } from "./lineage.ts";
export { ack, type Outcome, reject, release, retry } from "./outcome.ts";
export type { EventQuery, Query } from "./query.ts";
export type { RetryPolicy } from "./retry-policy.ts";
export {
  type AppendOptions,
  type DeadLetterSelection,
  type FetchOptions,
  type ReplayScope,
  Rheo,
  type RheoOptions,
  type SettleOptions,
  type TrimOptions,
} from "./rheo.ts";
export { defineStream, type StandardSchema, type StreamDefinition, type StreamRef, type Upcaster } from "./schema.ts";
export type {
  DeadLetterInfo,
  DeliveryInfo,
  Group,
  GroupInfo,
  Lag,
  LeaseInfo,
  PartitionHolder,
  PartitionLag,
  StreamInfo,
} from "./views.ts";
