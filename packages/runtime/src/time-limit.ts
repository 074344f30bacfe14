import type { Clock } from "@rheo/core";
import { deferred } from "./deferred.ts";

/** Waits for work, but not longer than `limitMs`: then it goes on alone. Whether it was done in time. Rejects as the work does. */
export const waitAtMost = async (clock: Clock, limitMs: number, work: Promise<unknown>): Promise<boolean> => {
  const limit = deferred<boolean>();
  const timer = clock.schedule(limitMs, () => limit.resolve(false));
  try {
    return await Promise.race([work.then(() => true), limit.promise]);
  } finally {
    timer.cancel();
    work.catch(() => undefined); // nobody waits for it any more
  }
};
