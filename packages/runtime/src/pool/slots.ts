import type { Clock, Timer } from "@rheo/core";
import type { RunningTask, ThreadPool } from "./pool.ts";
import { type ControlMessage, type ExtendMessage, SliceMemory, type SliceTask } from "./protocol.ts";

/** A group that has work for threads. */
export interface Feeder {
  /** Dispatches one slice, if it can. `free` threads are idle. Whether it did. */
  feed(free: number): boolean;
  /** Looks at what its slices have written. Called every few ms while any are out. */
  peek(nowMs: number): void;
  extend(message: ExtendMessage): void;
  fail(error: Error): void;
}

/** How often slices that are still out are looked at. */
const PEEK_MS = 5;
/** Memories kept for further slices, per thread. */
const SPARE_PER_THREAD = 2;

/**
 * Gives free threads to groups in turn. Nothing waits here but groups: a slice is made only when a thread is free for it. The
 * pool behind it may be replaced.
 */
export class Slots {
  readonly #clock: Clock;
  /** In the order of their turn. */
  readonly #waiting = new Set<Feeder>();
  readonly #feeders = new Set<Feeder>();
  readonly #spare: SliceMemory[] = [];
  #pool: ThreadPool | null = null;
  #out = 0;
  #timer: Timer | null = null;
  #sliceId = 0;
  #isPumping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  attach(pool: ThreadPool): void {
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
      for (let free = this.#free(); free > 0; free = this.#free()) {
        const [feeder] = this.#waiting;
        if (feeder === undefined) return;
        this.#waiting.delete(feeder);
        if (feeder.feed(free)) this.#waiting.add(feeder); // to the back; it leaves when it has no more
      }
    } finally {
      this.#isPumping = false;
    }
  }

  dispatch(task: Omit<SliceTask, "id" | "memory" | "kind">): {
    readonly id: number;
    readonly memory: SliceMemory;
    readonly running: RunningTask;
  } {
    if (this.#pool === null) throw new Error("There is no pool to dispatch to.");
    const memory = this.#spare.pop() ?? new SliceMemory();
    memory.reset(task.columns.ids.length);
    const id = ++this.#sliceId;
    const running = this.#pool.run({ ...task, kind: "slice", id, memory: memory.buffer }, memory);
    this.#out += 1;
    this.#watch();
    return { id, memory, running };
  }

  /** A slice is over. Its memory is used again unless a thread might still write to it. */
  returned(memory: SliceMemory, isClean: boolean): void {
    this.#out -= 1;
    if (isClean && this.#spare.length < this.threads * SPARE_PER_THREAD) this.#spare.push(memory);
    if (this.#out > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  control(message: ControlMessage): void {
    this.#pool?.control(message);
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
