import type { Clock, Timer } from "@rheo/core";
import type { RunningTask, WorkerPool } from "./pool.ts";
import {
  type AbortMessage,
  type ExtendMessage,
  SessionGate,
  type SessionTask,
  type SliceContent,
  type SliceMemory,
} from "./protocol.ts";

/** A group that has work for threads. */
export interface Feeder {
  /** Opens a session on a free thread, if it can. `free` threads are idle. Whether it did. */
  feed(free: number): boolean;
  /** Whether it has work that another thread could take. */
  readonly wantsThread: boolean;
  /** Adds to those of its sessions that asked for it, and were opened after `sinceMs`. */
  topUp(sinceMs: number): void;
  /** A session will soon have nothing to begin. False when it is not of this group. */
  hungry(session: number): boolean;
  /** Looks at what its slices have written. Called every few ms while any are out. */
  peek(nowMs: number): void;
  extend(message: ExtendMessage): void;
  fail(error: Error): void;
}

/** How often slices that are still out are looked at. */
const PEEK_MS = 5;
/** Memories kept for further slices, per thread. */
const SPARE_PER_THREAD = 3;
/** While others wait for a thread, a session is not added to for longer than this. */
const TURN_MS = 50;

/**
 * Gives free threads to groups in turn. Nothing waits here but groups: a slice is made only when a thread is free for it, or asks
 * for more. The pool behind it may be replaced.
 */
/** A session that has been opened, with its first slice. */
export interface Opened {
  readonly id: number;
  readonly gate: SessionGate;
  readonly running: RunningTask;
  readonly slice: { readonly id: number; readonly memory: SliceMemory };
}

export class Slots {
  readonly #clock: Clock;
  readonly #newMemory: () => SliceMemory;
  /** In the order of their turn. */
  readonly #waiting = new Set<Feeder>();
  readonly #feeders = new Set<Feeder>();
  readonly #spare: SliceMemory[] = [];
  #pool: WorkerPool | null = null;
  #out = 0;
  #timer: Timer | null = null;
  #lastId = 0;
  #isPumping = false;

  constructor(clock: Clock, newMemory: () => SliceMemory) {
    this.#clock = clock;
    this.#newMemory = newMemory;
  }

  attach(pool: WorkerPool): void {
    this.#pool = pool;
    this.pump();
  }

  detach(): void {
    this.#pool = null;
  }

  get threads(): number {
    return this.#pool?.size ?? 0;
  }

  join(feeder: Feeder): void {
    this.#feeders.add(feeder);
  }

  leave(feeder: Feeder): void {
    this.#feeders.delete(feeder);
    this.#waiting.delete(feeder);
  }

  /** Asks for a turn. */
  want(feeder: Feeder): void {
    this.#waiting.add(feeder);
    this.pump();
  }

  pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      const asked = new Set<Feeder>();
      for (let free = this.#free(); free > 0; free = this.#free()) {
        const [feeder] = this.#waiting;
        if (feeder === undefined) break;
        this.#waiting.delete(feeder);
        asked.add(feeder);
        if (feeder.feed(free)) this.#waiting.add(feeder); // to the back; it leaves when it has no more
      }
      for (const feeder of new Set([...asked, ...this.#waiting])) this.#topUp(feeder);
    } finally {
      this.#isPumping = false;
    }
  }

  /** Its threads that are at work are given more: as long as nobody else waits for one, and else for the length of a turn. */
  #topUp(feeder: Feeder): void {
    const isContested = [...this.#waiting].some((other) => other !== feeder && other.wantsThread);
    feeder.topUp(isContested ? this.#clock.monotonic() - TURN_MS : Number.NEGATIVE_INFINITY);
    if (!feeder.wantsThread) this.#waiting.delete(feeder);
  }

  open(task: Omit<SessionTask, "id" | "kind" | "first">, first: Omit<SliceContent, "id" | "memory">): Opened {
    if (this.#pool === null) throw new Error("There is no pool to work in.");
    const { content, memory } = this.#slice(first);
    const gate = new SessionGate(memory);
    gate.open();
    const id = ++this.#lastId;
    const running = this.#pool.run({ ...task, kind: "session", id, first: content }, gate);
    this.#out += 1;
    this.#watch();
    return { id, gate, running, slice: { id: content.id, memory } };
  }

  /** Whether a slice can be added to a session: one that was announced must arrive. */
  reaches({ gate }: Pick<Opened, "gate">): boolean {
    return this.#pool?.reaches(gate.threadId) ?? false;
  }

  /** Adds a slice to a session that has announced it. */
  add(session: Pick<Opened, "id" | "gate">, content: Omit<SliceContent, "id" | "memory">): Opened["slice"] {
    const { content: slice, memory } = this.#slice(content);
    this.#pool?.post(session.gate.threadId, { kind: "slice", session: session.id, slice });
    return { id: slice.id, memory };
  }

  #slice(content: Omit<SliceContent, "id" | "memory">): { readonly content: SliceContent; readonly memory: SliceMemory } {
    const memory = this.#spare.pop() ?? this.#newMemory();
    memory.reset(content.columns.ids.length);
    return { content: { ...content, id: ++this.#lastId, memory: memory.buffer }, memory };
  }

  /** A memory that no thread looks into any more. */
  recycle(memory: SliceMemory): void {
    if (this.#spare.length < this.threads * SPARE_PER_THREAD) this.#spare.push(memory);
  }

  /** A session is over. */
  closed(): void {
    this.#out -= 1;
    if (this.#out > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  abort(threadId: number, message: AbortMessage): void {
    this.#pool?.post(threadId, message);
  }

  hungry(session: number): void {
    for (const feeder of this.#feeders) if (feeder.hungry(session)) return this.want(feeder);
  }

  extend(message: ExtendMessage): void {
    for (const feeder of this.#feeders) feeder.extend(message);
  }

  /** The pool will not come back. */
  fail(error: Error): void {
    for (const feeder of [...this.#feeders]) feeder.fail(error);
  }

  #free(): number {
    return this.#pool?.free ?? 0;
  }

  #watch(): void {
    this.#timer ??= this.#clock.schedule(PEEK_MS, () => {
      this.#timer = null;
      const nowMs = this.#clock.monotonic();
      for (const feeder of [...this.#feeders]) feeder.peek(nowMs);
      if (this.#out > 0) this.#watch();
    });
  }
}
