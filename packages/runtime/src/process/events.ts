import { channel } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import { guarded } from "@rheo/core/internal";

/**
 * What each type of event of a process supervisor carries, beside `type` and `atMs`. `child` is the id of a place, as in
 * `children()`.
 */
export interface ProcessEventMap {
  "child.started": { readonly child: string; readonly pid: number };
  /** The store cannot be reached; the process tries on. */
  "child.waiting": { readonly child: string; readonly pid: number; readonly reason: string };
  /** Its consumers run. `ready` of `processes` are now. */
  "child.ready": { readonly child: string; readonly pid: number; readonly ready: number; readonly processes: number };
  /** It gave no sign of life for so long, and is killed. */
  "child.unresponsive": { readonly child: string; readonly pid: number; readonly silentMs: number };
  /** It ended, and was not meant to. */
  "child.failed": { readonly child: string; readonly pid: number; readonly error: Error };
  "child.restarting": { readonly child: string; readonly restarts: number; readonly inMs: number };
  /** It was told to drain. */
  "child.draining": { readonly child: string; readonly pid: number; readonly timeoutMs: number };
  /** It ended, as it was told. `drained`: nothing had to be aborted; else `reason` says how it ended. */
  "child.stopped": {
    readonly child: string;
    readonly pid: number;
    readonly drained: boolean;
    readonly reason: string | null;
  };
  /** Processes are being replaced, one after another. */
  "restart.started": { readonly processes: number };
  "restart.finished": Readonly<Record<never, never>>;
  /** A new process did not become ready. The old ones stay. */
  "restart.abandoned": { readonly child: string; readonly error: Error };
  "supervisor.escalated": { readonly child: string; readonly restarts: number; readonly withinMs: number; readonly error: Error };
  "supervisor.draining": { readonly timeoutMs: number };
  "supervisor.drained": { readonly drained: boolean };
}

/** Name of an event of a process supervisor. */
export type ProcessEventType = keyof ProcessEventMap;

/** The event of a process supervisor that has this name. */
export type ProcessEventOf<Type extends ProcessEventType> = {
  readonly type: Type;
  readonly atMs: number;
} & ProcessEventMap[Type];
/** One event of any type, told apart by `type`. */
export type ProcessEvent = { [Type in ProcessEventType]: ProcessEventOf<Type> }[ProcessEventType];

type Listener<Type extends ProcessEventType> = (event: ProcessEventOf<Type>) => void;

/** `on("child.ready", event => …)`, `off`, `once`. Also on `node:diagnostics_channel`, as `rheo:<type>`. */
export interface ProcessEvents {
  /** Calls the listener for each event of a type. */
  on<Type extends ProcessEventType>(type: Type, listener: Listener<Type>): this;
  /** Calls the listener for the next event of a type. */
  once<Type extends ProcessEventType>(type: Type, listener: Listener<Type>): this;
  /** Ends what `on` or `once` began. */
  off<Type extends ProcessEventType>(type: Type, listener: Listener<Type>): this;
  /** How many listeners a type has. */
  listenerCount(type: ProcessEventType): number;
}

/** The emitter of one supervisor. A listener that throws harms nobody: the error becomes a process warning. */
export const createProcessEvents = (): { events: ProcessEvents; emit: (event: ProcessEvent) => void } => {
  const emitter = new EventEmitter();
  const emit = (event: ProcessEvent): void => {
    const frozen = Object.freeze(event);
    channel(`rheo:${event.type}`).publish(frozen);
    for (const listener of emitter.rawListeners(event.type))
      guarded(`A listener of "${event.type}"`, () => Reflect.apply(listener, emitter, [frozen]));
  };
  return { events: emitter, emit };
};
