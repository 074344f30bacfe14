import type { Ordering, Outcome, SettleOutcome } from "@rheo/core";
import type { RheoInternals } from "@rheo/core/internal";
import type { ConsumerDefinition } from "../consumer.ts";
import type { Logger } from "../handler.ts";
import type { Admission } from "./admission.ts";
import type { HandlerTimes } from "./handler-times.ts";
import { type Batch, type Ledger, RUNNING } from "./ledger.ts";

/** Why a running handler is told to end. */
export type AbortCause = "lost" | "interrupted" | "timed out";

/** After a drain has run out of time, handlers have this long to heed their signal before they are given up. */
export const INTERRUPT_GRACE_MS = 100;
/** The same after a timeout: then a thread is terminated, and an inline handler's slot is given up (B49). */
export const TIMEOUT_GRACE_MS = 500;
/** The same after a lost lease, where nobody waits for the handler but its slot. */
export const LOST_GRACE_MS = 5_000;

/** Bound on loading a module and its `setup`: longer means that it hangs, and the group fails. */
export const SETUP_MS = 60_000;

/** What runs the handlers of one group: in the main thread, or in worker threads. */
export interface Runner {
  /** Loads what it needs. @throws invalid_option - the handler cannot be loaded */
  start(): Promise<void>;
  /** Starts what can be started. Idempotent, and cheap when nothing can. */
  pump(): void;
  /** A request to the store is on its way: lets it leave before handlers take the thread. */
  giveWay(): void;
  /** Takes back what was handed out and has not begun. It is reported as `returned`. */
  recall(): void;
  /** Aborts the signal of a running delivery whose lease is lost. */
  abort(batch: Batch, index: number, reason: Error): void;
  /** Aborts everything that runs, and gives up what does not end within {@link INTERRUPT_GRACE_MS}. */
  interrupt(): void;
  /** For people. */
  details(): Readonly<Record<string, number | string | null>>;
  /** Nothing runs that counts any more: lets go of everything, `teardown` included. Bounded. */
  stop(): Promise<void>;
}

/** What a runner is given. */
export interface RunnerHost {
  readonly internals: RheoInternals;
  readonly consumer: ConsumerDefinition;
  readonly logger: Logger;
  readonly ledger: Ledger;
  /** Asked before anything is started, and told what came of it. Null: nothing but the slots limits what may be started. */
  readonly admission: Admission | null;
  readonly times: HandlerTimes;
  /** The order that the group keeps. */
  ordering(): Ordering;
  /** The group keeps the order of what makes a run here: a run is all that is held of its key or partition, and what does not run goes back. */
  keepsRuns(): boolean;
  /** An outcome with its delay decided. */
  resolve(outcome: Outcome, attempt: number): SettleOutcome;
  /** Whether the leases of a grant are good enough to start work on. If not, they are being renewed, and `pump` follows. */
  mayStart(batch: Batch): boolean;
  started(count: number): void;
  /** Handlers ended; `dropped` of them with a lost lease. */
  ended(count: number, dropped: number): void;
  returned(count: number, dropped: number): void;
  /** So many that had not been started were released in the ledger. */
  released(count: number): void;
  /** Renew now: a handler asked for time. */
  renew(): void;
  /** The runner cannot go on. */
  fail(error: Error): void;
}

/** Tells observers of an outcome other than ack. */
const tellFailure = (host: RunnerHost, batch: Batch, index: number, outcome: Outcome): void => {
  if (outcome.kind !== "retry" && outcome.kind !== "reject") return;
  const { stream, group } = host.consumer;
  host.internals.emit("handler.failed", {
    stream,
    group,
    partition: batch.partition,
    sequence: batch.sequenceAt(index),
    attempt: batch.attempt,
    outcome: outcome.kind,
    reason: outcome.reason,
  });
};

export const tellTimeout = (host: RunnerHost, batch: Batch, index: number, timeoutMs: number): void => {
  const { stream, group } = host.consumer;
  host.internals.emit("handler.timed_out", {
    stream,
    group,
    partition: batch.partition,
    sequence: batch.sequenceAt(index),
    attempt: batch.attempt,
    timeoutMs,
  });
};

export const timeoutOutcome = (timeoutMs: number): Outcome => ({
  kind: "retry",
  delayMs: null,
  reason: `timed out after ${timeoutMs} ms`,
  stack: null,
});

/**
 * Settles a delivery that ran. A failure while the breaker is open is not charged, except to what ended its thread (`mustCharge`).
 * False when there is nothing to settle, since the lease was lost.
 */
export const settleOutcome = (
  host: RunnerHost,
  batch: Batch,
  index: number,
  outcome: Outcome,
  mustCharge: boolean = false,
): boolean => {
  const { admission, ledger } = host;
  if (outcome.kind === "ack") {
    admission?.succeeded(batch, index);
    return ledger.finish(batch, index, null);
  }
  const isOurs = batch.states[index] === RUNNING;
  if (isOurs) tellFailure(host, batch, index, outcome);
  if (admission !== null) {
    if (!isOurs || outcome.kind !== "retry") admission.answered(batch, index);
    else if (!admission.failed(batch, index, outcome.reason) && !mustCharge) return ledger.finish(batch, index, RELEASE);
  }
  return ledger.finish(batch, index, host.resolve(outcome, batch.attempt));
};

const RELEASE: SettleOutcome = Object.freeze({ kind: "release" });
