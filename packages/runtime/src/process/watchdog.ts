/**
 * Runs in a thread of each child process, so that it also works while the event loop is blocked: when the parent is gone and the
 * process has not ended by itself in its time to drain, the thread kills it. So no child outlives its parent for long.
 */
import { parentPort, workerData } from "node:worker_threads";

/** What the thread is told: at its start, and when it changes. */
export interface WatchdogOrder {
  readonly parentPid: number;
  /** How long the process may go on without its parent, in ms. */
  readonly limitMs: number;
}

const LOOK_MS = 500;

let order = workerData as WatchdogOrder; // child.ts gives it
let goneSinceMs: number | null = null;

parentPort?.on("message", (message: WatchdogOrder) => {
  order = message;
});
setInterval(() => {
  if (process.ppid === order.parentPid) return;
  const nowMs = performance.now();
  goneSinceMs ??= nowMs;
  if (nowMs - goneSinceMs >= order.limitMs) process.kill(process.pid, "SIGKILL");
}, LOOK_MS);
