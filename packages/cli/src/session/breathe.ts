import { setImmediate } from "node:timers/promises";

/**
 * Lets signals and timers in. A store in this process answers without a turn of the event loop, so that a long run of calls would be deaf to
 * Ctrl-C.
 */
export const breathe = (): Promise<void> => setImmediate();
