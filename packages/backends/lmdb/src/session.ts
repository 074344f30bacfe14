/** Runs operations one after another, as many as wait in one transaction, so that they share its flush to the disk. */
import type { Catalog } from "./catalog.ts";
import type { Environment } from "./environment.ts";
import { closed, commitFailure, unavailable } from "./errors.ts";

/** What one operation works with. */
export interface Unit {
  readonly environment: Environment;
  readonly catalog: Catalog;
  /** The time of the operation: the store's, or the clock's that was given (F6). */
  readonly nowMs: number;
  /** Runs once the operation is on the disk. */
  afterCommit(work: () => void): void;
}

/** An operation that waits for its turn. */
interface Waiting {
  /** Runs it, and keeps its answer. Throws what it throws. */
  run(): void;
  done(): void;
  fail(error: unknown): void;
}

/** As it was before anybody replaced it: a test that moves the timers of its process must not stop its store. */
const soon = setImmediate;

/** Operations of one transaction, at most, so that the event loop gets its turn. */
const TOGETHER = 256;

/** After so many transactions without a flush the event loop gets its turn, or a loop of calls would keep timers and sockets waiting. */
const STREAK = 32;

export interface SessionOptions {
  readonly environment: Environment;
  readonly catalog: Catalog;
  readonly now: () => number;
  /** A commit waits for the disk, so it waits for others of this turn of the event loop to share that. */
  readonly gathers: boolean;
  /** Told after each commit that changed something. */
  readonly committed: () => void;
}

export class Session {
  readonly #options: SessionOptions;
  #waiting: Waiting[] = [];
  /** Transactions so far. */
  #streak = 0;
  #closed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** An operation that may write: durable when the promise resolves, and not there at all when it rejects. */
  write<Result>(work: (unit: Unit) => Result): Promise<Result> {
    if (this.#closed) return Promise.reject(closed(this.#options.environment.path));
    return new Promise<Result>((resolve, reject) => {
      this.#add(this.#waitingFor(work, resolve, reject));
    });
  }

  /** An operation that only reads, after those that were asked for before it. */
  async read<Result>(work: (unit: Unit) => Result): Promise<Result> {
    if (this.#closed) throw closed(this.#options.environment.path);
    if (this.#waiting.length > 0) return this.write(work);
    const { environment, catalog, now } = this.#options;
    try {
      return work({ environment, catalog, nowMs: now(), afterCommit: () => undefined });
    } catch (error) {
      throw unavailable(environment.path, error);
    }
  }

  /** Ends what waits, and takes nothing more. Idempotent. */
  close(): void {
    while (this.#waiting.length > 0) this.#flush();
    this.#closed = true;
  }

  #waitingFor<Result>(
    work: (unit: Unit) => Result,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
  ): Waiting {
    const { environment, catalog, now } = this.#options;
    let after: (() => void)[] = [];
    let result: { readonly value: Result } | null = null;
    return {
      run: () => {
        after = [];
        result = { value: work({ environment, catalog, nowMs: now(), afterCommit: (run) => after.push(run) }) };
      },
      done: () => {
        for (const run of after) run();
        if (result !== null) resolve(result.value);
      },
      fail: reject,
    };
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#waiting.length > 1) return;
    this.#streak += 1;
    if (this.#options.gathers || this.#streak % STREAK === 0) soon(() => this.#flush());
    else queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const batch = this.#waiting.slice(0, TOGETHER);
    this.#waiting = this.#waiting.slice(TOGETHER);
    if (this.#waiting.length > 0) soon(() => this.#flush());
    if (batch.length > 0) this.#runTogether(batch);
  }

  /** One that fails half way takes the others' work back with its own, so each of them is run again by itself. */
  #runTogether(batch: readonly Waiting[]): void {
    const { environment, catalog, committed } = this.#options;
    const refused = new Map<Waiting, unknown>();
    let changed = false;
    try {
      environment.transaction(() => {
        for (const waiting of batch) changed = this.#runOne(waiting, refused) || changed;
      });
    } catch (error) {
      catalog.forget(); // it may know what was rolled back
      if (error instanceof HalfWay && batch.length > 1) for (const waiting of batch) this.#runTogether([waiting]);
      else for (const waiting of batch) waiting.fail(this.#failure(error));
      return;
    }
    if (changed) committed();
    for (const waiting of batch) {
      if (refused.has(waiting)) waiting.fail(refused.get(waiting));
      else waiting.done();
    }
  }

  /** Whether it changed anything. */
  #runOne(waiting: Waiting, refused: Map<Waiting, unknown>): boolean {
    const { environment } = this.#options;
    environment.hasChanged = false;
    try {
      waiting.run();
    } catch (error) {
      if (environment.hasChanged) throw new HalfWay(error);
      refused.set(waiting, unavailable(environment.path, error));
    }
    return environment.hasChanged;
  }

  #failure(error: unknown): unknown {
    const { path } = this.#options.environment;
    if (error instanceof HalfWay) return unavailable(path, error.reason);
    return commitFailure(path, error);
  }
}

/** An operation threw after it had written. */
class HalfWay extends Error {
  readonly reason: unknown;

  constructor(reason: unknown) {
    super("rolled back");
    this.reason = reason;
  }
}
