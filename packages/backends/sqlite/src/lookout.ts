/**
 * Notices commits of other connections. While there are any, the file is looked at every 20 ms. Once it has been quiet, the file system is asked
 * to tell of writes to the write-ahead log, and looks come rarely: what is never written to costs next to nothing, and the first commit after
 * a pause is noticed sooner than looking could.
 */
import { type FSWatcher, watch } from "node:fs";
import type { Clock, Timer } from "@rheo/core";
import { systemClock } from "@rheo/core/internal";

export interface LookoutOptions {
  /** A value that changes with each commit of another connection; undefined while it cannot be known. It may throw. */
  readonly look: () => unknown;
  /** The file that each commit writes to; null when there is none. */
  readonly file: () => string | null;
  readonly changed: () => void;
  /** Default: the host's. */
  readonly clock?: Clock;
}

/** Between looks, in ms: one read of shared memory. */
const OFTEN_MS = 20;
/** Of a quiet file: for file systems that do not tell of what others write. */
const RARELY_MS = 500;
/** After so many looks that found nothing, a second, it is quiet. */
const QUIET_LOOKS = 50;
/** A commit is told of while it is being written. So the next look comes at once, and the waits double up to the usual one. */
const SOON_MS = 1;

export class Lookout {
  readonly #look: () => unknown;
  readonly #file: () => string | null;
  readonly #changed: () => void;
  readonly #clock: Clock;
  #seen: unknown = undefined;
  #timer: Timer | null = null;
  #watcher: FSWatcher | null = null;
  #waitMs = OFTEN_MS;
  /** Looks since something was there. */
  #idleLooks = 0;

  constructor({ look, file, changed, clock = systemClock }: LookoutOptions) {
    this.#look = look;
    this.#file = file;
    this.#changed = changed;
    this.#clock = clock;
  }

  /** Idempotent. */
  start(): void {
    if (this.#timer !== null) return;
    this.#seen = this.#glance();
    this.#beOften(OFTEN_MS);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#unwatch();
  }

  /** Something is about to happen: looks come often for a while. */
  stir(): void {
    if (this.#timer !== null && this.#watcher !== null) this.#beOften(SOON_MS);
    this.#idleLooks = 0;
  }

  #beOften(waitMs: number): void {
    this.#unwatch();
    this.#idleLooks = 0;
    this.#waitMs = waitMs;
    this.#arm(waitMs);
  }

  #arm(waitMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.schedule(waitMs, () => this.#tick(), { keepAlive: false });
  }

  #tick(): void {
    // armed before, since whoever is told may stop it
    this.#arm(this.#watcher === null ? this.#nextWaitMs() : RARELY_MS);
    const seen = this.#glance();
    if (seen === undefined || seen === this.#seen) return this.#foundNothing();
    const isFirst = this.#seen === undefined;
    this.#seen = seen;
    this.stir();
    if (!isFirst) this.#changed();
  }

  #nextWaitMs(): number {
    this.#waitMs = Math.min(OFTEN_MS, 2 * this.#waitMs);
    return this.#waitMs;
  }

  #foundNothing(): void {
    this.#idleLooks += 1;
    if (this.#watcher !== null || this.#idleLooks % QUIET_LOOKS !== 0) return;
    this.#watcher = this.#watch();
    // what was written before the watch began is found by a look
    if (this.#watcher !== null) this.#arm(SOON_MS);
  }

  /** Null where the file is not there, or cannot be watched. */
  #watch(): FSWatcher | null {
    try {
      const file = this.#file();
      if (file === null) return null;
      const watcher = watch(file, { persistent: false }, () => this.stir());
      watcher.on("error", () => this.stir());
      return watcher;
    } catch {
      return null;
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }

  /** Undefined when the file cannot be looked at now; the next look will do. */
  #glance(): unknown {
    try {
      return this.#look();
    } catch {
      return undefined;
    }
  }
}
