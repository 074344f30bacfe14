/**
 * Transactions on one connection. The work is synchronous and runs between BEGIN and COMMIT without an `await`, so calls of one
 * process never overlap. Waiting for the lock of another process happens between attempts, off the event loop.
 */
import { RheoError } from "@rheo/core";
import { BLOCKING_WAIT_MS, Patience } from "./busy.ts";
import { integer } from "./columns.ts";
import { closed, isBusy, isBusySnapshot, isCommitDoubtful, outcomeUnknown, unavailable } from "./errors.ts";
import type { Sql } from "./sql.ts";

/** One transaction, as the work inside sees it. */
export interface Unit {
  readonly sql: Sql;
  /** The store's time, one instant for the whole transaction. */
  readonly nowMs: number;
  /** Runs once the transaction is committed; dropped if it is rolled back. */
  afterCommit(effect: () => void): void;
}

export interface SessionOptions {
  /** How the store is named in messages. */
  readonly store: string;
  readonly busyTimeoutMs: number;
  /** The handle is the caller's, who may have a transaction open on it, and a busy timeout of their own. */
  readonly shared: boolean;
  readonly now: () => number;
}

type Mode = "read" | "write";

export class Session {
  readonly sql: Sql;
  readonly #options: SessionOptions;
  #closed = false;
  /** Settles when the last writer in line is through; null when nobody waits. */
  #line: Promise<void> | null = null;

  constructor(sql: Sql, options: SessionOptions) {
    this.sql = sql;
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** From here on every call is refused, also those that wait for a lock. */
  close(): void {
    this.#closed = true;
  }

  /** One snapshot; nothing is written. @throws unavailable, closed */
  read<Result>(work: (unit: Unit) => Result): Promise<Result> {
    return this.#patiently(() => this.#attempt("read", work));
  }

  /** Everything or nothing. @throws unavailable, outcome_unknown, closed */
  write<Result>(work: (unit: Unit) => Result): Promise<Result> {
    return this.#inLine(() => this.#attempt("write", work));
  }

  /** Work that cannot run inside a transaction, such as a pragma. @throws unavailable, closed */
  outside<Result>(work: (sql: Sql) => Result): Promise<Result> {
    return this.#patiently(() => work(this.sql));
  }

  /**
   * Runs inside the transaction that is open on the caller's handle. If it fails, the savepoint takes back what it wrote, and
   * the caller's transaction goes on. `afterCommit` runs at once: when the caller commits is not known.
   */
  within<Result>(sql: Sql, work: (unit: Unit) => Result): Promise<Result> {
    return this.#patiently(() => {
      if (!sql.connection.inTransaction) throw noTransaction();
      const effects: (() => void)[] = [];
      sql.exec("SAVEPOINT rheo");
      const result = rollingBack(
        () => work(this.#unit(sql, effects)),
        () => sql.exec("ROLLBACK TO rheo; RELEASE rheo"),
      );
      sql.exec("RELEASE rheo");
      for (const effect of effects) effect();
      return result;
    });
  }

  /**
   * Writers that find the lock taken wait in line, and only the first of them tries: each try may block for a few milliseconds,
   * and a hundred of them in one turn of the event loop would stop it. Later calls do not overtake earlier ones.
   */
  async #inLine<Result>(attempt: () => Result): Promise<Result> {
    const patience = new Patience(this.#options.busyTimeoutMs);
    const ahead = this.#line;
    if (ahead === null) {
      const outcome = this.#try(attempt, patience);
      if (outcome.done) return outcome.result;
    }
    const { promise, resolve } = promiseWithResolvers();
    this.#line = promise;
    try {
      if (ahead === null) await patience.pause();
      else await ahead;
      return await this.#patiently(attempt, patience);
    } finally {
      if (this.#line === promise) this.#line = null;
      resolve();
    }
  }

  async #patiently<Result>(
    attempt: () => Result,
    patience: Patience = new Patience(this.#options.busyTimeoutMs),
  ): Promise<Result> {
    for (;;) {
      const outcome = this.#try(attempt, patience);
      if (outcome.done) return outcome.result;
      await patience.pause();
    }
  }

  /** Not done: the lock is taken, and there is time left to wait for it. */
  #try<Result>(
    attempt: () => Result,
    patience: Patience,
  ): { readonly done: true; readonly result: Result } | { readonly done: false } {
    if (this.#closed) throw closed(this.#options.store);
    try {
      return { done: true, result: attempt() };
    } catch (error) {
      if (error instanceof OccupiedError) {
        if (patience.isOver) throw error.asRheoError(this.#options);
      } else if (!isBusy(error) || isBusySnapshot(error) || patience.isOver) throw unavailable(this.#options.store, error);
      return { done: false };
    }
  }

  #attempt<Result>(mode: Mode, work: (unit: Unit) => Result): Result {
    const { sql } = this;
    // a caller's open transaction is not ours to write into
    if (this.#options.shared && sql.connection.inTransaction) throw new OccupiedError();
    const effects: (() => void)[] = [];
    this.#begin(mode);
    const result = rollingBack(
      () => work(this.#unit(sql, effects)),
      () => this.#rollback(),
    );
    this.#commit(mode);
    for (const effect of effects) effect();
    return result;
  }

  #unit(sql: Sql, effects: (() => void)[]): Unit {
    return { sql, nowMs: this.#options.now(), afterCommit: (effect) => void effects.push(effect) };
  }

  #begin(mode: Mode): void {
    const { sql } = this;
    if (mode === "read") return sql.exec("BEGIN");
    if (!this.#options.shared) return sql.exec("BEGIN IMMEDIATE");
    // the caller's own busy timeout may be seconds, and would block the event loop
    const theirsMs = integer(sql.get("PRAGMA busy_timeout")?.[0]);
    sql.exec(`PRAGMA busy_timeout = ${BLOCKING_WAIT_MS}`);
    try {
      sql.exec("BEGIN IMMEDIATE");
    } finally {
      sql.exec(`PRAGMA busy_timeout = ${theirsMs}`);
    }
  }

  #commit(mode: Mode): void {
    try {
      this.sql.exec("COMMIT");
    } catch (error) {
      this.#rollback();
      if (mode === "write" && isCommitDoubtful(error)) throw outcomeUnknown(this.#options.store, error);
      throw error;
    }
  }

  /** Some failures have rolled back by themselves. */
  #rollback(): void {
    if (this.sql.connection.inTransaction) this.sql.exec("ROLLBACK");
  }
}

/** The caller has a transaction open on the handle that Rheo was given. */
class OccupiedError extends Error {
  asRheoError({ store, busyTimeoutMs }: SessionOptions): RheoError {
    return new RheoError(
      "unavailable",
      `${store}: a transaction of yours has been open on the handle given as "database" for ${busyTimeoutMs} ms. ` +
        "Commit it, pass it as { transaction }, or give Rheo a handle of its own. Nothing was written.",
    );
  }
}

const noTransaction = (): RheoError =>
  new RheoError("invalid_option", "transaction: the handle has no transaction open. Run BEGIN IMMEDIATE on it first.", {
    path: "transaction",
  });

const promiseWithResolvers = (): { promise: Promise<void>; resolve: () => void } => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

/** Undoes on any failure. A failure to undo must not hide what went wrong first. */
const rollingBack = <Result>(work: () => Result, undo: () => void): Result => {
  try {
    return work();
  } catch (error) {
    try {
      undo();
    } catch (second) {
      if (error instanceof Error && error.cause === undefined) error.cause = second;
    }
    throw error;
  }
};
