export {
  type BatchOptions,
  type BreakerOptions,
  type ConsumerDefinition,
  type ConsumerOptions,
  defineConsumer,
  type Execution,
} from "./consumer.ts";
export type {
  BatchContext,
  BatchHandlerFunction,
  DefinedHandler,
  HandlerContext,
  HandlerFunction,
  HandlerOptions,
  HandlerResult,
  Logger,
} from "./handler.ts";
export { type AppConfig, defineConfig, type Observer } from "./process/config.ts";
export type { ProcessEvent, ProcessEventMap, ProcessEventOf, ProcessEvents, ProcessEventType } from "./process/events.ts";
export type { LogLine } from "./process/log-line.ts";
export type { SuperviseProcessesOptions } from "./process/options.ts";
export { type ProcessInfo, type ProcessSupervisor, superviseProcesses } from "./process/process-supervisor.ts";
export {
  type ArchiveChunk,
  type ArchiveContext,
  defineRetention,
  type RetentionOptions,
  type RetentionPolicy,
} from "./retention/policy.ts";
export { type Supervisor, type SupervisorState, supervise } from "./supervise.ts";
export type { SuperviseOptions } from "./supervise-options.ts";
export type { ChildDetails, ChildInfo } from "./supervisor/child.ts";
export type { Strategy } from "./supervisor/supervisor.ts";
