/** What the handler of the thread story tells the main thread, over a `BroadcastChannel`: the demo watches from outside. */
export const ATTEMPTS_CHANNEL = "rheo-demo-attempts";

export interface Attempt {
  readonly stream: string;
  readonly sequence: number;
  readonly attempt: number;
  readonly token: number;
  /** When it began, by the wall clock, in ms. */
  readonly atMs: number;
}

/** Marks the event whose first attempt takes its thread down. */
export const FATAL = "fatal";
