import type { Child } from "../supervisor/child.ts";
import type { ThreadPool } from "./pool.ts";
import type { Slots } from "./slots.ts";

/** The pool as a supervisor sees it. The slots outlive it, and wait for the next while it is restarted. */
export const poolChild = (pool: ThreadPool, slots: Slots): Child => ({
  start: () => {
    slots.attach(pool);
    return Promise.resolve();
  },
  status: () => ({ state: "running", details: { threads: pool.size, alive: pool.alive, busy: pool.busy, free: pool.free } }),
  pause: () => undefined,
  resume: () => undefined,
  drain: () => Promise.resolve(true),
  stop: async () => {
    slots.detach();
    await pool.stop();
  },
});
