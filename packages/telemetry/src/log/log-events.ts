import { type Rheo, RheoError, type RheoEvent, type RheoEventType } from "@rheo/core";
import { internalsOf, parseChoice, parseOptions } from "@rheo/core/internal";
import { type Closable, closable } from "../closable.ts";
import { parseRheo } from "../options.ts";
import { LEVELS, type LogLevel } from "./levels.ts";
import { lineLimit } from "./line-limit.ts";

/** What is needed of a logger: pino, bunyan and others have it. */
export type EventLogger = Readonly<Record<LogLevel, (fields: object, message: string) => void>>;

/** What is logged of the events of an instance, and at which level. */
export interface LogOptions {
  readonly rheo: Rheo;
  readonly logger: EventLogger;
  /** Types of events with a level other than the default, or `"off"`. */
  readonly levels?: Readonly<Partial<Record<RheoEventType, LogLevel | "off">>>;
}

/**
 * Logs what happens in an instance: the fields of the event, with an error as `err`, and a message that says what and where. At most 50
 * lines a second of each type; then one that says how many were left out.
 * @throws invalid_option
 */
export const logEvents = (options: LogOptions): Closable => {
  const raw = parseOptions("logEvents", options, ["rheo", "logger", "levels"]);
  const rheo = parseRheo(raw.rheo);
  const logger = parseLogger(raw.logger);
  const levels = { ...LEVELS, ...parseLevels(raw.levels) };
  const { clock } = internalsOf(rheo);
  const ends = (Object.entries(levels) as [RheoEventType, LogLevel | "off"][]).map(([type, level]) => {
    if (level === "off") return () => undefined;
    const limit = lineLimit(clock, (count) => logger[level]({ type, leftOut: count }, `${type}: ${count} more`));
    const listener = (event: RheoEvent): void => {
      if (isWanted(logger, level) && limit.allows()) logger[level](fieldsOf(event), `${type}${placeOf(event)}`);
    };
    rheo.events.on(type, listener as never); // a listener of every type takes that one
    return () => {
      rheo.events.off(type, listener as never);
      limit.end();
    };
  });
  return closable(ends);
};

/** Loggers that can tell are asked, so that what is not written is not made. */
const isWanted = (logger: EventLogger, level: LogLevel): boolean => {
  const isEnabled: unknown = Reflect.get(logger, "isLevelEnabled");
  return typeof isEnabled !== "function" || Reflect.apply(isEnabled, logger, [level]) === true;
};

/** `err` is what loggers know how to write. */
const fieldsOf = (event: RheoEvent): object => {
  if (!("error" in event)) return event;
  const { error, ...fields } = event;
  return { ...fields, err: error };
};

/** Names alone: they are checked (L9), so nothing in a message is anybody's content. */
const placeOf = (event: RheoEvent): string => {
  if ("child" in event) return ` ${event.child}`;
  if ("threadId" in event) return ` thread ${event.threadId}`;
  const group = "group" in event ? `/${event.group}` : "";
  const partition = "partition" in event ? ` ${event.partition}` : "";
  const sequence = "sequence" in event ? `@${event.sequence}` : "";
  return ` ${event.stream}${group}${partition}${sequence}`;
};

const METHODS = ["trace", "debug", "info", "warn", "error"] as const;

const parseLogger = (value: unknown): EventLogger => {
  const isLogger =
    typeof value === "object" && value !== null && METHODS.every((name) => typeof Reflect.get(value, name) === "function");
  if (isLogger) return value as EventLogger; // just checked
  throw new RheoError("invalid_option", `logger has the methods ${METHODS.join(", ")}, as pino has.`, { path: "logger" });
};

const parseLevels = (value: unknown): Partial<Record<string, LogLevel | "off">> => {
  const raw = parseOptions("levels", value, Object.keys(LEVELS));
  return Object.fromEntries(
    Object.entries(raw).map(([type, level]) => [type, parseChoice(`levels.${type}`, level, [...METHODS, "off"], "off")]),
  );
};
