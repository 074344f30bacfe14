/**
 * Threads that share this one: each runs the sessions that real ones run, on a clock of its own that falls silent when it dies. What
 * goes to and fro takes a moment, as it does between threads.
 */
import {
  asLoaded,
  type PoolOptions,
  type RunningTask,
  SessionGate,
  type SessionTask,
  SliceMemory,
  type TaskEnd,
  ThreadSession,
  type ThreadTask,
  type ToThread,
  type WorkerPool,
} from "@rheo/runtime/internal";
import type { Random } from "@rheo/testing/internal";
import type { Counts } from "./counts.ts";
import { HostClock } from "./host-clock.ts";

export interface VirtualPoolHost {
  readonly clock: HostClock;
  readonly random: Random;
  readonly counts: Counts;
  /** What the module exports, in one thread. */
  handlerOf(module: string, thread: VirtualThread): unknown;
}

interface Task {
  readonly work: ThreadTask;
  readonly end: (end: TaskEnd) => void;
  terminated: string | null;
}

/** The longest that a message takes, and that a dead thread goes unnoticed, in ms. */
const MESSAGE_MS = 2;
const EXIT_MS = 5;
/** The longest that a new one takes to come up. */
const START_MS = 40;

let ids = 0;

export class VirtualThread {
  readonly id: number = ++ids;
  readonly clock: HostClock;
  task: Task | null = null;
  session: ThreadSession | null = null;
  readonly #die: (thread: VirtualThread, reason: string) => void;

  constructor(host: HostClock, die: (thread: VirtualThread, reason: string) => void) {
    this.clock = new HostClock(host, 0);
    this.#die = die;
  }

  /** Ends it, as `process.exit` in a handler would. */
  die(reason: string): void {
    this.#die(this, reason);
  }
}

export class VirtualPool implements WorkerPool {
  readonly #options: PoolOptions;
  readonly #host: VirtualPoolHost;
  readonly #threads = new Map<number, VirtualThread>();
  #deaths = 0;
  #isStopping = false;

  constructor(options: PoolOptions, host: VirtualPoolHost) {
    this.#options = options;
    this.#host = host;
    for (let count = 0; count < options.threads; count++) this.#start();
  }

  get size(): number {
    return this.#options.threads;
  }

  get alive(): number {
    return this.#threads.size;
  }

  get deaths(): number {
    return this.#deaths;
  }

  get busy(): number {
    return [...this.#threads.values()].filter(({ task }) => task !== null).length;
  }

  get free(): number {
    return this.#isStopping ? 0 : this.#threads.size - this.busy;
  }

  threads(): [] {
    return [];
  }

  probe(): Promise<void> {
    return Promise.resolve();
  }

  run(work: ThreadTask, gate: SessionGate | null): RunningTask {
    const thread = [...this.#threads.values()].find(({ task }) => task === null);
    if (thread === undefined) throw new Error("No thread is free.");
    let end: Task["end"] = () => undefined;
    const ended = new Promise<TaskEnd>((resolve) => {
      end = resolve;
    });
    const task: Task = { work, end, terminated: null };
    thread.task = task;
    this.#later(thread.clock, () => this.#begin(thread, task, gate));
    return {
      ended,
      terminate: (reason) => {
        task.terminated ??= reason;
        this.#later(this.#host.clock, () => {
          if (thread.task === task) this.#die(thread, reason);
        });
      },
    };
  }

  reaches(threadId: number): boolean {
    return !this.#isStopping && this.#threads.has(threadId);
  }

  post(threadId: number, message: ToThread): void {
    const thread = this.#threads.get(threadId);
    if (thread === undefined || this.#isStopping) return;
    this.#later(thread.clock, () => {
      if (message.kind === "abort") thread.session?.abort(message);
      else if (thread.session?.id === message.session) thread.session.add(message.slice);
    });
  }

  stop(): Promise<void> {
    this.#isStopping = true;
    for (const thread of this.#threads.values()) thread.clock.kill();
    this.#threads.clear();
    return Promise.resolve();
  }

  /** One that a fault picks; null when there is none. */
  pick(): VirtualThread | null {
    return this.#threads.size === 0 ? null : this.#host.random.pick([...this.#threads.values()]);
  }

  #start(): void {
    const thread = new VirtualThread(this.#host.clock, (dying, reason) => this.#die(dying, reason));
    this.#threads.set(thread.id, thread);
    this.#options.onThreadStarted(thread.id);
  }

  #begin(thread: VirtualThread, task: Task, gate: SessionGate | null): void {
    if (task.work.kind !== "session" || gate === null) return this.#answered(thread, task);
    const session = new ThreadSession(task.work, this.#gateOf(thread, task.work), {
      handler: asLoaded(this.#host.handlerOf(task.work.module, thread)),
      value: undefined,
      clock: thread.clock,
      tell: (message) => {
        if (message.rheo === "hungry") this.#later(this.#host.clock, () => this.#options.onHungry(message.session));
        else if (message.rheo === "extend") this.#later(this.#host.clock, () => this.#options.onExtend(message));
      },
    });
    thread.session = session;
    void session.run().then(() => this.#later(thread.clock, () => this.#answered(thread, task)));
  }

  #gateOf(thread: VirtualThread, work: SessionTask): SessionGate {
    const gate = new SessionGate(new SliceMemory(work.first.memory));
    gate.threadId = thread.id;
    return gate;
  }

  #answered(thread: VirtualThread, task: Task): void {
    if (thread.task !== task) return;
    thread.task = null;
    thread.session = null;
    task.end({ kind: "answered", answer: { ok: true } });
    this.#options.onFree();
  }

  #die(thread: VirtualThread, reason: string): void {
    if (!this.#threads.delete(thread.id)) return;
    thread.clock.kill();
    const { task } = thread;
    this.#deaths += 1;
    this.#host.clock.later(this.#host.random.below(EXIT_MS), () => {
      if (this.#isStopping) return;
      if (task === null) this.#options.onIdleDeath(thread.id, reason);
      else {
        task.end({ kind: "died", threadId: thread.session === null ? 0 : thread.id, reason: task.terminated ?? reason });
        this.#options.onFree();
      }
      this.#host.clock.later(this.#host.random.below(START_MS), () => {
        if (this.#isStopping) return;
        this.#start();
        this.#options.onFree();
      });
    });
  }

  #later(clock: HostClock, work: () => void): void {
    clock.later(this.#host.random.below(MESSAGE_MS + 1), work);
  }
}
