import { defineConsumer, supervise } from "@rheo/runtime";
import { type Question, rate, type Scale, secondsOf } from "../question.ts";
import { sampleEvents } from "../sample.ts";
import type { Opened, System } from "../systems.ts";

const APPEND = 1_000;
const THREADS = 2;
const HANDLER = new URL("../handlers/add.js", import.meta.url);

/** A stream with a backlog that a group named "drain" has not begun. */
export const backlog = async ({ rheo }: Opened, events: number): Promise<void> => {
  await rheo.createStream("bench");
  await rheo.createGroup("bench", "drain");
  for (let from = 0; from < events; from += APPEND) await rheo.appendMany("bench", sampleEvents(from, APPEND));
};

/** From the start of a supervised consumer to lag 0. */
const drainWith = async (system: System, { events }: Scale, execution: "inline" | "worker"): Promise<number> => {
  const opened = await system.open();
  await backlog(opened, events);
  const consumer = defineConsumer({
    stream: "bench",
    group: "drain",
    handler: HANDLER,
    execution,
    concurrency: 64,
    maxDemand: 2_000,
  });
  const app = await supervise({ rheo: opened.rheo, consumers: [consumer], threads: THREADS });
  const seconds = await secondsOf(() => opened.rheo.whenCaughtUp("bench", "drain"));
  await app.stop();
  await opened.close();
  return seconds;
};

export const drainInline: Question = {
  name: "drain-inline",
  title: "drain a backlog, handlers inline",
  ask: async (system, scale) => [rate("drain inline", system, scale.events, await drainWith(system, scale, "inline"))],
};

export const drainThreads: Question = {
  name: "drain-threads",
  title: "drain a backlog, handlers in 2 threads",
  ask: async (system, scale) => [rate("drain through 2 threads", system, scale.events, await drainWith(system, scale, "worker"))],
};
