/** How a member's main thread reaches the handlers in its worker threads: by a `BroadcastChannel` of this name. */
import type { Mode } from "../views.ts";

export const THREAD_CHANNEL = "rheo-playground-threads";

export type ToThreads =
  | { readonly type: "mode"; readonly mode: Mode }
  /** For one of them alone. */
  | { readonly type: "die"; readonly threadId: number };

/** A thread is there, and wants to know the mode. */
export interface FromThread {
  readonly type: "here";
  readonly threadId: number;
}
