/**
 * The port to piscina. What it relies on, and what it does not:
 * - tasks go only to idle threads, so piscina's queue is never used;
 * - every task has a signal, so each thread runs one at a time, and aborting it terminates that thread;
 * - a death is known from the thread's own exit, matched with the thread id at the session's gate; piscina's promise is the
 *   second source, for a thread that died before it began;
 * - piscina stops replacing threads once one has died while coming up: then the whole pool is reported as failed.
 */
import type { EventLoopUtilization } from "node:perf_hooks";
import { BroadcastChannel, type ResourceLimits, type Worker } from "node:worker_threads";
import { type Clock, RheoError } from "@rheo/core";
import { failureText } from "@rheo/core/internal";
import { Piscina } from "piscina";
import { type Deferred, deferred } from "../deferred.ts";
import type { HandlerUse } from "../load-handler.ts";
import { waitAtMost } from "../time-limit.ts";
import {
  channelOf,
  type ExtendMessage,
  type FromThread,
  isFromThread,
  type MemoryMessage,
  type SessionGate,
  type ThreadAnswer,
  type ThreadTask,
  type ToThread,
} from "./protocol.ts";

export interface PoolOptions {
  readonly threads: number;
  readonly resourceLimits: ResourceLimits | null;
  readonly clock: Clock;
  onThreadStarted(threadId: number): void;
  /** A thread died that ran no slice. */
  onIdleDeath(threadId: number, reason: string): void;
  /** A thread may be free. */
  onFree(): void;
  onExtend(message: ExtendMessage): void;
  /** A session will soon have nothing to begin. */
  onHungry(session: number): void;
  /** Called once, when the pool cannot keep its size. */
  onFailure(error: Error): void;
}

/** Threads that run sessions, as slots and supervisors see them. */
export interface WorkerPool {
  /** Threads that it keeps. */
  readonly size: number;
  /** Threads that are there, this moment. */
  readonly alive: number;
  /** Threads that ended without being told to by `stop`. */
  readonly deaths: number;
  readonly busy: number;
  /** Threads that would begin a task at once. */
  readonly free: number;
  threads(): ThreadFigures[];
  /** Loads a handler module in a thread, to fail early and clearly. @throws invalid_option */
  probe(module: string, use: HandlerUse): Promise<void>;
  /** Runs a task on a free thread. */
  run(work: ThreadTask, gate: SessionGate | null): RunningTask;
  /** Whether what is posted to a thread arrives. */
  reaches(threadId: number): boolean;
  /** To a thread that is there; else it goes nowhere, and the end of the thread is being told. */
  post(threadId: number, message: ToThread): void;
  /** Runs the teardowns, then ends all threads. Call it when no slice runs. Idempotent, bounded. */
  stop(): Promise<void>;
}

export type TaskEnd =
  | { readonly kind: "answered"; readonly answer: ThreadAnswer }
  /** `threadId` is 0 when the thread died before it began. */
  | { readonly kind: "died"; readonly threadId: number; readonly reason: string };

export interface RunningTask {
  readonly ended: Promise<TaskEnd>;
  /** Ends the thread. `ended` follows once it is gone. */
  terminate(reason: string): void;
}

interface Task {
  readonly gate: SessionGate | null;
  readonly end: Deferred<TaskEnd>;
  terminated: string | null;
}

interface Thread {
  readonly worker: Worker;
  readonly channel: BroadcastChannel;
  readonly exited: Deferred<void>;
  error: unknown;
  /** What it last said of its memory. */
  memory: MemoryMessage | null;
  /** The utilization of its event loop is measured from `since` on; `next` takes its place when it is old enough. */
  since: EventLoopUtilization;
  next: { readonly at: EventLoopUtilization; readonly ms: number };
}

