/** A part that a supervisor starts, watches and stops. */
export interface Child {
  /** Begins. May resolve before the child is up, as long as a failure is reported. */
  start(): Promise<void>;
  /** What people and tests see. Plain data. */
  status(): ChildStatus;
  pause(): void;
  resume(): void;
  /** Finishes its work, at most until a moment after `timeoutMs`. False when a `resume` came first. */
  drain(timeoutMs: number): Promise<boolean>;
  /** Ends. Bounded by a moment after `timeoutMs`; never rejects; idempotent. */
  stop(timeoutMs: number): Promise<void>;
}

type ChildActivity = "starting" | "running" | "paused" | "draining" | "stopped";

export interface ChildStatus {
  readonly state: ChildActivity;
  readonly details: ChildDetails;
  /** Parts of it that people want to see; default none. */
  readonly children?: readonly ChildInfo[];
}

/** What a child tells of itself, by name. */
export type ChildDetails = Readonly<Record<string, number | string | boolean | null | readonly number[]>>;

/** How a child is made, anew for each start. */
export interface ChildSpec {
  readonly id: string;
  readonly kind: "pool" | "group" | "retention";
  /** @param onFailure - to be called once, when the child cannot go on and has let go of what it held */
  create(onFailure: (error: Error) => void): Child;
  /** Told when the child has failed for good. */
  onGivenUp?(error: Error): void;
}

/**
 * A child of the tree as data. What `details` holds, by kind; times in ms, counts of deliveries unless said otherwise:
 *
 * - `pool`: `threads` (its size), `alive`, `busy` and `free` threads, `deaths` since it started. Its children are its threads.
 * - `thread`: `busy`; `utilization`, the share (0–1) of the last second or more in which its event loop was busy; `heapUsedMb`,
 *   `heapLimitMb` and `externalMb` as of the last second in which it worked, null before.
 * - `group`: `consumerId`; `inflight` leases held, of which `unstarted` wait for a handler, `running` are with one, `unsettled` have an
 *   outcome that is not confirmed, and `unanswered` (of those) had a settlement that failed and is repeated; `demand`, how many it
 *   wants to hold; `slots`, handlers that may run at once, and `handlers` that do; `mailbox`, messages waiting; `failures` and
 *   `renewFailures` in a row of the store, `healthy` when there are none. In the main thread also `abandoned` handlers; in threads
 *   the `threads` and `slices` at work, `suspects` that wait to run alone, `deaths` of threads. With a breaker `breaker` ("closed",
 *   "open", "half_open") and `breakerNextInMs` until one event is tried, else null. With a rate limit `rateTokens`, starts allowed
 *   now. With assigned partitions `partitions` held, `share` aimed at, `members` known, and `assignmentFailures` in a row.
 * - `retention`: `consumerId`; `leading`, whether this member sweeps the stream; `sweeping` now; events `removed` and `archived` by it
 *   since it started; `heldBack` by slow groups in its last sweep; `failures` in a row; `lastSweptAtMs` by the store's clock, or null.
 */
export interface ChildInfo {
  /** Unique among its siblings: "pool", "thread-<n>", "stream/group", or "retention:stream". */
  readonly id: string;
  readonly kind: "pool" | "group" | "thread" | "retention";
  /** `restarting`: failed, and waits to be started again. `failed`: failed too often, and given up. */
  readonly state: ChildActivity | "restarting" | "failed";
  /** Since the supervisor was started. A thread is never restarted; another takes its place. */
  readonly restarts: number;
  /** What it last failed of, also after a restart. */
  readonly lastError: Error | null;
  readonly details: ChildDetails;
  readonly children: readonly ChildInfo[];
}
