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
  readonly details: Readonly<Record<string, number | string | boolean | null>>;
}

/** How a child is made, anew for each start. */
export interface ChildSpec {
  readonly id: string;
  readonly kind: "pool" | "group";
  /** @param onFailure - to be called once, when the child cannot go on and has let go of what it held */
  create(onFailure: (error: Error) => void): Child;
  /** Told when the child has failed for good. */
  onGivenUp?(error: Error): void;
}

/** A child of the tree as data. */
export interface ChildInfo {
  /** Unique among its siblings: "pool", or "stream/group". */
  readonly id: string;
  readonly kind: "pool" | "group";
  /** `restarting`: failed, and waits to be started again. `failed`: failed too often, and given up. */
  readonly state: ChildActivity | "restarting" | "failed";
  /** Since the supervisor was started. */
  readonly restarts: number;
  readonly lastError: Error | null;
  readonly details: ChildStatus["details"];
}