/** A thread as people see it. */
export interface ThreadFigures {
  readonly threadId: number;
  /** Whether it runs a task. */
  readonly isBusy: boolean;
  /** Share of the last second or more (since it was last asked for) in which its event loop was busy, 0–1. */
  readonly utilization: number;
  /** In bytes, as of the last second in which it worked; null before. */
  readonly heapUsed: number | null;
  readonly heapLimit: number | null;
  readonly external: number | null;
}

/** The utilization of a thread is a mean over at least so long. */
const UTILIZATION_MS = 1_000;

/** After a termination the thread is normally gone in a few ms; one that hangs in native code is not waited for longer. */
const EXIT_WAIT_MS = 1_000;
const TEARDOWN_MS = 5_000;
const DESTROY_MS = 5_000;
const PROBE_MS = 60_000;

let pools = 0;

export class ThreadPool implements WorkerPool {
  readonly #options: PoolOptions;
  readonly #piscina: Piscina<ThreadTask, ThreadAnswer>;
  readonly #channel: string;
  readonly #threads = new Map<number, Thread>();
  readonly #seen = new WeakSet<Worker>();
  readonly #tasks = new Set<Task>();
  #stopping: Promise<void> | null = null;
  #failed = false;
  #deaths = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#channel = `rheo-runtime-${process.pid}-${++pools}`;
    this.#piscina = new Piscina<ThreadTask, ThreadAnswer>({
      filename: new URL("./thread-entry.cjs", import.meta.url).href,
      minThreads: options.threads,
      maxThreads: options.threads,
      concurrentTasksPerWorker: 1,
      atomics: "disabled",
      recordTiming: false,
      workerData: { channel: this.#channel },
      ...(options.resourceLimits === null ? {} : { resourceLimits: options.resourceLimits }),
    });
    this.#piscina.on("error", () => undefined); // deaths are seen at the threads
    this.#piscina.on("message", (message: unknown) => {
      if (isFromThread(message)) this.#hear(message);
    });
    this.#piscina.on("workerCreate", () => setImmediate(() => this.#meetThreads()));
    this.#meetThreads();
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
    return this.#tasks.size;
  }

  threads(): ThreadFigures[] {
    const busy = new Set([...this.#tasks].map(({ gate }) => gate?.threadId));
    return [...this.#threads].map(([threadId, thread]) => ({
      threadId,
      isBusy: busy.has(threadId),
      utilization: this.#utilization(thread),
      heapUsed: thread.memory?.heapUsed ?? null,
      heapLimit: thread.memory?.heapLimit ?? null,
      external: thread.memory?.external ?? null,
    }));
  }

  #utilization(thread: Thread): number {
    const now = thread.worker.performance.eventLoopUtilization();
    const nowMs = this.#options.clock.monotonic();
    const { utilization } = thread.worker.performance.eventLoopUtilization(now, thread.since);
    if (nowMs - thread.next.ms >= UTILIZATION_MS) {
      thread.since = thread.next.at;
      thread.next = { at: now, ms: nowMs };
    }
    return utilization;
  }

  #hear(message: FromThread): void {
    switch (message.rheo) {
      case "extend":
        return this.#options.onExtend(message);
      case "hungry":
        return this.#options.onHungry(message.session);
      case "memory": {
        const thread = this.#threads.get(message.threadId);
        if (thread !== undefined) thread.memory = message;
        return;
      }
      default:
        return message satisfies never;
    }
  }

  get free(): number {
    return this.#stopping === null && !this.#failed ? this.#piscina.idleThreads : 0;
  }

  async probe(module: string, use: HandlerUse): Promise<void> {
    const task = this.run({ kind: "probe", module, ...use }, null);
    const timer = this.#options.clock.schedule(PROBE_MS, () => task.terminate(`it did not finish loading within ${PROBE_MS} ms`));
    const end = await task.ended;
    timer.cancel();
    if (end.kind === "answered" && end.answer.ok) return;
    const reason =
      end.kind === "died"
        ? `The handler module ${module} ended its thread while loading: ${end.reason}`
        : end.answer.ok
          ? ""
          : end.answer.reason;
    throw new RheoError("invalid_option", reason, { path: "handler" });
  }

  run(work: ThreadTask, gate: SessionGate | null): RunningTask {
    const task: Task = { gate, end: deferred<TaskEnd>(), terminated: null };
    const abort = new AbortController();
    this.#tasks.add(task);
    this.#piscina.run(work, { signal: abort.signal }).then(
      (answer) => this.#end(task, { kind: "answered", answer }),
      (cause: unknown) => void this.#rejected(task, cause),
    );
    return {
      ended: task.end.promise,
      terminate: (reason) => {
        task.terminated ??= reason;
        abort.abort();
      },
    };
  }

  reaches(threadId: number): boolean {
    return this.#stopping === null && this.#threads.has(threadId);
  }

  post(threadId: number, message: ToThread): void {
    if (this.#stopping === null) this.#threads.get(threadId)?.channel.postMessage(message);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const teardowns = Array.from(
      { length: this.#failed ? 0 : this.#piscina.idleThreads },
      () => this.run({ kind: "teardown" }, null).ended,
    );
    if (teardowns.length > 0) await waitAtMost(this.#options.clock, TEARDOWN_MS, Promise.all(teardowns));
    for (const { channel } of this.#threads.values()) channel.close();
    await waitAtMost(this.#options.clock, DESTROY_MS, this.#piscina.destroy());
  }

  #end(task: Task, end: TaskEnd): void {
    if (!this.#tasks.delete(task)) return;
    task.end.resolve(end);
    this.#options.onFree();
  }

  /** The thread may still be running: what it wrote is final only when it is gone. */
  async #rejected(task: Task, cause: unknown): Promise<void> {
    const threadId = task.gate?.threadId ?? 0;
    const thread = this.#threads.get(threadId);
    if (thread !== undefined) await waitAtMost(this.#options.clock, EXIT_WAIT_MS, thread.exited.promise);
    this.#end(task, {
      kind: "died",
      threadId,
      reason: task.terminated ?? failureText(thread?.error ?? cause, "it ended").reason,
    });
  }

  #meetThreads(): void {
    for (const worker of this.#piscina.threads) {
      if (this.#seen.has(worker)) continue;
      this.#seen.add(worker);
      this.#meet(worker, worker.threadId); // an ended worker no longer knows its id
    }
    this.#options.onFree();
  }

  #meet(worker: Worker, threadId: number): void {
    const since = worker.performance.eventLoopUtilization();
    const next = { at: since, ms: this.#options.clock.monotonic() };
    const channel = new BroadcastChannel(channelOf(this.#channel, threadId));
    channel.unref();
    const thread: Thread = { worker, channel, exited: deferred(), error: undefined, memory: null, since, next };
    this.#threads.set(threadId, thread);
    this.#options.onThreadStarted(threadId);
    worker.on("error", (error) => {
      thread.error = error;
    });
    worker.on("exit", (code) => this.#exited(threadId, thread, code));
  }

  #exited(threadId: number, thread: Thread, code: number): void {
    this.#threads.delete(threadId);
    if (this.#stopping === null) thread.channel.close();
    const reason =
      thread.error === undefined
        ? `it exited with code ${code}`
        : failureText(thread.error, "an error that cannot be read").reason;
    thread.error ??= reason;
    thread.exited.resolve();
    const task = [...this.#tasks].find(({ gate }) => gate?.threadId === threadId);
    if (task !== undefined) this.#end(task, { kind: "died", threadId, reason: task.terminated ?? reason });
    if (this.#stopping !== null) return;
    this.#deaths += 1;
    if (task === undefined) this.#options.onIdleDeath(threadId, reason);
    setImmediate(() => this.#checkSize(reason));
  }

  #checkSize(reason: string): void {
    if (this.#stopping !== null || this.#failed || this.#piscina.threads.length >= this.#options.threads) return;
    this.#failed = true;
    this.#options.onFailure(
      new RheoError("unavailable", `Worker threads do not come up any more; the last one said: ${reason}.`),
    );
  }
}
