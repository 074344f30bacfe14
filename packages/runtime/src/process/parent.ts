/**
 * The parent of processes at work: takes one message at a time, asks `transition` what to do, and carries that out. It decides
 * nothing itself, and nothing of the user's runs in it, so that it stays when anything else falls.
 */
import { type Clock, RheoError, type Timer } from "@rheo/core";
import { LIMITS, parseNumber, parseOptions, systemClock } from "@rheo/core/internal";
import { type Deferred, deferred } from "../deferred.ts";
import type { SupervisorState } from "../supervise.ts";
import { DEFAULT_RESTART } from "../supervisor/restart.ts";
import { ChildHandle } from "./child-process.ts";
import type { FleetEffect, FleetEvent } from "./effects.ts";
import { createProcessEvents, type ProcessEvent, type ProcessEvents } from "./events.ts";
import type { LogLine } from "./log-line.ts";
import type { FleetMessage, Untimed } from "./messages.ts";
import type { SuperviseProcessesSettings } from "./options.ts";
import type { ProcessInfo, ProcessSupervisor } from "./process-supervisor.ts";
import type { Assignment, ToParent } from "./protocol.ts";
import { type FleetState, hasStarted, holderOf, initialFleet, type PlaceState, placeName } from "./state.ts";
import { nextDueAtMs, transition } from "./transition.ts";

export class ProcessParent implements ProcessSupervisor {
  readonly events: ProcessEvents;
  readonly #emit: (event: ProcessEvent) => void;
  readonly #observers: ((event: ProcessEvent) => void)[] = [];
  readonly #settings: SuperviseProcessesSettings;
  readonly #clock: Clock = systemClock;
  readonly #handles = new Map<number, ChildHandle>();
  /** Processes that have ended, and whose last lines may still be under way. */
  readonly #ended = new Set<Promise<void>>();
  readonly #started: Deferred<void> = deferred();
  readonly #failure: Deferred<Error> = deferred<Error>();
  readonly #drained: Deferred<void> = deferred();
  #mailbox: FleetMessage[] = [];
  #isBusy = false;
  #state: FleetState;
  #timer: Timer | null = null;
  #stopping: "no" | "stopping" | "stopped" = "no";

  constructor(settings: SuperviseProcessesSettings) {
    this.#settings = settings;
    const { processes, maxRestarts, withinMs, minMs, maxMs, beatMs, hangMs, startMs, stopTimeoutMs } = settings;
    const policy = { ...DEFAULT_RESTART, maxRestarts, withinMs, minMs, maxMs };
    this.#state = initialFleet({ processes, policy, beatMs, hangMs, startMs, stopTimeoutMs }, this.#clock.monotonic());
    const { events, emit } = createProcessEvents();
    this.events = events;
    this.#emit = emit;
  }

