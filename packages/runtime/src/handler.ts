/**
 * What a handler module imports: tiny, and safe in a worker thread. At run time it holds nothing of the supervisor, the pool or
 * a backend.
 */
import type { Event, Json, LeaseRef, StreamDefinition } from "@rheo/core";

export { ack, type Event, type Json, type Outcome, reject, release, retry } from "@rheo/core";

/** Where a handler writes what people should read. The default is the console of the thread it runs in. */
export interface Logger {
  /** For who looks for a fault. */
  debug(...parts: unknown[]): void;
  /** What happens. */
  info(...parts: unknown[]): void;
  /** What may become a fault. */
  warn(...parts: unknown[]): void;
  /** What is one. */
  error(...parts: unknown[]): void;
}

/** What a handler is told about the delivery it works on. */
export interface HandlerContext<Setup = unknown> {
  /** How many times this delivery has been started, from 1. */
  readonly attempt: number;
  /** The fencing token of the lease: safe to hand to another system (F1). */
  readonly token: number;
  readonly partition: number;
  readonly sequence: number;
  /**
   * Names the lease, so that a handler can settle it in a transaction of its own: `rheo.ack(context.lease, { transaction })` (T8). What
   * the runtime then says of the delivery changes nothing any more (F4).
   */
  readonly lease: LeaseRef;
  /** Aborted when the lease is lost, the handler has timed out, or a drain has run out of time. */
  readonly signal: AbortSignal;
  /** When the handler times out, by the clock of its thread; null without `timeoutMs`. */
  readonly deadline: Date | null;
  /** What `setup` returned in this thread. */
  readonly value: Setup;
  readonly logger: Logger;
  /**
   * Moves the deadline to `ms` from now and has the lease renewed at once. Renewal goes on by itself while a handler runs, so
   * only handlers with a `timeoutMs` need it.
   */
  extend(ms: number): void;
}

/** What a batch handler is told. */
export interface BatchContext<Setup = unknown> {
  /** One per event, in the same order. */
  readonly deliveries: readonly HandlerContext<Setup>[];
  /** Aborted when every delivery's signal is. */
  readonly signal: AbortSignal;
  readonly value: Setup;
  readonly logger: Logger;
}

/** An outcome or a promise of one. Nothing, or any value that is no outcome, is an ack; throwing is a retry. */
export type HandlerResult = unknown;

/** Handles one event. What it returns settles the delivery: nothing means ack, and what it throws a retry. */
export type HandlerFunction<Payload = Json, Setup = unknown> = (
  event: Event<Payload>,
  context: HandlerContext<Setup>,
) => HandlerResult;
/** Returns one outcome for all events, or an array with one for each. */
export type BatchHandlerFunction<Payload = Json, Setup = unknown> = (
  events: readonly Event<Payload>[],
  context: BatchContext<Setup>,
) => HandlerResult;

/** What a handler module does once for each thread, and the definition that types its payload. */
export interface HandlerOptions<Setup, Payload = unknown> {
  /**
   * The definition of the stream that is handled. It types the payloads, and events of older versions arrive in the newest shape.
   * A handler without it takes events of any stream, as they are stored.
   */
  readonly stream?: StreamDefinition<Payload, unknown>;
  /** Runs once per thread, before the first event there; its value is `context.value`. A failure restarts the consumer. */
  readonly setup?: () => Setup | Promise<Setup>;
  /** Runs before the thread ends in an orderly stop. Not run in a thread that dies. */
  readonly teardown?: (value: Setup) => unknown;
}

/** Marks what {@link handler} made. Registered, so that it holds across copies of this module. */
export const HANDLER: unique symbol = Symbol.for("rheo.handler");

/** A handler with its setup and teardown: the default export of a handler module. */
export interface DefinedHandler {
  (...parts: never[]): unknown;
  readonly [HANDLER]: {
    /** What handles an event, or a batch. */
    readonly run: (...parts: never[]) => unknown;
    /** Runs once for each thread, before its first event. */
    readonly setup: (() => unknown) | null;
    /** Runs before the thread ends in an orderly stop. */
    readonly teardown: ((value: never) => unknown) | null;
    readonly stream: StreamDefinition<unknown, unknown> | null;
  };
}

/** Defines a handler of single events. @throws TypeError - not a function */
export const handler = <Payload = Json, Setup = undefined>(
  run: HandlerFunction<Payload, Setup>,
  options: HandlerOptions<Setup, Payload> = {},
): DefinedHandler => define(run, options);

/** Defines a handler of batches, for consumers with the `batch` option. @throws TypeError - not a function */
export const batchHandler = <Payload = Json, Setup = undefined>(
  run: BatchHandlerFunction<Payload, Setup>,
  options: HandlerOptions<Setup, Payload> = {},
): DefinedHandler => define(run, options);

const define = <Setup>(
  run: (...parts: never[]) => unknown,
  { setup, teardown, stream }: HandlerOptions<Setup>,
): DefinedHandler => {
  for (const [name, part] of Object.entries({ handler: run, setup: setup ?? define, teardown: teardown ?? define })) {
    if (typeof part !== "function")
      throw new TypeError(`${name} must be a function, not ${part === null ? "null" : typeof part}.`);
  }
  if (stream !== undefined && !Array.isArray(stream?.upcasters))
    throw new TypeError("stream must be what defineStream(…) returned.");
  const wrapped = (...parts: never[]): unknown => run(...parts); // the caller's function is left unmarked
  return Object.freeze(
    Object.assign(wrapped, {
      [HANDLER]: Object.freeze({ run, setup: setup ?? null, teardown: teardown ?? null, stream: stream ?? null }),
    }),
  );
};
