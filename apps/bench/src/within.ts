import { setTimeout as sleep } from "node:timers/promises";

/** What `work` gives. @throws what it throws, or when it takes longer; it is then left to itself */
export const within = async <T>(limitMs: number, work: Promise<T>): Promise<T> => {
  const timer = new AbortController();
  const late = sleep(limitMs, null, { signal: timer.signal }).then(() => {
    throw new Error(`no end after ${limitMs / 1_000} s`);
  });
  late.catch(() => undefined); // called off below
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
};
