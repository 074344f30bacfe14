import type { GroupTimer } from "./messages.ts";

/** What the actor is to do. Data, carried out in order. */
export type GroupEffect =
  /** Settle everything that waits, and fetch up to `fetch` (0: none), in one round trip. */
  | { readonly type: "exchange"; readonly fetch: number }
  /** Hand unstarted deliveries to handlers, as far as slots are free. */
  | { readonly type: "run" }
  /** Turn unstarted deliveries into releases; with `recall` also those that were handed out and have not begun. */
  | { readonly type: "release_unstarted"; readonly recall: boolean }
  /** Abort the handlers that run; give back, uncharged, what does not end within the grace. */
  | { readonly type: "interrupt" }
  /** (Re)starts a timer. `jitter` is the share by which the actor spreads it to either side. */
  | { readonly type: "arm"; readonly timer: GroupTimer; readonly delayMs: number; readonly jitter: number }
  | { readonly type: "disarm"; readonly timer: GroupTimer }
  | { readonly type: "tell"; readonly what: "started" | "paused" | "resumed" | "draining" | "stopped" }
  /** Nothing is held, nothing is in flight, and nothing will be: or time is up. */
  | { readonly type: "finish" };
