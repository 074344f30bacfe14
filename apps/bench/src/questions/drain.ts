import { setTimeout as sleep } from "node:timers/promises";
import { defineConsumer, supervise } from "@rheo/runtime";
import type { PeerInUse } from "../peers/peer.ts";
import { type Question, rate, type Scale, secondsOf } from "../question.ts";
import { sampleEvents } from "../sample.ts";
import { type Opened, type System, tidy } from "../systems.ts";

const APPEND = 1_000;
const THREADS = 2;
const HANDLER = new URL("../handlers/add.js", import.meta.url);
/** Between looks whether what a peer handled is completed, too, in ms. */
const LOOK_MS = 2;

/** A stream with a backlog that a group named "drain" has not begun. */
export const backlog = async ({ rheo, place }: Opened, events: number): Promise<void> => {
  await rheo.createStream("bench");
  await rheo.createGroup("bench", "drain");
  for (let from = 0; from < events; from += APPEND) await rheo.appendMany("bench", sampleEvents(from, APPEND));
  if (place.kind === "server") await tidy(place);
};

/**
 * Until so many events are settled, and the lag is 0. The lag is asked for at the end only: asked for all along, it would cost the
 * store a good part of what is measured.
 */
export const settledAll = async ({ rheo }: Opened, events: number): Promise<void> => {
  let settled = 0;
  await new Promise<void>((resolve) =>
    rheo.events.on("lease.settled", ({ acked }) => {
      settled += acked;
      if (settled >= events) resolve();
    }),
  );
  await rheo.whenCaughtUp("bench", "drain");
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
  });
  const settled = settledAll(opened, events);
  const app = await supervise({ rheo: opened.rheo, consumers: [consumer], threads: THREADS });
  const seconds = await secondsOf(() => settled);
  await app.stop();
  await opened.close();
  return seconds;
};

/** From the first call of a handler that does next to nothing until all is completed. */
const drainPeer = async ({ peer, opened, scratch }: PeerInUse, events: number): Promise<number> => {
  for (let from = 0; from < events; from += APPEND) await opened.enqueue(sampleEvents(from, APPEND));
  await tidy({ store: peer.store, url: scratch.url });
  let startMs = 0;
  let handled = 0;
  let resolveAll = (): void => undefined;
  const all = new Promise<void>((resolve) => (resolveAll = resolve));
  const stop = await opened.consume("drain", () => {
    if (handled === 0) startMs = performance.now();
    if (++handled === events) resolveAll();
  });
  await all;
  while (!(await opened.isDrained())) await sleep(LOOK_MS);
  const seconds = (performance.now() - startMs) / 1_000;
  await stop();
  return seconds;
};

export const drainInline: Question = {
  name: "drain-inline",
  title: "drain a backlog, handlers inline",
  ask: async (system, scale) => [rate("drain inline", system, scale.events, await drainWith(system, scale, "inline"))],
  ofPeers: {
    asked: "drain",
    ask: async (inUse, answerer, scale) => {
      const events = Math.min(scale.events, inUse.peer.mostEvents ?? scale.events);
      return [rate("drain inline", answerer, events, await drainPeer(inUse, events))];
    },
  },
};

export const drainThreads: Question = {
  name: "drain-threads",
  title: "drain a backlog, handlers in 2 threads",
  ask: async (system, scale) => [rate("drain through 2 threads", system, scale.events, await drainWith(system, scale, "worker"))],
};
