/** What can be told to a group's actor. Counts are of deliveries; instants are of a monotonic clock, in ms. */

export type GroupTimer = "poll" | "backoff" | "settle" | "deadline" | "abandon";

export type GroupMessage =
  /** Stream and group are there; work may begin. */
  | { readonly type: "ready" }
  /** The store says that something may be claimable. A hint. */
  | { readonly type: "wakeup" }
  | { readonly type: "tick"; readonly timer: GroupTimer }
  /** An exchange was answered. `asked` is 0 when it only settled; polls may come as far apart as `longestPollMs` once the group is idle for long. */
  | {
      readonly type: "fetched";
      readonly asked: number;
      readonly granted: number;
      readonly more: boolean;
      readonly settled: number;
      readonly longestPollMs: number;
      readonly atMs: number;
    }
  /** An exchange failed; its settlements will be sent again. */
  | { readonly type: "fetch_failed" }
  /** Handed to handlers. */
  | { readonly type: "started"; readonly count: number }
  /** Handlers ended; `dropped` of them had lost their lease, and nothing is left to settle. */
  | { readonly type: "outcome"; readonly count: number; readonly dropped: number; readonly atMs: number }
  /** Unstarted leases became releases waiting to be settled. */
  | { readonly type: "released"; readonly count: number; readonly overdue: boolean }
  /** Leases that a renewal or the local deadline found lost. Handlers that run are told, and counted when they end. */
  | { readonly type: "lost"; readonly unstarted: number; readonly unsettled: number }
  /** A renewal was answered, or failed for the nth time in a row. */
  | { readonly type: "renewed"; readonly failures: number }
  /** Handed out but not started, and back again: a thread died, or was told to stop. `dropped` had lost their lease meanwhile. */
  | { readonly type: "returned"; readonly count: number; readonly dropped: number }
  /** What the breaker and the rate limit allow to hold has changed. `recall`: what was handed out and has not begun goes back too. */
  | { readonly type: "ration"; readonly ration: number | null; readonly recall: boolean }
  /** The partitions to fetch from have changed. */
  | { readonly type: "partitions"; readonly any: boolean }
  | { readonly type: "pause" }
  | { readonly type: "resume" }
  /** Finish what runs, then stop. After `timeoutMs` abort what is left. */
  | { readonly type: "drain"; readonly timeoutMs: number };
