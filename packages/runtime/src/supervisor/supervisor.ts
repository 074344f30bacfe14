/**
 * Starts children in order, restarts them when they fail, stops them in reverse order. When and how often is decided in
 * `restart.ts`; which ones, by the strategy:
 *
 * - `one_for_one`: the one that failed; the intensity is counted for each child
 * - `one_for_all`: all; the intensity is counted for all together
 * - `rest_for_one`: the one that failed and those started after it; the same
 *
 * When the intensity is exceeded, those that would have been restarted are given up: a visible end, told to the owner.
 */
import type { Clock, Emit, Timer } from "@rheo/core";
import { type Deferred, deferred } from "../deferred.ts";
import type { Child, ChildInfo, ChildSpec } from "./child.ts";
import { NO_FAILURES, onFailure, type RestartHistory, type RestartPolicy } from "./restart.ts";

/** Who is restarted beside a child that died: nobody, everybody, or those started after it. */
export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one";

export interface SupervisorOptions {
  readonly specs: readonly ChildSpec[];
  readonly strategy: Strategy;
  readonly policy: RestartPolicy;
  readonly clock: Clock;
  readonly random: () => number;
  readonly emit: Emit;
}

/** A place in the tree; its child changes with each restart. */
interface Place {
  readonly spec: ChildSpec;
  child: Child | null;
  /** Tells the failures of an older child apart. */
  generation: number;
  history: RestartHistory;
  lastError: Error | null;
  state: "idle" | "up" | "restarting" | "failed" | "stopped";
  isPaused: boolean;
}

/** For siblings that have to stop because another failed: their work goes back, it is not waited for. */
const SIBLING_STOP_MS = 0;

