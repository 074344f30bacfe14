import type { Child } from "../supervisor/child.ts";
import type { Maintainer } from "./maintainer.ts";

/** A maintainer as a supervisor sees it. A drain leaves it at work: it holds no event. */
export const retentionChild = (maintainer: Maintainer, consumerId: string): Child => {
  let isStopped = false;
  return {
    start: async () => maintainer.start(),
    status: () => ({
      state: isStopped ? "stopped" : maintainer.isPaused ? "paused" : "running",
      details: { consumerId, ...maintainer.status },
    }),
    pause: () => maintainer.setPaused(true),
    resume: () => maintainer.setPaused(false),
    drain: async () => true,
    stop: (timeoutMs) => {
      isStopped = true;
      return maintainer.stop(timeoutMs);
    },
  };
};
