export { type ConsumerDefinition, type ConsumerOptions, defineConsumer, type Execution } from "./consumer.ts";
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
export { type Supervisor, type SupervisorState, supervise } from "./supervise.ts";
export type { SuperviseOptions } from "./supervise-options.ts";
export type { ChildInfo } from "./supervisor/child.ts";
export type { Strategy } from "./supervisor/supervisor.ts";
