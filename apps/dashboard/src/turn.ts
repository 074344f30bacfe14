import { setImmediate } from "node:timers/promises";

/** Lets other work of the process go first: a store that answers in this thread holds everything up while it does. */
export const nextTurn = (): Promise<void> => setImmediate();
