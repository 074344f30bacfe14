/** A backlog drained by a supervised consumer in this process. */
import type { Rheo } from "@rheo/core";
import { defineConsumer, type Execution, supervise } from "@rheo/runtime";
import { GROUP, STREAM, secondsToAck } from "./backlog.ts";
import { secondsOf } from "./question.ts";

const THREADS = 2;
export const CONCURRENCY = 64;
const HANDLER = new URL("handlers/add.js", import.meta.url);

/** How a drain is called in results. */
export const drainName = (execution: Execution): string =>
  execution === "inline" ? "drain inline" : `drain through ${THREADS} threads`;

/** Seconds from the first lease to lag 0. */
export const drainHere = async (rheo: Rheo, execution: Execution, events: number, handler: URL = HANDLER): Promise<number> => {
  const consumer = defineConsumer({ stream: STREAM, group: GROUP, handler, execution, concurrency: CONCURRENCY });
  const taken = secondsToAck(rheo, events);
  const app = await supervise({ rheo, consumers: [consumer], threads: THREADS });
  const seconds = await taken;
  const more = await secondsOf(() => rheo.whenCaughtUp(STREAM, GROUP));
  await app.stop();
  return seconds + more;
};
