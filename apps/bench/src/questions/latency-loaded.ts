/** From append to handler while the same program works at a part of what it can. */
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import type { Rheo } from "@rheo/core";
import { defineConsumer, supervise } from "@rheo/runtime";
import { handler } from "@rheo/runtime/handler";
import { GROUP, STREAM } from "../backlog.ts";
import { percentiles, type Question, type Sample, sampleOf } from "../question.ts";
import type { System } from "../systems.ts";

const SHARES = [0.2, 0.8];
/** Callers of append that find out what it can. */
const CALLERS = 64;
const WARM_UP_MS = 300;
const CAPACITY_MS = 1_500;
const LOADED_MS = 2_000;
/** Between two lots of events that are sent: as even as timers allow. */
const TICK_MS = 1;
/** Sent and not handled: beyond, it is not this load any more, and the rest is not sent. */
const MOST_BEHIND = 50_000;

/** A consumer that notes how long each event was on its way, in ms. */
class Arrivals {
  readonly taken: number[] = [];
  count = 0;

  readonly handler = handler((event) => {
    this.count += 1;
    this.taken.push(performance.now() - (event.payload as { readonly at: number }).at); // as sent below
  });
}

const send = (rheo: Rheo): Promise<unknown> => rheo.append(STREAM, { payload: { at: performance.now() } });

/** Events per second from single appends to handlers, as many as it takes. */
const capacityOf = async (rheo: Rheo, arrivals: Arrivals): Promise<number> => {
  let isOver = false;
  const caller = async (): Promise<void> => {
    while (!isOver) {
      await send(rheo);
      await turn(); // a store in memory answers at once, and would let nothing else be done
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, caller));
  await sleep(WARM_UP_MS);
  const before = { count: arrivals.count, atMs: performance.now() };
  await sleep(CAPACITY_MS);
  const perSecond = ((arrivals.count - before.count) * 1_000) / (performance.now() - before.atMs);
  isOver = true;
  await callers;
  return perSecond;
};

/** Sends so many a second, one by one, whatever becomes of them. */
const load = async (rheo: Rheo, arrivals: Arrivals, perSecond: number): Promise<void> => {
  const startMs = performance.now();
  const arrivedBefore = arrivals.count;
  const sending: Promise<unknown>[] = [];
  for (let passedMs = 0; passedMs < LOADED_MS; passedMs = performance.now() - startMs) {
    const due = Math.floor((passedMs * perSecond) / 1_000);
    while (sending.length < due && sending.length - (arrivals.count - arrivedBefore) < MOST_BEHIND) sending.push(send(rheo));
    await sleep(TICK_MS);
  }
  await Promise.all(sending);
};

const ask = async (system: System): Promise<readonly Sample[]> => {
  const opened = await system.open();
  const { rheo } = opened;
  await rheo.createStream(STREAM);
  const arrivals = new Arrivals();
  const consumer = defineConsumer({ stream: STREAM, group: GROUP, handler: arrivals.handler, concurrency: 64, createGroup: {} });
  const app = await supervise({ rheo, consumers: [consumer] });
  const capacity = await capacityOf(rheo, arrivals);
  await rheo.whenCaughtUp(STREAM, GROUP);
  const samples: Sample[] = [sampleOf("capacity, single appends to handler", system, "events/s", capacity, { callers: CALLERS })];
  for (const share of SHARES) {
    arrivals.taken.length = 0;
    await load(rheo, arrivals, capacity * share);
    await rheo.whenCaughtUp(STREAM, GROUP);
    samples.push(...percentiles("append → handler loaded", system, arrivals.taken, { load: `${share * 100} %` }));
  }
  await app.stop();
  await opened.close();
  return samples;
};

export const latencyLoaded: Question = {
  name: "latency-loaded",
  title: "append → handler at 20 % and 80 % of capacity",
  ask,
};
