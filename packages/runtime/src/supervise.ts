import { RheoError, type RheoEvents } from "@rheo/core";
import { internalsOf, isVersioned, LIMITS, parseNumber, parseOptions, type RheoInternals } from "@rheo/core/internal";
import { type ConsumerDefinition, newConsumerId } from "./consumer.ts";
import { deferred } from "./deferred.ts";
import { GroupActor } from "./group/actor.ts";
import { groupChild } from "./group/group-child.ts";
import { InlineRunner } from "./group/inline.ts";
import { ThreadRunner } from "./group/threaded.ts";
import { type PoolOptions, ThreadPool, type WorkerPool } from "./pool/pool.ts";
import { poolChild } from "./pool/pool-child.ts";
import { SliceMemory } from "./pool/protocol.ts";
import { Slots } from "./pool/slots.ts";
import { Maintainer } from "./retention/maintainer.ts";
import type { RetentionPolicy } from "./retention/policy.ts";
import { retentionChild } from "./retention/retention-child.ts";
import { parseSuperviseOptions, type SuperviseOptions, type SuperviseSettings } from "./supervise-options.ts";
import type { Child, ChildInfo, ChildSpec } from "./supervisor/child.ts";
import { DEFAULT_RESTART } from "./supervisor/restart.ts";
import { ChildSupervisor } from "./supervisor/supervisor.ts";

/**
 * - `failed`: a consumer was given up; the others go on
 * - `drained`: all work is done and nothing is held; only `stop` is left to do
 */
export type SupervisorState = "starting" | "running" | "failed" | "draining" | "drained" | "stopping" | "stopped";

/** Consumers at work, as a tree. */
export interface Supervisor extends AsyncDisposable {
  readonly state: SupervisorState;
  /** Resolves with the error when a consumer is given up, so that its owner can act; stays pending otherwise. Never rejects. */
  readonly failure: Promise<Error>;
  /** The same as `rheo.events`. */
  readonly events: RheoEvents;
  /** The tree as data: the worker pool with its threads, if there is one, then each consumer. {@link ChildInfo} says what is in it. */
  children(): ChildInfo[];
  /** Fetches nothing more, and gives back what has not begun; handlers that run may finish. `id` as in `children()`; default all. @throws invalid_option */
  pause(id?: string): void;
  /** Ends a pause, or a drain that is not complete. @throws invalid_option */
  resume(id?: string): void;
  /**
   * Stops fetching, gives back what has not begun, lets handlers finish and settles. What still runs after `timeoutMs` (default
   * `stopTimeoutMs`) is aborted and given back, uncharged. Resolves with true when nothing is held, with false when a `resume`
   * came first.
   * @throws invalid_option
   */
  drain(options?: { readonly timeoutMs?: number }): Promise<boolean>;
  /** Drains, then ends all threads and timers. Idempotent; bounded even when the store is away or a handler never ends. */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/**
 * Starts consumers under a supervisor. Resolves when each has started or has met an obstacle that it deals with by itself: a
 * store that is away is waited for, a failure is answered by restarts, as `children()` and `events` tell.
 * @throws invalid_option, invalid_name - a wrong option, or a handler module that cannot be loaded; nothing is left running
 * @throws aborted - the signal aborted before it had started; nothing is left running
 */
export const supervise = (options: SuperviseOptions): Promise<Supervisor> =>
  superviseIn(options, (poolOptions) => new ThreadPool(poolOptions));

/** The same with threads of another make, and memory for what they are given from elsewhere. */
export const superviseIn = async (
  options: SuperviseOptions,
  createPool: (options: PoolOptions) => WorkerPool,
  newMemory: () => SliceMemory = () => new SliceMemory(),
): Promise<Supervisor> => {
  const settings = parseSuperviseOptions(options);
  const { signal } = settings;
  const tree = new Tree(settings, createPool, newMemory);
  if (signal === null) {
    await tree.start();
    return tree;
  }
  const aborted = deferred();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  const started = signal.aborted ? aborted.promise : tree.start();
  await Promise.race([started, aborted.promise]);
  if (signal.aborted) {
    started.catch(() => undefined); // whatever became of it, it is stopped
    await tree.stop();
    throw new RheoError("aborted", "The supervisor was told to stop while it started.", {}, { cause: signal.reason });
  }
  void aborted.promise.then(() => tree.stop());
  return tree;
};

class Tree implements Supervisor {
  readonly events: RheoEvents;
  readonly #settings: SuperviseSettings;
  readonly #newPool: (options: PoolOptions) => WorkerPool;
  readonly #internals: RheoInternals;
  readonly #slots: Slots;
  readonly #supervisor: ChildSupervisor;
  /** Tries the handler modules out. */
  #probing: WorkerPool | null = null;
  #phase: "starting" | "running" | "draining" | "drained" | "stopping" | "stopped" = "starting";

