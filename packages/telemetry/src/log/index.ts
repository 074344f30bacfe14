/** Events of Rheo as lines of a logger of yours. */
export type { Closable } from "../closable.ts";
export type { LogLevel } from "./levels.ts";
export { type EventLogger, type LogOptions, logEvents } from "./log-events.ts";
