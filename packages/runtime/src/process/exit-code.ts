/** How a process that runs consumers ends: `rheo start`, and each of its children. */
export const EXIT = {
  /** Everything was drained: nothing is held, nothing was aborted. */
  drained: 0,
  /** A consumer or a process failed too often and was given up. */
  failed: 1,
  /** The config or the command line is wrong. */
  usage: 2,
  /** It ended before everything was drained: time ran out, a second signal forced it, or a process died in its drain. */
  incomplete: 3,
} as const;