  constructor(settings: SuperviseSettings, newPool: (options: PoolOptions) => WorkerPool, newMemory: () => SliceMemory) {
    this.#settings = settings;
    this.#newPool = newPool;
    this.#internals = internalsOf(settings.rheo);
    this.events = settings.rheo.events;
    this.#slots = new Slots(this.#internals.clock, newMemory);
    const { strategy, maxRestarts, withinMs, minMs, maxMs } = settings;
    const { clock, random, emit } = this.#internals;
    this.#supervisor = new ChildSupervisor({
      specs: this.#specs(),
      strategy,
      policy: { ...DEFAULT_RESTART, maxRestarts, withinMs, minMs, maxMs },
      clock,
      random,
      emit,
    });
  }

  get state(): SupervisorState {
    return this.#supervisor.failure !== null && this.#phase === "running" ? "failed" : this.#phase;
  }

  get failure(): Promise<Error> {
    return this.#supervisor.escalated;
  }

  async start(): Promise<void> {
    await this.#probe();
    if (this.#phase === "starting") await this.#supervisor.start();
    if (this.#phase === "starting") this.#phase = "running";
  }

  children(): ChildInfo[] {
    return this.#supervisor.children();
  }

  pause(id?: string): void {
    this.#supervisor.pause(this.#known(id));
  }

  resume(id?: string): void {
    if (this.#phase === "draining") this.#phase = "running";
    this.#supervisor.resume(this.#known(id));
  }

  async drain(options?: { readonly timeoutMs?: number }): Promise<boolean> {
    const timeoutMs = this.#timeout("drain", options);
    if (this.#phase === "running") this.#phase = "draining";
    const isDrained = await this.#supervisor.drain("group", timeoutMs);
    if (this.#phase === "draining" && isDrained) this.#phase = "drained";
    return isDrained;
  }

  async stop(options?: { readonly timeoutMs?: number }): Promise<void> {
    const timeoutMs = this.#timeout("stop", options);
    if (this.#phase !== "stopped") this.#phase = "stopping";
    await this.#probing?.stop();
    await this.#supervisor.stop(timeoutMs);
    this.#phase = "stopped";
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #timeout(what: string, options: unknown): number {
    const { timeoutMs } = parseOptions(what, options, ["timeoutMs"]);
    return parseNumber(`${what}.timeoutMs`, timeoutMs, {
      min: 0,
      max: LIMITS.durationMs,
      fallback: this.#settings.stopTimeoutMs,
    });
  }

  #known(id: string | undefined): string | null {
    if (id === undefined || this.#supervisor.has(id)) return id ?? null;
    throw new RheoError(
      "invalid_option",
      `There is no child ${JSON.stringify(id)}; there are: ${this.children()
        .map((child) => child.id)
        .join(", ")}.`,
      { path: "id" },
    );
  }

  /** Modules are tried out before anything starts: one that cannot be loaded is a mistake to be told at once, not to be retried. */
  async #probe(): Promise<void> {
    const workers = this.#workers();
    if (workers.length === 0) return;
    const pool = this.#newPool({ ...this.#poolHooks(() => undefined), threads: 1 });
    this.#probing = pool;
    try {
      for (const { handler, stream, definition } of workers) {
        const needsDefinition = definition !== null && isVersioned(definition);
        if (this.#phase === "starting" && handler.kind === "module") await pool.probe(handler.href, { stream, needsDefinition });
      }
    } finally {
      this.#probing = null;
      await pool.stop();
    }
  }

  #workers(): readonly ConsumerDefinition[] {
    return this.#settings.consumers.filter(({ execution }) => execution === "worker");
  }

  #specs(): ChildSpec[] {
    const { consumers } = this.#settings;
    const ids = new Map<string, number>();
    const groups = consumers.map((consumer): ChildSpec => {
      const name = `${consumer.stream}/${consumer.group}`;
      const count = (ids.get(name) ?? 0) + 1;
      ids.set(name, count);
      return {
        id: count === 1 ? name : `${name}#${count}`,
        kind: "group",
        create: (onFailure) => this.#createGroup(consumer, onFailure),
      };
    });
    const pool: ChildSpec = {
      id: "pool",
      kind: "pool",
      create: (onFailure) => this.#createPool(onFailure),
      onGivenUp: (error) => this.#slots.fail(error),
    };
    const sweepers = this.#settings.retention.map(
      (policy): ChildSpec => ({
        id: `retention:${policy.stream}`,
        kind: "retention",
        create: (onFailure) => this.#createMaintainer(policy, onFailure),
      }),
    );
    return [...(this.#workers().length > 0 ? [pool] : []), ...groups, ...sweepers];
  }

  #createMaintainer(policy: RetentionPolicy, onFailure: (error: Error) => void): Child {
    const consumerId = newConsumerId(this.#internals.random);
    return retentionChild(new Maintainer({ internals: this.#internals, policy, consumerId, onFailure }), consumerId);
  }

  #poolHooks(onFailure: (error: Error) => void): PoolOptions {
    const { clock, emit } = this.#internals;
    return {
      threads: this.#settings.threads,
      resourceLimits: this.#settings.resourceLimits,
      clock,
      onThreadStarted: (threadId) => emit("thread.started", { threadId }),
      onIdleDeath: (threadId, reason) => emit("thread.died", { threadId, reason, charged: 0, redispatched: 0 }),
      onFree: () => this.#slots.pump(),
      onExtend: (message) => this.#slots.extend(message),
      onHungry: (session) => this.#slots.hungry(session),
      onFailure,
    };
  }

  #createPool(onFailure: (error: Error) => void): Child {
    const pool = this.#newPool(
      this.#poolHooks((error) => {
        this.#slots.detach();
        void pool.stop().then(() => onFailure(error));
      }),
    );
    return poolChild(pool, this.#slots);
  }

  #createGroup(consumer: ConsumerDefinition, onFailure: (error: Error) => void): Child {
    const { rheo, logger } = this.#settings;
    const consumerId = consumer.consumerId ?? newConsumerId(this.#internals.random);
    const actor = new GroupActor({
      rheo,
      consumer,
      consumerId,
      logger,
      createRunner: (host) =>
        consumer.execution === "worker" && consumer.handler.kind === "module"
          ? new ThreadRunner(host, this.#slots, consumer.handler.href)
          : new InlineRunner(host),
      onFailure,
    });
    return groupChild(actor, consumerId);
  }
}