export class ChildSupervisor {
  readonly #options: SupervisorOptions;
  readonly #places: readonly Place[];
  readonly #escalated: Deferred<Error> = deferred<Error>();
  #history: RestartHistory = NO_FAILURES;
  #timers = new Set<Timer>();
  #stopping: Promise<void> | null = null;
  #failure: Error | null = null;
  /** Restarts one after another. */
  #work: Promise<void> = Promise.resolve();

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#places = options.specs.map((spec) => ({
      spec,
      child: null,
      generation: 0,
      history: NO_FAILURES,
      lastError: null,
      state: "idle",
      isPaused: false,
    }));
  }

  /** The first error that a child was given up for; null while there is none. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Resolves with {@link failure}; stays pending as long as there is none. */
  get escalated(): Promise<Error> {
    return this.#escalated.promise;
  }

  get isStopping(): boolean {
    return this.#stopping !== null;
  }

  /** Starts all, in order. Failures are answered by restarts, not thrown. */
  async start(): Promise<void> {
    for (const place of this.#places) {
      if (this.#stopping !== null) return;
      if (place.state === "idle") await this.#startOne(place);
    }
  }

  children(): ChildInfo[] {
    return this.#places.map(({ spec, child, history, lastError, state }) => {
      const status = child?.status();
      return {
        id: spec.id,
        kind: spec.kind,
        state: state === "up" ? (status?.state ?? "starting") : state === "idle" ? "starting" : state,
        restarts: history.restarts,
        lastError,
        details: status?.details ?? {},
        children: status?.children ?? [],
      };
    });
  }

  /** A paused child stays paused through restarts. Ids unknown here are ignored; null means all. */
  pause(id: string | null): void {
    for (const place of this.#named(id)) {
      place.isPaused = true;
      place.child?.pause();
    }
  }

  resume(id: string | null): void {
    for (const place of this.#named(id)) {
      place.isPaused = false;
      place.child?.resume();
    }
  }

  has(id: string): boolean {
    return this.#places.some(({ spec }) => spec.id === id);
  }

  /** Drains all children of a kind together. False when one was resumed before it was done. */
  async drain(kind: ChildSpec["kind"], timeoutMs: number): Promise<boolean> {
    const draining = this.#places.filter(({ spec, state }) => spec.kind === kind && state === "up");
    const drained = await Promise.all(draining.map(async ({ child }) => (await child?.drain(timeoutMs)) ?? true));
    return !drained.includes(false);
  }

  /** Stops the groups together, then the rest in reverse order. Idempotent; also while starting. */
  stop(timeoutMs: number): Promise<void> {
    this.#stopping ??= this.#stop(timeoutMs);
    return this.#stopping;
  }

  async #stop(timeoutMs: number): Promise<void> {
    await Promise.resolve(); // `#stopping` is set before anything below looks at it
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    const groups = this.#places.filter(({ spec }) => spec.kind === "group");
    await Promise.all([...groups].reverse().map((place) => this.#stopOne(place, timeoutMs)));
    await this.#work;
    for (const place of [...this.#places].reverse()) await this.#stopOne(place, timeoutMs);
  }

  async #startOne(place: Place): Promise<void> {
    place.generation += 1;
    const { generation, spec } = place;
    place.state = "up";
    const child = spec.create((error) => this.#failed(place, generation, error));
    place.child = child;
    if (place.isPaused) child.pause();
    this.#options.emit("child.started", { child: spec.id });
    try {
      await child.start();
    } catch (cause) {
      await child.stop(SIBLING_STOP_MS);
      this.#failed(place, generation, cause instanceof Error ? cause : new Error(String(cause)));
    }
  }

  async #stopOne(place: Place, timeoutMs: number): Promise<void> {
    const { child } = place;
    place.generation += 1;
    place.child = null;
    if (place.state !== "failed") place.state = "stopped";
    if (child === null) return;
    await child.stop(timeoutMs);
    this.#options.emit("child.stopped", { child: place.spec.id });
  }

  #failed(place: Place, generation: number, error: Error): void {
    if (place.generation !== generation || this.#stopping !== null) return;
    const { clock, random, policy, strategy, emit } = this.#options;
    place.generation += 1;
    place.child = null;
    place.lastError = error;
    emit("child.failed", { child: place.spec.id, error });
    const shared = strategy !== "one_for_one";
    const decision = onFailure(policy, shared ? this.#history : place.history, clock.monotonic(), random());
    if (shared) this.#history = decision.history;
    place.history = shared ? { ...place.history, restarts: place.history.restarts + 1 } : decision.history;
    const affected = this.#affectedBy(place);
    if (decision.kind === "escalate") return this.#giveUp(place, affected, error);
    for (const one of affected) one.state = "restarting";
    emit("child.restarting", { child: place.spec.id, restarts: place.history.restarts, inMs: decision.inMs });
    this.#restartLater(affected, decision.inMs);
  }

  #affectedBy(place: Place): Place[] {
    switch (this.#options.strategy) {
      case "one_for_one":
        return [place];
      case "one_for_all":
        return this.#places.filter(({ state }) => state !== "failed");
      case "rest_for_one":
        return this.#places.slice(this.#places.indexOf(place)).filter(({ state }) => state !== "failed");
      default:
        return this.#options.strategy satisfies never;
    }
  }

  #restartLater(affected: readonly Place[], inMs: number): void {
    const stopped = this.#stopAll(affected, "restarting");
    const timer = this.#options.clock.schedule(inMs, () => {
      this.#timers.delete(timer);
      this.#enqueue(async () => {
        await stopped;
        for (const place of affected) if (this.#stopping === null && place.state === "restarting") await this.#startOne(place);
      });
    });
    this.#timers.add(timer);
  }

  #giveUp(place: Place, affected: readonly Place[], error: Error): void {
    const { policy, emit } = this.#options;
    for (const one of affected) one.lastError ??= error;
    this.#failure ??= error;
    void this.#stopAll(affected, "failed");
    for (const one of affected) one.spec.onGivenUp?.(error);
    emit("supervisor.escalated", { child: place.spec.id, restarts: place.history.restarts, withinMs: policy.withinMs, error });
    this.#escalated.resolve(error);
  }

  /** In reverse order. */
  #stopAll(affected: readonly Place[], state: "restarting" | "failed"): Promise<void> {
    for (const place of affected) place.state = state;
    const work = this.#work.then(async () => {
      for (const place of [...affected].reverse()) {
        const { child } = place;
        if (child === null || place.state !== state) continue;
        place.generation += 1;
        place.child = null;
        await child.stop(SIBLING_STOP_MS);
        this.#options.emit("child.stopped", { child: place.spec.id });
      }
    });
    this.#work = work;
    return work;
  }

  #enqueue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work);
  }

  #named(id: string | null): readonly Place[] {
    return id === null ? this.#places : this.#places.filter(({ spec }) => spec.id === id);
  }
}
