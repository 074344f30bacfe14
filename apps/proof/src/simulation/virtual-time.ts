/** Time that passes only from timer to timer. Of those due at one instant a seed decides which comes first. */
import type { Clock, Timer } from "@rheo/core";
import type { Random } from "@rheo/testing/internal";

interface Due {
  readonly atMs: number;
  readonly draw: number;
  readonly order: number;
  callback: (() => void) | null;
}

const START_MS = Date.UTC(2026, 0, 1);

export class VirtualTime implements Clock {
  readonly #random: Random;
  /** A binary heap: the first due on top. */
  readonly #heap: Due[] = [];
  #monotonicMs = 0;
  #order = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  now(): number {
    return START_MS + this.#monotonicMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    if (delayMs === Number.POSITIVE_INFINITY) return { cancel: () => undefined };
    const due: Due = {
      atMs: this.#monotonicMs + Math.max(0, delayMs),
      draw: this.#random.next(),
      order: this.#order++,
      callback,
    };
    this.#push(due);
    return {
      cancel: () => {
        due.callback = null;
      },
    };
  }

  /** When the next timer is due, by the monotonic clock; null when there is none. */
  get nextAtMs(): number | null {
    while (this.#heap[0] !== undefined && this.#heap[0].callback === null) this.#pop();
    return this.#heap[0]?.atMs ?? null;
  }

  /** Moves to the next timer, and fires it. False when there is none. */
  step(): boolean {
    if (this.nextAtMs === null) return false;
    const due = this.#pop();
    if (due === undefined) return false;
    this.#monotonicMs = Math.max(this.#monotonicMs, due.atMs);
    const { callback } = due;
    due.callback = null;
    callback?.();
    return true;
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, due)) break;
      heap[at] = above;
      heap[parent] = due;
      at = parent;
    }
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return top;
    heap[0] = last;
    for (let at = 0; ; ) {
      const child = this.#lesserChild(at);
      const below = heap[child];
      if (below === undefined || isBefore(last, below)) return top;
      heap[at] = below;
      heap[child] = last;
      at = child;
    }
  }

  #lesserChild(at: number): number {
    const [left, right] = [this.#heap[2 * at + 1], this.#heap[2 * at + 2]];
    return left !== undefined && right !== undefined && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
  }
}

const isBefore = (a: Due, b: Due): boolean =>
  a.atMs !== b.atMs ? a.atMs < b.atMs : a.draw !== b.draw ? a.draw < b.draw : a.order < b.order;