  get state(): SupervisorState {
    if (this.#stopping !== "no") return this.#stopping;
    const { phase, failure } = this.#state;
    return failure !== null && (phase === "running" || phase === "starting") ? "failed" : phase;
  }

  get failure(): Promise<Error> {
    return this.#failure.promise;
  }

  /** Every event of every type, from now on. */
  observe(listener: (event: ProcessEvent) => void): void {
    this.#observers.push(listener);
  }

  /** @throws invalid_option - the config was refused */
  async start(): Promise<void> {
    this.#post({ type: "start" });
    await this.#started.promise;
    const { refusal } = this.#state;
    if (refusal === null) return;
    await this.stop();
    throw new RheoError("invalid_option", refusal, { path: "config" });
  }

  children(): ProcessInfo[] {
    return this.#state.places.map((place, at) => this.#infoOf(place, at));
  }

  restart(): void {
    this.#post({ type: "restart" });
  }

  async drain(options?: { readonly timeoutMs?: number }): Promise<boolean> {
    this.#post({ type: "drain", timeoutMs: parseTimeout("drain", options) });
    await this.#drained.promise;
    return this.#state.isClean;
  }

  async stop(options?: { readonly timeoutMs?: number }): Promise<void> {
    const timeoutMs = parseTimeout("stop", options);
    if (this.#stopping === "no") this.#stopping = "stopping";
    this.#post({ type: "drain", timeoutMs });
    await this.#drained.promise;
    this.#stopping = "stopped";
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  // Mailbox

  #post(message: Untimed): void {
    this.#mailbox.push({ ...message, atMs: this.#clock.monotonic() });
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (let next = this.#mailbox.shift(); next !== undefined; next = this.#mailbox.shift()) this.#handle(next);
    } finally {
      this.#isBusy = false;
    }
    this.#arm();
  }

  #handle(message: FleetMessage): void {
    const [state, effects] = transition(this.#state, message);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
    if (hasStarted(state) && (state.refusal === null || state.phase === "drained")) this.#started.resolve();
  }

  #carryOut(effect: FleetEffect): void {
    switch (effect.type) {
      case "spawn":
        return this.#spawn(effect.place, effect.serial);
      case "drain":
        return this.#handles.get(effect.serial)?.send({ type: "drain", timeoutMs: effect.timeoutMs });
      case "kill":
        return this.#handles.get(effect.serial)?.kill();
      case "tell":
        return this.#tell(effect.event);
      case "finish":
        return void this.#finish();
      default:
        return effect satisfies never;
    }
  }

  /** One timer for all that falls due. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#state.phase === "drained") return;
    this.#timer = this.#clock.schedule(nextDueAtMs(this.#state) - this.#clock.monotonic(), () => this.#post({ type: "tick" }));
  }

  // Processes

  #spawn(place: number, serial: number): void {
    const handle = new ChildHandle(serial, placeName(place), this.#assignment(place), {
      heard: (from, message) => this.#post(asMessage(from, message)),
      exited: (from, how, isDrained) => this.#exited(from, how, isDrained),
      wrote: (line) => this.#write(line),
    });
    this.#handles.set(serial, handle);
  }

  #assignment(place: number): Assignment {
    const { href, store, fallbackStore, processes, beatMs, stopTimeoutMs } = this.#settings;
    return {
      type: "begin",
      config: href,
      store,
      fallbackStore,
      number: place + 1,
      processes,
      parentPid: process.pid,
      beatMs,
      stopTimeoutMs,
    };
  }

  #exited(serial: number, how: string, isDrained: boolean): void {
    const flushed = this.#handles.get(serial)?.flushed ?? Promise.resolve();
    this.#ended.add(flushed);
    void flushed.then(() => this.#ended.delete(flushed));
    this.#post({ type: "exited", serial, how, isDrained, random: Math.random() });
    this.#handles.delete(serial);
  }

  /** A listener that throws has only lost its line. */
  #write(line: LogLine): void {
    try {
      this.#settings.onLine(line);
    } catch {
      // there is nowhere left to tell
    }
  }

  #tell(event: FleetEvent): void {
    const { serial, error, ...rest } = { serial: undefined, error: undefined, ...event };
    const full = {
      ...rest,
      atMs: this.#clock.now(),
      ...(serial === undefined ? {} : { pid: this.#handles.get(serial)?.pid ?? 0 }),
      ...(error === undefined ? {} : { error: new RheoError("unavailable", error) }),
    } as ProcessEvent; // the same event, with the pid for the serial and an error for its text
    this.#emit(full);
    for (const observe of this.#observers) observe(full);
    if (full.type === "supervisor.escalated") this.#failure.resolve(full.error);
  }

  async #finish(): Promise<void> {
    await Promise.all(this.#ended);
    this.#drained.resolve();
  }

  #infoOf(place: PlaceState, at: number): ProcessInfo {
    const holder = holderOf(place);
    const handle = holder === null ? undefined : this.#handles.get(holder.serial);
    return {
      id: placeName(at),
      kind: "process",
      state: this.#activityOf(place),
      restarts: place.history.restarts,
      lastError: place.lastError === null ? null : new RheoError("unavailable", place.lastError),
      details: { pid: handle?.pid ?? null, rssBytes: handle?.rssBytes ?? null, processes: place.processes.length },
      children: handle?.children ?? [],
    };
  }

  #activityOf(place: PlaceState): ProcessInfo["state"] {
    const holder = holderOf(place);
    if (holder !== null) return holder.phase === "ready" ? "running" : "starting";
    if (place.isGivenUp) return "failed";
    if (place.restartAtMs !== null) return "restarting";
    if (place.processes.length > 0) return "draining";
    return this.#state.phase === "starting" ? "starting" : "stopped";
  }
}

const parseTimeout = (what: string, options: unknown): number | null => {
  const { timeoutMs } = parseOptions(what, options, ["timeoutMs"]);
  return timeoutMs === undefined ? null : parseNumber(`${what}.timeoutMs`, timeoutMs, { min: 0, max: LIMITS.durationMs });
};

const asMessage = (serial: number, message: ToParent): Untimed => {
  switch (message.type) {
    case "beat":
      return { type: "beat", serial };
    case "configured":
    case "waiting":
    case "ready":
    case "refused":
    case "failed":
    case "asked":
      return { ...message, serial };
    default:
      return message satisfies never;
  }
};
