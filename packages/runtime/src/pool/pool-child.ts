import type { Child, ChildInfo } from "../supervisor/child.ts";
import type { ThreadFigures, WorkerPool } from "./pool.ts";
import type { Slots } from "./slots.ts";

/** The pool as a supervisor sees it. The slots outlive it, and wait for the next while it is restarted. */
export const poolChild = (pool: WorkerPool, slots: Slots): Child => ({
  start: () => {
    slots.attach(pool);
    return Promise.resolve();
  },
  status: () => ({
    state: "running",
    details: { threads: pool.size, alive: pool.alive, busy: pool.busy, free: pool.free, deaths: pool.deaths },
    children: pool.threads().map(threadInfo),
  }),
  pause: () => undefined,
  resume: () => undefined,
  drain: () => Promise.resolve(true),
  stop: async () => {
    slots.detach();
    await pool.stop();
  },
});

const threadInfo = ({ threadId, isBusy, utilization, heapUsed, heapLimit, external }: ThreadFigures): ChildInfo => ({
  id: `thread-${threadId}`,
  kind: "thread",
  state: "running",
  restarts: 0,
  lastError: null,
  details: {
    busy: isBusy,
    utilization: Math.round(utilization * 100) / 100,
    heapUsedMb: megabytes(heapUsed),
    heapLimitMb: megabytes(heapLimit),
    externalMb: megabytes(external),
  },
  children: [],
});

const megabytes = (bytes: number | null): number | null => (bytes === null ? null : Math.round(bytes / 104_857.6) / 10);
