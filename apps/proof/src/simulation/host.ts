/** One process of a deployment: a Rheo of its own over the network, and the real supervisor with the real groups in it. */
import { type Backend, Rheo } from "@rheo/core";
import type { ConsumerOptions, Supervisor } from "@rheo/runtime";
import { superviseIn } from "@rheo/runtime/internal";
import type { Random } from "@rheo/testing/internal";
import type { Counts } from "./counts.ts";
import type { Handlers, Room } from "./handlers.ts";
import { HostClock } from "./host-clock.ts";
import type { Memories } from "./memories.ts";
import { networkTo } from "./network.ts";
import type { FaultPlan, GroupPlan, Plan } from "./plan.ts";
import { VirtualPool, type VirtualThread } from "./virtual-pool.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { STREAM } from "./watch.ts";

export interface HostWorld {
  readonly plan: Plan;
  readonly store: Backend;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly counts: Counts;
  readonly handlers: Handlers;
  readonly faults: () => FaultPlan;
  readonly memories: Memories;
  /** Something that must never happen. */
  fault(text: string): void;
  /** For a trace. */
  note(text: string): void;
  /** A host ended by itself. */
  died(host: Host): void;
}

/** How long a host that is told to stop waits for its handlers. */
const STOP_MS = 1_000;
/** After so long nothing of it may be left. */
const LAST_MS = 5_000;
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export class Host {
  readonly name: string;
  readonly clock: HostClock;
  readonly #world: HostWorld;
  #app: Supervisor | null = null;
  #pool: VirtualPool | null = null;
  #rheo: Rheo | null = null;
  #started: Promise<void> | null = null;

  constructor(name: string, world: HostWorld, skewMs: number) {
    this.name = name;
    this.#world = world;
    this.clock = new HostClock(world.time, skewMs);
  }

  get isAlive(): boolean {
    return !this.clock.isDead;
  }

  /** Never resolves in a process that is killed meanwhile. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  async #start(): Promise<void> {
    const { store, time, random, counts, faults, plan } = this.#world;
    const backend = networkTo({ store, host: this.clock, time, random, counts, faults });
    this.#rheo = await Rheo.open({ backend, clock: this.clock, random: () => random.next(), name: this.name });
    this.#rheo.events.on("handler.timed_out", () => {
      counts.timeouts += 1;
    });
    this.#app = await superviseIn(
      {
        rheo: this.#rheo,
        consumers: plan.groups.map((group) => this.#consumer(group)),
        threads: plan.threads,
        stopTimeoutMs: STOP_MS,
        maxRestarts: 100,
        logger: SILENT,
      },
      (options) => {
        this.#pool = new VirtualPool(options, {
          clock: this.clock,
          random,
          counts,
          handlerOf: (module, thread) => this.#handlerIn(module, thread),
        });
        return this.#pool;
      },
      () => this.#world.memories.take(),
    );
  }

  /** SIGKILL. */
  kill(): void {
    this.#world.note(`${this.name} is killed`);
    this.clock.kill();
  }

  /** An orderly stop, to the end. */
  async stop(): Promise<void> {
    this.#world.note(`${this.name} is told to stop`);
    await this.#started;
    await this.#app?.stop();
    await this.#rheo?.close();
    // what was on its way when it stopped may still be given back
    await new Promise<void>((resolve) => this.clock.later(LAST_MS, resolve));
    if (this.clock.pending > 0) this.#world.fault(`${this.name} was stopped, and ${this.clock.pending} of its timers go on`);
    this.clock.kill();
  }

  killThread(): boolean {
    const thread = this.#pool?.pick() ?? null;
    if (thread !== null) this.#world.note(`${this.name} loses thread ${thread.id}`);
    thread?.die("killed by a fault");
    return thread !== null;
  }

  /** What its groups have come to. */
  get failure(): string | null {
    const failed = this.#app?.children().find(({ state }) => state === "failed");
    return failed === undefined ? null : `${failed.id}: ${failed.lastError}`;
  }

  #consumer(group: GroupPlan): ConsumerOptions {
    const { execution, batch, timeoutMs, breaker, rateLimit, maxDemand, concurrency, pollMs } = group;
    return {
      stream: STREAM,
      group: group.name,
      handler: execution === "worker" ? moduleOf(group) : this.#world.handlers.of(group, this.#room()),
      concurrency,
      pollMs,
      consumerId: this.name,
      ...(batch === null ? {} : { batch }),
      ...(timeoutMs === null ? {} : { timeoutMs }),
      ...(breaker === null ? {} : { breaker }),
      ...(rateLimit === null ? {} : { rateLimit }),
      ...(maxDemand === null ? {} : { maxDemand }),
      ...(group.assigned ? { partitions: "assigned" as const } : {}),
    };
  }

  #handlerIn(module: string, thread: VirtualThread): unknown {
    const group = this.#world.plan.groups.find((candidate) => moduleOf(candidate) === module);
    if (group === undefined) throw new TypeError(`no group has the module ${module}`);
    const room = { ...this.#room(), clock: thread.clock, killThread: () => thread.die("it called process.exit") };
    return this.#world.handlers.of(group, room);
  }

  #room(): Room {
    return {
      clock: this.clock,
      killThread: () => this.#world.fault(`${this.name} has no thread here that could die`),
      killProcess: () => {
        this.kill();
        this.#world.died(this);
      },
    };
  }
}

/** No such file is there: what a thread would load is made by the simulation. */
const moduleOf = ({ name }: GroupPlan): string => `file:///simulated/${name}.handler.js`;
