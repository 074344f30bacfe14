/** Deliveries in threads whose time is over: first their signal, then, after a grace, the end of their thread. */
import type { Session } from "../pool/session.ts";
import type { Slice } from "../pool/slice.ts";
import type { Slots } from "../pool/slots.ts";
import { type AbortCause, type RunnerHost, TIMEOUT_GRACE_MS } from "./runner.ts";

export const ENDED_BY_STOP = "the consumer has stopped";

export class ThreadTimes {
  readonly #host: RunnerHost;
  readonly #slots: Slots;

  constructor(host: RunnerHost, slots: Slots) {
    this.#host = host;
    this.#slots = slots;
  }

  /** Finds what has run for too long, and what did not heed its signal. */
  check(session: Session, slice: Slice, nowMs: number): void {
    const { timeoutMs } = this.#host.consumer;
    if (timeoutMs !== null) this.#timeOut(session, slice, timeoutMs, nowMs);
    if (slice.aborts.size === 0) return;
    for (const index of slice.runningNow()) {
      const abort = slice.aborts.get(index);
      if (abort !== undefined && abort.untilMs <= nowMs) return kill(session, endedReason(abort.cause, timeoutMs));
    }
  }

  #timeOut(session: Session, slice: Slice, timeoutMs: number, nowMs: number): void {
    const over = slice.runningNow().filter((index) => slice.isOver(index, timeoutMs, nowMs) && !slice.aborts.has(index));
    if (over.length === 0) return;
    const reason = new DOMException(`The handler timed out after ${timeoutMs} ms.`, "TimeoutError");
    this.abort(session, slice, over, { cause: "timed out", reason, graceMs: TIMEOUT_GRACE_MS });
  }

  /** Aborts signals; what goes on after the grace is ended with its thread. */
  abort(
    session: Session,
    slice: Slice,
    indexes: readonly number[],
    { cause, reason, graceMs }: { readonly cause: AbortCause; readonly reason: Error; readonly graceMs: number },
  ): void {
    if (indexes.length === 0) return;
    const untilMs = this.#host.internals.clock.monotonic() + graceMs;
    for (const index of indexes)
      slice.aborts.set(index, { cause, untilMs: Math.min(untilMs, slice.aborts.get(index)?.untilMs ?? untilMs) });
    this.#slots.abort(session.gate.threadId, {
      kind: "abort",
      slice: slice.id,
      indexes,
      name: reason.name === "TimeoutError" ? reason.name : "AbortError",
      message: reason.message,
    });
  }
}

/** Ends the thread of a session. */
export const kill = (session: Session, reason: string): void => {
  session.killed = true;
  session.running.terminate(reason);
};

const endedReason = (cause: AbortCause, timeoutMs: number | null): string => {
  switch (cause) {
    case "timed out":
      return `a handler timed out after ${timeoutMs ?? 0} ms and did not heed its signal`;
    case "interrupted":
      return ENDED_BY_STOP;
    case "lost":
      return "a handler went on after its lease was lost";
    default:
      return cause satisfies never;
  }
};
