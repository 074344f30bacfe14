/** The clock of one process: off by some hours, standing still while the process is stopped, and silent once it is dead. */
import type { Clock, Timer } from "@rheo/core";

export class HostClock implements Clock {
  readonly #base: Clock;
  readonly #skewMs: number;
  /** Timers that have not fired. */
  readonly #pending = new Set<Timer>();
  /** What fell due, or arrived, while the process was stopped. */
  #held: (() => void)[] | null = null;
  #dead = false;

  constructor(base: Clock, skewMs: number) {
    this.#base = base;
    this.#skewMs = skewMs;
  }

  now(): number {
    return this.#base.now() + this.#skewMs;
  }

  monotonic(): number {
    return this.#base.monotonic();
  }

  schedule(delayMs: number, callback: () => void): Timer {
    if (this.isDead) return { cancel: () => undefined };
    let isCancelled = false;
    const inner = this.#base.schedule(delayMs, () => {
      this.#pending.delete(timer);
      this.run(() => {
        if (!isCancelled) callback();
      });
    });
    const timer = {
      cancel: () => {
        isCancelled = true;
        this.#pending.delete(timer);
        inner.cancel();
      },
    };
    this.#pending.add(timer);
    return timer;
  }

  /** Timers that have not fired and were not cancelled. */
  get pending(): number {
    return this.#pending.size;
  }

  /** It, or what it is a part of, is no more. */
  get isDead(): boolean {
    return this.#dead || (this.#base instanceof HostClock && this.#base.isDead);
  }

  get isStopped(): boolean {
    return this.#held !== null;
  }

  /** What is no timer of Rheo's, and so is not counted. */
  later(delayMs: number, work: () => void): void {
    if (this.#base instanceof HostClock) this.#base.later(delayMs, () => this.run(work));
    else this.#base.schedule(delayMs, () => this.run(work));
  }

  /** Does something in this process: now, when it runs again, or never. */
  run(work: () => void): void {
    if (this.isDead) return;
    if (this.#held === null) work();
    else this.#held.push(work);
  }

  /** SIGSTOP. */
  stop(): void {
    if (!this.#dead) this.#held ??= [];
  }

  /** SIGCONT: everything that waited comes at once, each in a turn of its own. */
  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const work of held) this.#base.schedule(0, () => this.run(work));
  }

  /** SIGKILL. */
  kill(): void {
    this.#dead = true;
    this.#held = null;
    for (const timer of this.#pending) timer.cancel();
    this.#pending.clear();
  }
}
