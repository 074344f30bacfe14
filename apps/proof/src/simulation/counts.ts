/** What a run has come to: so that a seed in which nothing happened is not counted as a proof of anything. */
export const COUNTED = [
  "appends",
  "handlersStarted",
  "handlersEnded",
  "retries",
  "rejects",
  "timeouts",
  "deadLetters",
  "redeliveries",
  "staleSettles",
  "staleRenewals",
  "renewals",
  "answersLost",
  "callsRefused",
  "callsDelayed",
  "wakesDropped",
  "wakesRepeated",
  "processesKilled",
  "processesStopped",
  "processesReplaced",
  "threadsKilled",
  "poisonedProcesses",
  "poisonedThreads",
  "clocksSkewed",
  "pauses",
  "replays",
  "resets",
  "redrives",
  "trims",
  "groupChanges",
] as const;

type Count = (typeof COUNTED)[number];
export type Counts = Record<Count, number>;

export const noCounts = (): Counts => Object.fromEntries(COUNTED.map((name) => [name, 0])) as Counts; // each of them

/** What is a fault, or an operator at work, and not the way of every day. */
const DISTURBANCES: readonly Count[] = [
  "retries",
  "rejects",
  "timeouts",
  "answersLost",
  "callsRefused",
  "processesKilled",
  "processesStopped",
  "processesReplaced",
  "threadsKilled",
  "poisonedProcesses",
  "poisonedThreads",
  "replays",
  "resets",
  "redrives",
];

/** Whether a run has handled anything, and was disturbed at it. */
export const isTelling = (counts: Counts): boolean => counts.handlersEnded > 0 && DISTURBANCES.some((name) => counts[name] > 0);
